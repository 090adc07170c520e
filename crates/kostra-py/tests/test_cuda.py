"""Arrays in a GPU's memory: CuPy's and PyTorch's, solved where they are.

Without pytest: `PYTHONPATH=FOLDER python test_cuda.py`, where FOLDER is an unpacked wheel. What is missing is skipped, with
the reason.
"""

import contextlib
import pathlib
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np

import kostra

try:
    import pytest
except ImportError:
    pytest = None

if pytest and __name__ != "__main__":
    pytestmark = pytest.mark.skipif(kostra.devices() == ["cpu"], reason="there is no NVIDIA GPU")

WEIGHTS = ["u4", "i4", "i8", "f4", "f8"]
NARROW = ["?", "i1", "u1", "i2", "f2"]


class Cupy:
    """Arrays of CuPy."""

    def __init__(self):
        import cupy

        self.library = cupy

    def put(self, array):
        return self.library.asarray(array)


class Torch:
    """Arrays of PyTorch."""

    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise ImportError("PyTorch was built without CUDA")
        self.library = torch

    def put(self, array):
        if array.dtype != np.uint32:
            return self.library.from_numpy(array).cuda()
        try:
            tensor = self.library.from_numpy(array.view(np.int32)).cuda().view(self.library.uint32)
            tensor.__cuda_array_interface__  # noqa: B018
            return tensor
        except (AttributeError, KeyError, TypeError, RuntimeError):
            # Older versions of PyTorch have no such numbers.
            return self.library.from_numpy(array.astype(np.int64)).cuda()


def libraries():
    found = []
    for library in (Cupy, Torch):
        try:
            found.append(library())
        except ImportError as error:
            print(f"{library.__name__} is skipped: {error}")
    if not found:
        skip("there is neither CuPy nor PyTorch with CUDA")
    return found


def skip(reason):
    if pytest and __name__ != "__main__":
        pytest.skip(reason)
    raise Skipped(reason)


class Skipped(Exception):
    pass


@contextlib.contextmanager
def raises(kind, text):
    try:
        yield
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__} with {text!r}")


