"""The native API on arrays."""

import math
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kostra
from oracle import ID_TYPES, WEIGHT_TYPES, graphs, kruskal, random_graph


def test_every_result_of_a_small_graph():
    forest = kostra.minimum_spanning_forest([0, 1, 2, 2], [1, 2, 0, 3], [5, 0, 5, 7], vertices=6)
    assert forest.edges.tolist() == [0, 1, 3] and forest.edges.dtype == np.uint32
    assert forest.src.tolist() == [0, 1, 2] and forest.dst.tolist() == [1, 2, 3]
    assert forest.weight.tolist() == [5, 0, 7] and forest.weight.dtype == np.int64
    assert forest.total_weight == 12 and type(forest.total_weight) is int
    assert forest.tree_count == 3 and len(forest) == 3
    assert forest.labels.tolist() == [0, 0, 0, 0, 1, 2]
    assert forest.verify() is True
    assert repr(forest) == "<kostra.Forest: 3 edges in 3 trees, weight 12>"
    assert repr(forest.graph) == "<kostra.Graph: 6 vertices, 4 edges, int64 weights>"


@given(graphs(), st.booleans(), st.sampled_from(["auto", "kruskal", "prim", "ecl", "boruvka", "filter-kruskal"]))
def test_forests_are_the_oracles(graph, maximum, algorithm):
    vertices, src, dst, weight = graph
    forest = kostra.minimum_spanning_forest(
        src, dst, weight, vertices=vertices, maximum=maximum, algorithm=algorithm, threads=2
    )
    wanted = kruskal(vertices, src, dst, weight, maximum)
    assert forest.edges.tolist() == wanted
    np.testing.assert_array_equal(forest.weight, weight[wanted])
    assert forest.weight.dtype == weight.dtype
    assert forest.tree_count == vertices - len(wanted)
    assert forest.verify()
    if weight.dtype.kind in "biu":
        assert forest.total_weight == sum(int(w) for w in weight[wanted])
    else:
        total = 0.0
        for w in weight[wanted].astype("f8").tolist():
            total += w
        assert forest.total_weight == total or math.isnan(total)


@pytest.mark.parametrize("algorithm", kostra.algorithms())
def test_every_algorithm(algorithm):
    vertices, src, dst, weight = random_graph(1)
    forest = kostra.minimum_spanning_forest(src, dst, weight, vertices=vertices, algorithm=algorithm, device="cpu")
    assert forest.edges.tolist() == kruskal(vertices, src, dst, weight)


@pytest.mark.parametrize("ids", ID_TYPES)
@pytest.mark.parametrize("kind", WEIGHT_TYPES)
@pytest.mark.parametrize("order", "<>")
def test_every_type_of_ids_and_weights_in_both_byte_orders(ids, kind, order):
    vertices, src, dst, weight = random_graph(2, kind=kind)
    wanted = kruskal(vertices, src, dst, weight)
    forest = kostra.minimum_spanning_forest(
        src.astype(order + ids), dst.astype(order + ids), weight.astype(order + kind), vertices=vertices
    )
    assert forest.edges.tolist() == wanted
    assert forest.weight.dtype == np.dtype(kind)


@given(graphs(["i8", "f8", "u4"]), st.sampled_from(["strided", "reversed", "readonly", "unaligned", "column"]))
def test_arrays_of_any_layout(graph, layout):
    vertices, *arrays = graph
    wanted = kruskal(vertices, *arrays)

    def laid_out(array):
        if layout == "strided":
            wide = np.repeat(array, 3)
            return wide[::3]
        if layout == "reversed":
            return array[::-1].copy()[::-1]
        if layout == "readonly":
            array = array.copy()
            array.flags.writeable = False
            return array
        if layout == "unaligned":
            room = np.zeros(array.nbytes + 1, np.uint8)
            moved = room[1:].view(array.dtype)
            moved[:] = array
            return moved
        return np.stack([array, array], axis=1)[:, 1]

    forest = kostra.minimum_spanning_forest(*map(laid_out, arrays), vertices=vertices)
    assert forest.edges.tolist() == wanted


def test_nothing_is_copied_where_the_types_allow():
    _, src, dst, weight = random_graph(3, kind="f4")
    graph = kostra.Graph(src, dst, weight)
    assert np.shares_memory(graph.src, src) and np.shares_memory(graph.dst, dst)
    assert np.shares_memory(graph.weight, weight)
    assert np.shares_memory(graph._native.weight, weight)
    signed = src.astype("i4")
    assert np.shares_memory(kostra.Graph(signed, dst).src, signed)
    assert not graph.src.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        graph.src[0] = 7


