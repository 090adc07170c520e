"""The NetworkX backend: `nx.minimum_spanning_tree(G, backend="kostra")`.

NetworkX finds it by itself and keeps the converted graph with `G`, so that only the first call converts. All algorithms
return the canonical forest, that of Kruskal: ties go to the edge that comes first in `G.edges`. Settings are in
`nx.config.backends.kostra`: `device` ("auto") and `threads` (None: one per core).

>>> import networkx as nx
>>> G = nx.Graph()
>>> G.add_weighted_edges_from([("a", "b", 4), ("b", "c", 0), ("a", "c", 4)])
>>> list(nx.minimum_spanning_edges(G, data=False, backend="kostra"))
[('b', 'c'), ('a', 'b')]
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import Any

import networkx as nx
import numpy as np

from kostra import _kostra

_ALGORITHMS = ("kruskal", "prim", "boruvka", "borůvka")


class KostraGraph:
    """A NetworkX graph as arrays. It refers to the data of the original's edges and nodes, but not to the original."""

    __networkx_backend__ = "kostra"

    def __init__(self, graph: nx.Graph, weight: Any = "weight") -> None:
        self.kind = graph.__class__
        self.graph = graph.graph
        self.node = graph._node
        self.directed, self.multigraph = graph.is_directed(), graph.is_multigraph()
        if self.directed:
            raise NotImplementedError("kostra's graphs are undirected")
        adjacency = _as_dicts(graph, self.multigraph)
        self.nodes = list(adjacency)
        index = dict(zip(self.nodes, range(len(self.nodes)), strict=True))
        found = _kostra.nx_edges(adjacency, index, self.multigraph, weight)
        self.src, self.dst, self.datas, self.keys, weights = found
        self.weights: dict[Any, Any] = {} if weights is None else {weight: weights}

    def is_directed(self) -> bool:
        return self.directed

    def is_multigraph(self) -> bool:
        return self.multigraph

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes)

    def number_of_nodes(self) -> int:
        return len(self.nodes)

    def number_of_edges(self) -> int:
        return len(self.src)

    def weights_of(self, weight: Any) -> Any:
        """The weights of that name as an array, kept for the next call; as a list where no array holds them exactly."""
        if weight not in self.weights:
            found = _kostra.nx_weights(self.datas, weight)
            self.weights[weight] = [d.get(weight, 1) for d in self.datas] if found is None else found
        return self.weights[weight]

    def edge(self, e: int) -> tuple[Any, ...]:
        ends = (self.nodes[self.src[e]], self.nodes[self.dst[e]])
        return (*ends, *((self.keys[e],) if self.keys is not None else ()), self.datas[e])

    def forest(self, minimum: bool, weight: Any, ignore_nan: bool, partition: Any = None) -> Any:
        """The ids of the forest's edges in Kruskal's order."""
        weights = self.weights_of(weight)
        kept = None
        if isinstance(weights, list) or partition is not None:
            # Anything that can be compared: the places in NetworkX's order are weights of their own.
            weights = list(weights) if isinstance(weights, list) else weights.tolist()
            kept, weights, minimum = self._places(weights, minimum, ignore_nan, partition), None, True
        elif weights.dtype.kind == "f" and (wrong := np.isnan(weights)).any():
            if not ignore_nan:
                raise _nan(self.edge(int(wrong.argmax())))
            kept = np.flatnonzero(~wrong)
            weights = weights[kept]
        src, dst = (self.src, self.dst) if kept is None else (self.src[kept], self.dst[kept])
        if weights is None:
            weights = np.arange(len(src))
        config = nx.config.backends.kostra
        native = _kostra.Graph(src, dst, weights, len(self.nodes), config.threads)
        forest = native.solve("auto", config.device, not minimum, config.threads)
        order = _kostra.nx_order(forest.edges, weights, not minimum)
        return order if kept is None else kept[order].astype(np.uint32)

    def _places(self, weights: list[Any], minimum: bool, ignore_nan: bool, partition: Any) -> Any:
        included, opened = [], []
        for e, wt in enumerate(weights):
            if isnan(wt):
                if ignore_nan:
                    continue
                raise _nan(self.edge(e))
            state = None if partition is None else self.datas[e].get(partition)
            if state == nx.EdgePartition.INCLUDED:
                included.append(e)
            elif state != nx.EdgePartition.EXCLUDED:
                opened.append(e)
        opened.sort(key=weights.__getitem__, reverse=not minimum)
        return np.array(included + opened, dtype=np.int64)

    def tuples(self, order: Any, keys: bool, data: bool) -> list[Any]:
        given = (self.keys if keys else None, self.datas if data else None)
        return _kostra.nx_tuples(self.nodes, self.src, self.dst, order, *given)

    def tree(self, order: Any) -> nx.Graph:
        """A graph of the original's class with all its nodes, these edges, and all attributes."""
        tree = self.kind()
        tree.graph.update(self.graph)
        if self.kind in (nx.Graph, nx.MultiGraph):
            # What the methods below do, many times as fast.
            tree._node.update((node, data.copy()) for node, data in self.node.items())
            tree._adj.update(_kostra.nx_adjacency(self.nodes, self.src, self.dst, order, self.datas, self.keys))
        else:
            tree.add_nodes_from(self.node.items())
            tree.add_edges_from(self.tuples(order, True, True))
        return tree


