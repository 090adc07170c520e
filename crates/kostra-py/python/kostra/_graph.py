"""Graphs and their forests."""

from __future__ import annotations

import sys
from functools import cached_property
from os import PathLike, fspath
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from kostra import _arrays, _cuda, _kostra, _progress

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

# The types of weights that the library has.
_NATIVE = tuple(map(np.dtype, ("u4", "i4", "i8", "f4", "f8")))


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
        callback = _progress.callback(progress)
        start = perf_counter()
        try:
            native = self._native.solve(algorithm, device, maximum, threads, callback)
        finally:
            _progress.finish(callback)
        _log_solve(self, native, algorithm, device, start)
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
        callback = _progress.callback(progress)
        try:
            self._on_host().verify(_arrays.ids(edges, "edges"), maximum, threads, callback)
        finally:
            _progress.finish(callback)
        return True

    def write(self, path: str | PathLike[str], *, format: str | None = None, progress: Any = None) -> None:
        """Writes the graph in the format that the name says, compressed if it ends in .gz, .zst, .bz2 or .xz."""
        callback = _progress.callback(progress)
        try:
            self._on_host().write(fspath(path), format, None, callback)
        finally:
            _progress.finish(callback)

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


class Forest:
    """A spanning forest: ascending edge ids, with what follows from them. Arrays are made when they are asked for.

    >>> forest = kostra.minimum_spanning_forest([0, 1, 2, 2], [1, 2, 0, 3], [5, 0, 5, 7], vertices=6)
    >>> forest
    <kostra.Forest: 3 edges in 3 trees, weight 12>
    >>> forest.labels
    array([0, 0, 0, 0, 1, 2], dtype=uint32)
    >>> [a.tolist() for a in (forest.src, forest.dst, forest.weight)]
    [[0, 1, 2], [1, 2, 3], [5, 0, 7]]
    """

    def __init__(self, graph: Graph, native: _kostra.Forest) -> None:
        self.graph = graph
        self._native = native

    @cached_property
    def edges(self) -> NDArray[np.uint32]:
        """The ids of the forest's edges, ascending: their positions in the graph's arrays."""
        return self._native.edges

    @cached_property
    def src(self) -> NDArray[np.uint32]:
        """The first end of every edge of the forest."""
        return self._native.src

    @cached_property
    def dst(self) -> NDArray[np.uint32]:
        """The second end of every edge of the forest."""
        return self._native.dst

    @cached_property
    def weight(self) -> NDArray[Any]:
        """The weight of every edge of the forest, in the type it came in; ones where the graph has no weights."""
        weight = self.graph._weight
        if weight is None or weight.dtype in _NATIVE:
            return self._native.weight
        return weight.take(self.edges)

    @property
    def total_weight(self) -> int | float:
        """The sum of the weights: exact for integers; for floats added in edge-id order."""
        return self._native.total_weight

    @property
    def tree_count(self) -> int:
        """The number of trees; a vertex without edges is a tree of its own."""
        return self._native.tree_count

    @cached_property
    def labels(self) -> NDArray[np.uint32]:
        """The tree of every vertex; trees are numbered from 0 by their smallest vertex."""
        return self._native.labels

    @property
    def digest(self) -> str:
        """A hash of the edge ids, as the program prints it: equal digests mean equal forests of one graph."""
        return self._native.digest

    def verify(self, *, threads: int | None = None, progress: Any = None) -> bool:
        """Proves that the forest is the minimum (or maximum) one, by another algorithm than any that solves.

        Returns True; raises ValueError with the flaw otherwise.
        """
        return self.graph.verify(self.edges, maximum=self._native.maximum, threads=threads, progress=progress)

    def to_scipy(self) -> csr_array:
        """A SciPy array of shape (vertices, vertices) with the weights at [src, dst]; weights of zero are explicit.

        >>> print(kostra.minimum_spanning_forest([0, 1], [1, 2], [5, 0]).to_scipy().toarray())
        [[0 5 0]
         [0 0 0]
         [0 0 0]]
        """
        from scipy.sparse import coo_array

        n = self.graph.vertex_count
        kind = np.int32 if n < 2**31 else np.int64
        ends = (self.src.astype(kind), self.dst.astype(kind))
        return coo_array((self.weight, ends), shape=(n, n)).tocsr()

    def to_networkx(self) -> nx.Graph:
        """A NetworkX graph of all vertices and the forest's edges, with `weight` and `edge`, the edge's id.

        >>> kostra.minimum_spanning_forest([0, 1, 0], [1, 2, 2], [5, 1, 3]).to_networkx().edges(data=True)
        EdgeDataView([(0, 2, {'weight': 3, 'edge': 2}), (1, 2, {'weight': 1, 'edge': 1})])
        """
        import networkx as nx

        names: Any = self.graph.names or range(self.graph.vertex_count)
        forest = nx.Graph()
        forest.add_nodes_from(names)
        columns = (self.src.tolist(), self.dst.tolist(), self.weight.tolist(), self.edges.tolist())
        forest.add_edges_from((names[u], names[v], {"weight": w, "edge": e}) for u, v, w, e in zip(*columns, strict=True))
        return forest

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame with the columns src, dst, weight, indexed by edge id.

        >>> kostra.minimum_spanning_forest([0, 1, 0], [1, 2, 2], [5, 1, 3]).to_pandas()
              src  dst  weight
        edge
        1       1    2       1
        2       0    2       3
        """
        import pandas as pd

        columns = {"src": self.src, "dst": self.dst, "weight": self.weight}
        return pd.DataFrame(columns, index=pd.Index(self.edges, name="edge"))

    def to_arrow(self) -> pa.Table:
        """A table of pyarrow with the columns edge, src, dst, weight."""
        import pyarrow as pa

        columns = {"edge": self.edges, "src": self.src, "dst": self.dst, "weight": self.weight}
        return pa.table(columns)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The table of `to_arrow` for Polars, DuckDB and whoever else takes it."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def write(self, path: str | PathLike[str], *, format: str | None = None, progress: Any = None) -> None:
        """Writes lines "u v weight edge_id" to .forest or .txt, or a graph in the format that the name says."""
        if self.graph._device_arrays is not None:
            raise ValueError("the graph is on a GPU; forest.graph.to_cpu().minimum_spanning_forest() can be written")
        callback = _progress.callback(progress)
        try:
            self._native.write(fspath(path), format, None, callback)
        finally:
            _progress.finish(callback)

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        trees = f"{self.tree_count} tree" + "s" * (self.tree_count != 1)
        edges = f"{len(self)} edge" + "s" * (len(self) != 1)
        return f"<kostra.Forest: {edges} in {trees}, weight {self.total_weight}>"


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
    threads: int | None = None,
    progress: Any = None,
) -> Graph:
    """Reads a graph: twelve formats, found from content and name; .gz, .zst, .bz2 and .xz are unpacked.

    `ids="sparse"` takes any numbers or names as vertices of edge lists and tables; `graph.names` has them.
    """
    if ids not in ("dense", "sparse"):
        raise ValueError(f'ids must be "dense" or "sparse", not {ids!r}')
    callback = _progress.callback(progress)
    start = perf_counter()
    try:
        graph = Graph._of(_kostra.read(fspath(path), format, ids == "sparse", threads, callback))
    finally:
        _progress.finish(callback)
    _log_load("read", fspath(path), graph, start)
    return graph


def generate(spec: str, *, threads: int | None = None, progress: Any = None) -> Graph:
    """The graph that a SPEC describes, the same on every machine.

    >>> kostra.generate("grid:rows=20,cols=30")
    <kostra.Graph: 600 vertices, 1150 edges, uint32 weights>
    """
    callback = _progress.callback(progress)
    start = perf_counter()
    try:
        graph = Graph._of(_kostra.generate(spec, threads, callback))
    finally:
        _progress.finish(callback)
    _log_load("generated", spec, graph, start)
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


def _logger() -> Any:
    """The logger, where somebody listens to it; nobody does where logging was never imported."""
    logging: Any = sys.modules.get("logging")
    logger = logging.getLogger("kostra") if logging else None
    return logger if logger and logger.isEnabledFor(logging.DEBUG) else None


def _log_solve(graph: Graph, native: _kostra.Forest, algorithm: str, device: str, start: float) -> None:
    if logger := _logger():
        seconds = perf_counter() - start
        where, what = graph._native.resolve(algorithm, device)
        sizes = (graph.vertex_count, graph.edge_count, len(native), native.tree_count)
        text = "%s on %s: %d vertices, %d edges; forest of %d edges in %d trees, in %.3f ms"
        logger.debug(text, what, where, *sizes, 1e3 * seconds)


def _log_load(done: str, name: str, graph: Graph, start: float) -> None:
    if logger := _logger():
        seconds = perf_counter() - start
        sizes = (graph.vertex_count, graph.edge_count)
        logger.debug("%s %s: %d vertices, %d edges, in %.3f ms", done, name, *sizes, 1e3 * seconds)