def test_arrays_live_as_long_as_what_looks_into_them():
    edges = kostra.generate("rmat:scale=8").minimum_spanning_forest().edges
    src = kostra.generate("rmat:scale=8").src
    copy = edges.copy()
    for _ in range(20):
        kostra.generate("rmat:scale=8")
    assert (edges == copy).all() and len(src)


def test_totals_are_exact():
    weight = np.array([2**53 + 1, 2**53 + 3, -(2**62)], "i8")
    forest = kostra.minimum_spanning_forest([0, 1, 2], [1, 2, 3], weight)
    assert forest.total_weight == 2**54 + 4 - 2**62
    weight = np.array([2**64 - 1, 2**64 - 1, 2**63], "u8")
    forest = kostra.minimum_spanning_forest([0, 1, 2], [1, 2, 0], weight)
    assert forest.edges.tolist() == [0, 2] and forest.total_weight == 2**64 - 1 + 2**63
    assert forest.weight.tolist() == [2**64 - 1, 2**63]
    assert kostra.maximum_spanning_forest([0, 1, 2], [1, 2, 0], weight).total_weight == 2**65 - 2


def test_graphs_of_nothing():
    for empty in ([], np.empty(0, "u4"), np.empty(0), ()):
        forest = kostra.minimum_spanning_forest(empty, empty, empty if len(empty) else None)
        assert len(forest) == 0 and forest.tree_count == 0 and forest.total_weight == 0
    forest = kostra.minimum_spanning_forest([], [], [], vertices=3)
    assert forest.tree_count == 3 and forest.labels.tolist() == [0, 1, 2]
    assert forest.total_weight == 0.0 and forest.verify()
    loop = kostra.minimum_spanning_forest([1], [1])
    assert len(loop) == 0 and loop.tree_count == 2


@pytest.mark.parametrize(
    "arguments, options, error, text",
    [
        (([0, -1], [1, 1]), {}, ValueError, "edge 1 names vertex -1"),
        ((np.array([0, -7], "i4"), [1, 1]), {}, ValueError, "edge 1 names vertex -7"),
        (([0], [2**40]), {}, ValueError, "too many"),
        (([0], [2**32 - 1]), {}, ValueError, "too many"),
        (([0, 3], [1, 1]), {"vertices": 3}, ValueError, "edge 1 names vertex 3, but the graph has 3 vertices"),
        (([0, 1], [1]), {}, ValueError, "differ in length: 2 sources, 1 targets"),
        (([0], [1], [1, 2]), {}, ValueError, "differ in length"),
        (([0], [1], [math.nan]), {}, ValueError, "weight of edge 0 is NaN"),
        (([0.5], [1]), {}, ValueError, "ids must be integers, not float64"),
        (([True], [True]), {}, ValueError, "ids must be integers, not bool"),
        ((["a"], ["b"]), {}, ValueError, "ids must be integers"),
        (([0], [1], ["a"]), {}, ValueError, "weights must be integers or floats"),
        (([0], [1], [1j]), {}, ValueError, "weights must be integers or floats, not complex128"),
        (([0], [1], np.array([1], "g")), {}, ValueError, "not float128|not longdouble|integers or floats"),
        (([[0]], [[1]]), {}, ValueError, "one dimension"),
        ((0, 1), {}, ValueError, "one dimension"),
        ((np.ma.masked_equal([0, 1], 1), [1, 1]), {}, ValueError, "masked"),
        (([0],), {}, ValueError, "two arrays"),
        (([0], [1]), {"algorithm": "dijkstra"}, ValueError, "no such algorithm"),
        (([0], [1]), {"algorithm": "ecl:speed=9"}, ValueError, "no option"),
        (([0], [1]), {"device": "tpu"}, RuntimeError, "no such device"),
        (([0], [1]), {"threads": 0}, ValueError, "threads must be"),
        (([0], [1]), {"threads": 10**6}, ValueError, "threads must be"),
        (([0], [1]), {"progress": 3}, ValueError, "progress must be"),
        (([0], [1]), {"vertices": 2**33}, ValueError, "too many"),
        (([0], [1]), {"vertices": -1}, ValueError, "vertices must be 0 or more"),
    ],
)
def test_errors_say_what_is_wrong(arguments, options, error, text):
    with pytest.raises(error, match=text):
        kostra.minimum_spanning_forest(*arguments, **options)


