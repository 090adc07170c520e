"""Forests, and what they turn into."""

from __future__ import annotations

from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from kostra import _kostra, _progress

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from kostra._graph import Graph

# The types of weights that the library has.
_NATIVE = tuple(map(np.dtype, ("u4", "i4", "i8", "f4", "f8")))


class Tables:
    """What a forest turns into, whose edges, src, dst and weight are arrays."""

    if TYPE_CHECKING:

        @property
        def edges(self) -> NDArray[Any]: ...
        @property
        def src(self) -> NDArray[np.uint32]: ...
        @property
        def dst(self) -> NDArray[np.uint32]: ...
        @property
        def weight(self) -> NDArray[Any]: ...

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


class Forest(Tables):
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

    def write(self, path: str | PathLike[str], *, format: str | None = None, progress: Any = None) -> None:
        """Writes lines "u v weight edge_id" to .forest or .txt, or a graph in the format that the name says."""
        if self.graph._device_arrays is not None:
            raise ValueError("the graph is on a GPU; forest.graph.to_cpu().minimum_spanning_forest() can be written")
        with _progress.watching(progress) as callback:
            self._native.write(fspath(path), format, None, callback)

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        trees = f"{self.tree_count} tree" + "s" * (self.tree_count != 1)
        edges = f"{len(self)} edge" + "s" * (len(self) != 1)
        return f"<kostra.Forest: {edges} in {trees}, weight {self.total_weight}>"
