"""Graphs, and the functions that make and solve them."""

from __future__ import annotations

from os import PathLike, fspath
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from kostra import _arrays, _cuda, _kostra, _log, _progress
from kostra._forest import Forest

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Graph:
    """An undirected multigraph, to be solved as often as wanted.

    Edge `e` joins `src[e]` and `dst[e]`; its id is its position. Loops, parallel edges and vertices without edges are
    legal. Arrays whose type is native (uint32 ids; uint32, int32, int64, float32 or float64 weights) are borrowed, not
    copied: do not change them while the graph is in use.

    Parameters
    ----------
    src, dst : the ends of the edges. Arrays of any integers, of NumPy or whatever NumPy takes. Arrays of CuPy, PyTorch and
        others in a GPU's memory stay there, and the graph is solved there. Or leave `dst` out and let
        `src` be a table: an Arrow table, a DataFrame of pandas or Polars, a result of DuckDB, anything with
        `__arrow_c_stream__`. Its columns are found by name (src and dst, source and target, from and to, u and v), else
        the first two are taken.
    weight : an array of integers or floats; the name of a table's column; or None: a table's column weight (or w, distance,
        length, cost), or the one that is left of three; else every edge weighs 1. NaN is refused.
    vertices : how many there are; by default the largest id + 1.

    Examples
    --------
    >>> graph = kostra.Graph([0, 1, 2], [1, 2, 0], [2.5, -1.0, 2.5], vertices=4)
    >>> graph
    <kostra.Graph: 4 vertices, 3 edges, float64 weights>
    >>> graph.minimum_spanning_forest().edges
    array([0, 1], dtype=uint32)
    >>> graph.minimum_spanning_forest(maximum=True).edges
    array([0, 2], dtype=uint32)
    """

    __slots__ = ("_device_arrays", "_native", "_weight")

    _native: _kostra.Graph | _kostra.DeviceGraph
    # On a GPU: the arrays there, which are the graph.
    _device_arrays: list[Any] | None
    # As it came, for the weights of a forest in the same type.
    _weight: NDArray[Any] | None

    def __init__(
        self,
        src: Any,
        dst: Any = None,
        weight: Any = None,
        *,
        vertices: int | None = None,
        threads: int | None = None,
    ) -> None:
        if vertices is not None and vertices < 0:
            raise ValueError(f"vertices must be 0 or more, not {vertices}")
        if dst is None:
            if not _arrays.is_table(src):
                raise ValueError("two arrays of vertex ids are wanted, or one table of edges")
            src, dst, weight = _arrays.edges_of(src, weight)
        if any(_cuda.device_of(array) is not None for array in (src, dst, weight)):
            self._native, self._device_arrays = _cuda.graph(src, dst, weight, vertices)
            self._weight = None
            return
        src, dst = _arrays.ids(src, "src"), _arrays.ids(dst, "dst")
        weight = None if weight is None else _arrays.column(weight, "weight")
        self._native = _kostra.Graph(src, dst, _arrays.native(weight), vertices, threads)
        self._weight, self._device_arrays = weight, None

    @classmethod
    def _of(cls, native: _kostra.Graph) -> Graph:
        graph = cls.__new__(cls)
        graph._native, graph._weight, graph._device_arrays = native, native.weight, None
        return graph

    @property
    def vertex_count(self) -> int:
        """The number of vertices."""
        return self._native.vertices

    @property
    def edge_count(self) -> int:
        """The number of edges, loops and parallel edges counted."""
        return self._native.edges

    @property
    def src(self) -> NDArray[np.uint32]:
        """The first end of every edge, read-only."""
        return self._on_host().src

    @property
    def dst(self) -> NDArray[np.uint32]:
        """The second end of every edge, read-only."""
        return self._on_host().dst

    @property
    def weight(self) -> NDArray[Any] | None:
        """The weight of every edge; None where there are none and each weighs 1."""
        return self._weight if self._device_arrays is None else self.to_cpu()._weight

    @property
    def names(self) -> list[str] | None:
        """The names of the vertices, where a file was read with ids="sparse"."""
        names = None if self._device_arrays else self._on_host().names()
        return None if names is None else [name.decode(errors="surrogateescape") for name in names]

    def to_cpu(self) -> Graph:
        """The graph with its arrays in the host's memory: itself, or a copy where they are on a GPU."""
        if self._device_arrays is None:
            return self
        return Graph(*map(_cuda.to_numpy, self._device_arrays), vertices=self.vertex_count)

    def _on_host(self) -> _kostra.Graph:
        native = self.to_cpu()._native
        assert isinstance(native, _kostra.Graph)
        return native

    def minimum_spanning_forest(
        self,
        *,
        maximum: bool = False,
        algorithm: str = "auto",
        device: str = "auto",
        threads: int | None = None,
        progress: Any = None,
    ) -> Forest:
        """The forest; see `kostra.minimum_spanning_forest`."""
        start = perf_counter()
        with _progress.watching(progress) as callback:
            native = self._native.solve(algorithm, device, maximum, threads, callback)
        _log.solve(self, native, algorithm, device, start)
        return Forest(self, native)

    def verify(self, edges: Any, *, maximum: bool = False, threads: int | None = None, progress: Any = None) -> bool:
        """Proves that these edge ids are the minimum spanning forest, whoever found them.

        Returns True; raises ValueError with the flaw otherwise.

        >>> graph = kostra.Graph([0, 1, 2], [1, 2, 0], [1, 2, 3])
        >>> graph.verify([0, 1])
        True
        >>> graph.verify([0, 2])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ValueError: not the minimum forest: edge 2 (2 to 0, weight 3) is on the path between the ends of edge 1 ...
        """
        with _progress.watching(progress) as callback:
            self._on_host().verify(_arrays.ids(edges, "edges"), maximum, threads, callback)
        return True

    def write(self, path: str | PathLike[str], *, format: str | None = None, progress: Any = None) -> None:
        """Writes the graph in the format that the name says, compressed if it ends in .gz, .zst, .bz2 or .xz."""
        with _progress.watching(progress) as callback:
            self._on_host().write(fspath(path), format, None, callback)

    def __repr__(self) -> str:
        weights = "no" if self._weight is None else str(self._weight.dtype)
        if self._device_arrays:
            weights = str(self._device_arrays[2].dtype).removeprefix("torch.") if self._device_arrays[2:] else "no"
        where = " on a GPU" if self._device_arrays else ""
        return f"<kostra.Graph: {self.vertex_count} vertices, {self.edge_count} edges, {weights} weights{where}>"

    def __reduce__(self) -> Any:
        return _rebuilt, (self.src, self.dst, self.weight, self.vertex_count)