def _as_dicts(graph: nx.Graph, multigraph: bool) -> dict[Any, Any]:
    """The adjacency in plain dictionaries: the graph's own, or a copy where it is a view of another."""
    adjacency = graph._adj
    if type(adjacency) is dict and all(type(row) is dict for row in adjacency.values()):
        return adjacency
    if multigraph:
        return {u: {v: dict(keys) for v, keys in row.items()} for u, row in graph.adjacency()}
    return {u: dict(row) for u, row in graph.adjacency()}


def _nan(edge: tuple[Any, ...]) -> ValueError:
    return ValueError(f"NaN found as an edge weight. Edge {edge}")


def convert_from_nx(graph: Any, edge_attrs: Any = None, **_: Any) -> KostraGraph:
    """A NetworkX graph as this backend's. All its attributes are at hand, so one conversion serves every call."""
    return graph if isinstance(graph, KostraGraph) else KostraGraph(graph, next(iter(edge_attrs or ["weight"])))


def convert_to_nx(result: Any, **_: Any) -> Any:
    """This backend's graph as one of NetworkX; any other result as it is."""
    if not isinstance(result, KostraGraph):
        return result
    return result.tree(np.arange(len(result.src), dtype=np.uint32)) if not result.multigraph else _multigraph(result)


def _multigraph(graph: KostraGraph) -> nx.Graph:
    full = graph.kind()
    full.graph.update(graph.graph)
    full.add_nodes_from(graph.node.items())
    full.add_edges_from(graph.tuples(np.arange(len(graph.src), dtype=np.uint32), True, True))
    return full


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    graph = args[0] if args else kwargs["G"]
    # What NetworkX's functions say of directed graphs themselves, they say; these say nothing.
    if name in ("kruskal_mst_edges", "prim_mst_edges", "boruvka_mst_edges") and graph.is_directed():
        return "the graph is directed"
    return True


def _edges(
    G: KostraGraph, minimum: bool, weight: Any, keys: bool, data: bool, ignore_nan: bool, partition: Any = None
) -> Iterator[Any]:
    order = G.forest(minimum, weight, ignore_nan, partition)
    yield from G.tuples(order, keys, data)


def _check(G: KostraGraph, algorithm: str) -> None:
    if algorithm not in _ALGORITHMS:
        raise ValueError(f"{algorithm} is not a valid choice for an algorithm.")
    if G.is_multigraph() and algorithm.startswith("bor"):
        raise nx.NetworkXNotImplemented("not implemented for multigraph type")


def kruskal_mst_edges(
    G: Any, minimum: bool, weight: Any = "weight", keys=True, data=True, ignore_nan=False, partition=None
) -> Iterator[Any]:
    """Kruskal's edges, in Kruskal's order."""
    return _edges(G, minimum, weight, keys, data, ignore_nan, partition)


def prim_mst_edges(G: Any, minimum: bool, weight: Any = "weight", keys=True, data=True, ignore_nan=False) -> Iterator[Any]:
    """The canonical forest, as `kruskal_mst_edges` returns it."""
    return _edges(G, minimum, weight, keys, data, ignore_nan)


def boruvka_mst_edges(
    G: Any, minimum: bool = True, weight: Any = "weight", keys=False, data=True, ignore_nan=False
) -> Iterator[Any]:
    """The canonical forest, as `kruskal_mst_edges` returns it; equal weights are no danger here."""
    _check(G, "boruvka")
    return _edges(G, minimum, weight, keys, data, ignore_nan)


def minimum_spanning_edges(
    G: Any, algorithm="kruskal", weight: Any = "weight", keys=True, data=True, ignore_nan=False
) -> Iterator[Any]:
    """The edges of the canonical minimum spanning forest."""
    _check(G, algorithm)
    return _edges(G, True, weight, keys, data, ignore_nan)


def maximum_spanning_edges(
    G: Any, algorithm="kruskal", weight: Any = "weight", keys=True, data=True, ignore_nan=False
) -> Iterator[Any]:
    """The edges of the canonical maximum spanning forest."""
    _check(G, algorithm)
    return _edges(G, False, weight, keys, data, ignore_nan)


def minimum_spanning_tree(G: Any, weight: Any = "weight", algorithm="kruskal", ignore_nan=False) -> nx.Graph:
    """The canonical minimum spanning forest, as a graph of the class of `G` with all its attributes."""
    _check(G, algorithm)
    return G.tree(G.forest(True, weight, ignore_nan))


def maximum_spanning_tree(G: Any, weight: Any = "weight", algorithm="kruskal", ignore_nan=False) -> nx.Graph:
    """The canonical maximum spanning forest, as a graph of the class of `G` with all its attributes."""
    _check(G, algorithm)
    return G.tree(G.forest(False, weight, ignore_nan))


def partition_spanning_tree(
    G: Any, minimum=True, weight: Any = "weight", partition: Any = "partition", ignore_nan=False
) -> nx.Graph:
    """The spanning forest with all included edges that close no cycle and no excluded ones."""
    return G.tree(G.forest(minimum, weight, ignore_nan, partition))