def test_the_verifier_takes_forests_of_others():
    vertices, src, dst, weight = random_graph(4)
    graph = kostra.Graph(src, dst, weight, vertices=vertices)
    wanted = kruskal(vertices, src, dst, weight)
    assert graph.verify(wanted)
    assert graph.verify(kruskal(vertices, src, dst, weight, True), maximum=True)
    with pytest.raises(ValueError, match="forest"):
        graph.verify(wanted[1:])


def test_graphs_are_solved_again_and_pickled():
    graph = kostra.generate("rmat:scale=9,weights=float")
    first = graph.minimum_spanning_forest()
    again = pickle.loads(pickle.dumps(graph))
    assert (again.vertex_count, again.edge_count) == (graph.vertex_count, graph.edge_count)
    for threads in (1, 2, 3):
        assert (again.minimum_spanning_forest(threads=threads).edges == first.edges).all()
    assert kostra.minimum_spanning_forest(graph).digest == first.digest
    assert (graph.minimum_spanning_forest(maximum=True).edges != first.edges).any()


def test_files(tmp_path):
    graph = kostra.generate("road:n=500")
    forest = graph.minimum_spanning_forest()
    for name in ("g.gr.gz", "g.kostra", "g.mtx.zst", "g.el"):
        graph.write(tmp_path / name)
        again = kostra.read(tmp_path / name)
        assert again.minimum_spanning_forest().total_weight == forest.total_weight
    forest.write(tmp_path / "g.forest")
    lines = (tmp_path / "g.forest").read_text().splitlines()
    assert [int(line.split()[3]) for line in lines] == forest.edges.tolist()
    (tmp_path / "names.csv").write_text("src,dst,weight\nada,bo,2\nbo,cy,1\n")
    named = kostra.read(tmp_path / "names.csv", ids="sparse")
    assert named.names == ["ada", "bo", "cy"]
    assert list(named.minimum_spanning_forest().to_networkx().nodes) == ["ada", "bo", "cy"]
    with pytest.raises(FileNotFoundError, match=r"none\.gr"):
        kostra.read(tmp_path / "none.gr")
    (tmp_path / "bad.el").write_text("0 1\n0 x\n")
    with pytest.raises(ValueError, match=r"bad\.el:2"):
        kostra.read(tmp_path / "bad.el")
    with pytest.raises(ValueError, match="ids must be"):
        kostra.read(tmp_path / "bad.el", ids="other")
    with pytest.raises(ValueError, match="rmat"):
        kostra.generate("nonsense:n=1")
    with pytest.raises(OSError):
        graph.write(tmp_path / "no" / "folder.el")


def test_conversions():
    import pandas as pd

    vertices, src, dst, weight = random_graph(5, kind="i8")
    forest = kostra.minimum_spanning_forest(src, dst, weight, vertices=vertices)
    matrix = forest.to_scipy()
    assert matrix.shape == (vertices, vertices) and matrix.nnz == len(forest) and matrix.dtype == np.int64
    assert matrix.sum() == forest.total_weight
    graph = forest.to_networkx()
    assert graph.number_of_nodes() == vertices and graph.number_of_edges() == len(forest)
    assert sorted(e for _, _, e in graph.edges(data="edge")) == forest.edges.tolist()
    frame = forest.to_pandas()
    assert isinstance(frame, pd.DataFrame) and frame.weight.sum() == forest.total_weight
    assert frame.index.tolist() == forest.edges.tolist()


@pytest.mark.skipif(sys.platform != "linux", reason="tells memory by /proc")
def test_memory_is_given_back():
    graph = kostra.generate("grid:rows=1500,cols=1500")

    def resident():
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    before = resident()
    wanted = graph.minimum_spanning_forest().edges.copy()
    assert np.array_equal(graph.minimum_spanning_forest().edges, wanted)
    kostra.release_memory()
    # Of the 75 MB that a solve takes only the copy is left.
    assert resident() - before < 30_000
    assert np.array_equal(graph.minimum_spanning_forest().edges, wanted)


def test_the_machine():
    assert kostra.devices()[0] == "cpu"
    assert "kostra" in kostra.algorithms()