def _rebuilt(src: Any, dst: Any, weight: Any, vertices: int) -> Graph:
    return Graph(src, dst, weight, vertices=vertices)


def minimum_spanning_forest(
    src: Any,
    dst: Any = None,
    weight: Any = None,
    *,
    vertices: int | None = None,
    maximum: bool = False,
    algorithm: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    progress: Any = None,
) -> Forest:
    """The minimum spanning forest of the edges (src[e], dst[e]) with weight[e].

    Edges are compared by (weight, edge id): the forest is unique, the same on every device and for any number of threads.

    Parameters
    ----------
    src, dst, weight, vertices : the graph; see `kostra.Graph`. Nothing is copied where the types allow.
    maximum : find the maximum spanning forest instead; ties still go to the smaller edge id.
    algorithm : one of `kostra.algorithms()`, with options after a colon, such as "ecl:seed=7".
    device : "auto", "cpu", "cuda" or "cuda:N".
    threads : how many; by default one per core.
    progress : called now and then as progress(phase, done, total), or tqdm's class, or True for tqdm's bars.

    Raises
    ------
    ValueError for a wrong graph or name, RuntimeError for a device that fails, MemoryError; KeyboardInterrupt stops it.

    Examples
    --------
    >>> forest = kostra.minimum_spanning_forest([0, 0, 1], [1, 2, 2], [1, 1, 1])
    >>> forest.edges, forest.total_weight, forest.tree_count
    (array([0, 1], dtype=uint32), 2, 1)
    """
    if isinstance(src, Graph) and dst is None and weight is None and vertices is None:
        graph = src
    else:
        graph = Graph(src, dst, weight, vertices=vertices, threads=threads)
    return graph.minimum_spanning_forest(
        maximum=maximum, algorithm=algorithm, device=device, threads=threads, progress=progress
    )


def maximum_spanning_forest(src: Any, dst: Any = None, weight: Any = None, **options: Any) -> Forest:
    """The maximum spanning forest: `minimum_spanning_forest` with maximum=True.

    >>> kostra.maximum_spanning_forest([0, 0, 1], [1, 2, 2], [1, 2, 3]).edges
    array([1, 2], dtype=uint32)
    """
    return minimum_spanning_forest(src, dst, weight, maximum=True, **options)


def read(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    ids: str = "dense",
    columns: tuple[str, ...] | None = None,
    threads: int | None = None,
    progress: Any = None,
) -> Graph:
    """Reads a graph: thirteen formats, found from content and name; .gz, .zst, .bz2 and .xz are unpacked.

    `ids="sparse"` takes any numbers or names as vertices of edge lists and tables; `graph.names` has them. `columns` names
    those of csv, tsv and Parquet, (src, dst) or (src, dst, weight), where they do not tell by themselves.
    """
    sparse, named = _arrays.reading(ids, columns)
    start = perf_counter()
    with _progress.watching(progress) as callback:
        graph = Graph._of(_kostra.read(fspath(path), format, sparse, named, threads, callback))
    _log.load("read", fspath(path), graph, start)
    return graph


def generate(spec: str, *, threads: int | None = None, progress: Any = None) -> Graph:
    """The graph that a SPEC describes, the same on every machine.

    >>> kostra.generate("grid:rows=20,cols=30")
    <kostra.Graph: 600 vertices, 1150 edges, uint32 weights>
    """
    start = perf_counter()
    with _progress.watching(progress) as callback:
        graph = Graph._of(_kostra.generate(spec, threads, callback))
    _log.load("generated", spec, graph, start)
    return graph


def algorithms() -> dict[str, str]:
    """The algorithms by name, with their method in a line.

    >>> kostra.algorithms()["kruskal"]
    'sort all edges in parallel, join trees in that order'
    """
    return {name: method for name, method, _ in _kostra.algorithms()}


def devices() -> list[str]:
    """The devices of this machine: "cpu", and every NVIDIA GPU that the driver finds."""
    return ["cpu", *(name for name, _, _ in _kostra.devices())]


def release_memory() -> None:
    """Gives the memory back to the system that is kept for the next solves, 272 MiB at most.

    When the system is short of memory, it can take all but 16 MiB without asking; until then it counts as this process's.
    """
    _kostra.release_memory()
