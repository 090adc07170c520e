"""What is done with arrays on a GPU before the GPU sees them, with arrays that only say that they are there."""

import numpy as np
import pytest

import kostra
from kostra import _cuda


class Pretender:
    """An array in the host's memory that describes itself as one on a GPU."""

    def __init__(self, array, number=0):
        self.array, self.number = np.asarray(array), number

    def __dlpack_device__(self):
        return 2, self.number

    @property
    def __cuda_array_interface__(self):
        given = self.array.__array_interface__
        strides = None if self.array.flags.c_contiguous else given["strides"]
        return {
            "shape": given["shape"],
            "typestr": given["typestr"],
            "data": given["data"],
            "strides": strides,
            "version": 3,
        }

    @property
    def dtype(self):
        return self.array.dtype

    def copy(self):
        return Pretender(self.array.copy(), self.number)

    def astype(self, kind):
        return Pretender(self.array.astype(kind), self.number)

    def get(self):
        return self.array


@pytest.fixture
def made(monkeypatch):
    """The arguments of the graphs that are made, none of which reaches a GPU."""
    calls = []

    class Recorder:
        def __init__(self, *arguments):
            calls.append(arguments)
            self.vertices, self.edges = 9, arguments[2]

    monkeypatch.setattr(_cuda._kostra, "DeviceGraph", Recorder)
    return calls


def test_addresses_types_and_owners(made):
    src, dst = Pretender(np.arange(3, dtype="i8"), 1), Pretender(np.arange(3, dtype="u4"), 1)
    weight = Pretender(np.ones(3, "f4"), 1)
    graph = kostra.Graph(src, dst, weight, vertices=9)
    ((owners, number, edges, arrays, vertices),) = made
    assert owners == [src, dst, weight] and (number, edges, vertices) == (1, 3, 9)
    addresses = [a.array.__array_interface__["data"][0] for a in (src, dst, weight)]
    assert arrays == tuple(zip(addresses, ["i64", "u32", "f32"], strict=True))
    assert repr(graph) == "<kostra.Graph: 9 vertices, 3 edges, float32 weights on a GPU>"
    host = graph.to_cpu()
    assert host.vertex_count == 9 and host.weight.tolist() == [1, 1, 1] and graph.src.tolist() == [0, 1, 2]


def test_narrow_types_are_widened_and_strides_removed(made):
    ids, weight = Pretender(np.arange(8, dtype="i2")[::2]), Pretender(np.ones(4, "f2"))
    kostra.Graph(ids, ids, weight)
    ((owners, _, edges, arrays, _),) = made
    assert edges == 4 and [kind for _, kind in arrays] == ["i32", "i32", "f32"]
    assert owners[0].array.tolist() == [0, 2, 4, 6] and owners[0].array.flags.c_contiguous
    kostra.Graph(ids, ids)
    assert made[1][3][2] is None


@pytest.mark.parametrize(
    "arrays, text",
    [
        ((Pretender([0]), np.array([1])), "src on cuda:0, dst on the host"),
        ((Pretender([0]), Pretender([1], 1)), "src on cuda:0, dst on cuda:1"),
        ((Pretender([0]), Pretender([1]), [1.0]), "weight on the host"),
        ((Pretender([0]), Pretender([1, 2])), "1 sources, 2 targets, 1 weights"),
        ((Pretender([[0]]), Pretender([1])), "one dimension"),
        ((Pretender([0]), Pretender([1]), Pretender([1j])), "integers or floats"),
    ],
)
def test_what_does_not_fit_together(made, arrays, text):
    with pytest.raises(ValueError, match=text):
        kostra.Graph(*arrays)
    assert not made


def test_where_arrays_are():
    assert _cuda.device_of(Pretender([1], 3)) == 3
    assert _cuda.device_of(np.ones(2)) is None and _cuda.device_of([1]) is None and _cuda.device_of(None) is None