def random_graph(seed, kind, vertices=300, edges=1500, values=9):
    """Many ties, loops, parallel edges, vertices without edges."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, vertices - 20, (2, edges)).astype("u4")
    low = -values if np.dtype(kind).kind in "if" else 0
    return vertices, src, dst, rng.integers(low, 2 if kind == "?" else values, edges).astype(kind)


def assert_same(forest, wanted):
    np.testing.assert_array_equal(forest.edges, wanted.edges)
    np.testing.assert_array_equal(forest.src, wanted.src)
    np.testing.assert_array_equal(forest.dst, wanted.dst)
    np.testing.assert_array_equal(forest.weight, wanted.weight)
    np.testing.assert_array_equal(forest.labels, wanted.labels)
    assert forest.total_weight == wanted.total_weight and type(forest.total_weight) is type(wanted.total_weight)
    assert (forest.tree_count, forest.digest) == (wanted.tree_count, wanted.digest)


def test_every_weight_type_gives_the_forest_of_the_cpu():
    for library in libraries():
        for kind in WEIGHTS + NARROW:
            for maximum in (False, True):
                vertices, *arrays = random_graph(1, kind)
                options = {"vertices": vertices, "maximum": maximum}
                wanted = kostra.minimum_spanning_forest(*arrays, device="cpu", **options)
                on_device = [library.put(array) for array in arrays]
                for algorithm in ("auto", "kostra", "ecl"):
                    forest = kostra.minimum_spanning_forest(*on_device, algorithm=algorithm, **options)
                    assert_same(forest, wanted)
                if not maximum:
                    assert forest.verify()


def test_special_floats():
    values = np.array([0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 3.5, -3.5])
    for library in libraries():
        for kind in ("f4", "f8"):
            vertices, src, dst, _ = random_graph(2, kind)
            weight = np.random.default_rng(2).choice(values, len(src)).astype(kind)
            for maximum in (False, True):
                wanted = kostra.minimum_spanning_forest(src, dst, weight, vertices=vertices, maximum=maximum, device="cpu")
                arrays = map(library.put, (src, dst, weight))
                forest = kostra.minimum_spanning_forest(*arrays, vertices=vertices, maximum=maximum)
                np.testing.assert_array_equal(forest.edges, wanted.edges)


def test_ids_of_every_type_and_no_weights():
    for library in libraries():
        _, src, dst, _ = random_graph(3, "i4")
        wanted = kostra.minimum_spanning_forest(src, dst, device="cpu")
        for kind in ("u4", "i4", "i8", "i2", "u1"):
            if np.dtype(kind).itemsize < 2:
                few, other = src % 200, dst % 200
                wanted_few = kostra.minimum_spanning_forest(few, other, device="cpu")
                forest = kostra.minimum_spanning_forest(library.put(few.astype(kind)), library.put(other.astype(kind)))
                assert_same(forest, wanted_few)
                continue
            forest = kostra.minimum_spanning_forest(library.put(src.astype(kind)), library.put(dst.astype(kind)))
            assert_same(forest, wanted)


def test_a_larger_graph_is_solved_again_and_again():
    for spec in ("rmat:scale=18,degree=16", "grid:rows=700,cols=500,weights=float", "web:n=100000,weights=double"):
        graph = kostra.generate(spec)
        wanted = graph.minimum_spanning_forest(device="cpu")
        for library in libraries():
            arrays = [library.put(array.copy()) for array in (graph.src, graph.dst, graph.weight)]
            on_device = kostra.Graph(*arrays, vertices=graph.vertex_count)
            del arrays
            for _ in range(3):
                assert_same(on_device.minimum_spanning_forest(), wanted)
            assert "on a GPU" in repr(on_device)


def test_arrays_that_are_not_contiguous():
    for library in libraries():
        vertices, src, dst, weight = random_graph(4, "f8")
        wanted = kostra.minimum_spanning_forest(src, dst, weight, vertices=vertices, device="cpu")
        table = library.put(np.stack([src.astype("i8"), dst.astype("i8")], axis=1))
        wide = library.put(np.repeat(weight, 2))
        forest = kostra.minimum_spanning_forest(table[:, 0], table[:, 1], wide[::2], vertices=vertices)
        assert_same(forest, wanted)


def test_work_that_is_still_running_is_waited_for():
    for library in libraries():
        vertices, src, dst, weight = random_graph(5, "f4", edges=200_000, vertices=50_000)
        wanted = kostra.minimum_spanning_forest(src, dst, weight * 2 + 1, vertices=vertices, device="cpu")
        arrays = [library.put(array) for array in (src.astype("i8"), dst.astype("i8"), weight)]
        arrays[2] = arrays[2] * 2 + 1
        assert_same(kostra.minimum_spanning_forest(*arrays, vertices=vertices), wanted)


def test_graphs_of_nothing():
    for library in libraries():
        none = library.put(np.empty(0, "i8"))
        forest = kostra.minimum_spanning_forest(none, none, library.put(np.empty(0, "f4")), vertices=5)
        assert len(forest) == 0 and forest.tree_count == 5
        assert len(kostra.minimum_spanning_forest(none, none)) == 0


def test_errors():
    for library in libraries():
        put = library.put
        ids, more = put(np.array([0, 1, 2], "i8")), put(np.array([1, 2, 3], "i8"))
        with raises(ValueError, "weight of edge 1 is NaN"):
            kostra.minimum_spanning_forest(ids, more, put(np.array([1, np.nan, np.nan])))
        with raises(ValueError, "weight of edge 2 is NaN"):
            kostra.minimum_spanning_forest(ids, more, put(np.array([1, 2, -np.nan], "f4")))
        with raises(ValueError, "edge 2 names vertex 3, but the graph has 3 vertices"):
            kostra.minimum_spanning_forest(ids, more, vertices=3)
        with raises(ValueError, "edge 1 names vertex -4"):
            kostra.minimum_spanning_forest(ids, put(np.array([1, -4, 3], "i8")))
        with raises(ValueError, "edge 0 names vertex -1"):
            kostra.minimum_spanning_forest(put(np.array([-1], "i4")), put(np.array([1], "i4")))
        with raises(ValueError, "too many"):
            kostra.minimum_spanning_forest(ids, put(np.array([1, 2**40, 3], "i8")))
        with raises(ValueError, "differ in length"):
            kostra.minimum_spanning_forest(ids, more[:2])
        with raises(ValueError, "one dimension"):
            kostra.minimum_spanning_forest(ids.reshape(3, 1), more)
        with raises(ValueError, "ids must be integers"):
            kostra.minimum_spanning_forest(put(np.array([0.5])), put(np.array([1.5])))
        with raises(ValueError, "on one device"):
            kostra.minimum_spanning_forest(ids, np.array([1, 2, 3]))
        with raises(ValueError, "the arrays are on cuda:0"):
            kostra.minimum_spanning_forest(ids, more, device="cpu")
        with raises(ValueError, "the arrays are on cuda:0"):
            kostra.minimum_spanning_forest(ids, more, device="cuda:7")
        with raises(ValueError, "CPU only"):
            kostra.minimum_spanning_forest(ids, more, algorithm="prim")
        with raises(ValueError, "use kostra or ecl"):
            kostra.minimum_spanning_forest(ids, more, algorithm="vineet")
        assert len(kostra.minimum_spanning_forest(ids, more, device="cuda:0")) == 3


def test_memory_on_the_gpu_does_not_grow():
    for library in libraries():
        vertices, *arrays = random_graph(6, "f4", edges=100_000, vertices=20_000)
        arrays = [library.put(array) for array in arrays]

        def solve(times, arrays=arrays, vertices=vertices):
            for _ in range(times):
                kostra.minimum_spanning_forest(*arrays, vertices=vertices)

        solve(20)
        before = free_memory()
        solve(300)
        assert before - free_memory() < 64 << 20


def free_memory():
    for name in ("cupy", "torch"):
        module = sys.modules.get(name)
        if name == "cupy" and module:
            return module.cuda.runtime.memGetInfo()[0]
        if module:
            return module.cuda.mem_get_info()[0]
    return 0


def test_a_host_graph_on_the_gpu():
    graph = kostra.generate("rmat:scale=15")
    wanted = graph.minimum_spanning_forest(device="cpu")
    for algorithm in ("auto", "kostra", "ecl"):
        assert_same(graph.minimum_spanning_forest(device="cuda", algorithm=algorithm), wanted)


def main():
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    if kostra.devices() == ["cpu"]:
        print("skipped: there is no NVIDIA GPU")
        return 0
    print(f"kostra {kostra.__version__} on {', '.join(kostra.devices())}")
    failed = 0
    for name, test in tests.items():
        try:
            test()
            print(f"passed  {name}")
        except Skipped as reason:
            print(f"skipped {name}: {reason}")
        except Exception:
            failed += 1
            print(f"FAILED  {name}")
            traceback.print_exc()
    print(f"{len(tests) - failed} of {len(tests)} passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
