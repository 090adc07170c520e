"""The minimum spanning forest of any graph, as fast as the hardware allows.

>>> import kostra
>>> forest = kostra.minimum_spanning_forest([0, 1, 2, 2], [1, 2, 0, 3], [5, 0, 5, 7])
>>> forest.edges
array([0, 1, 3], dtype=uint32)
>>> forest.total_weight
12

Edges are compared by (weight, edge id), so the forest is unique: every algorithm on every device with any number of
threads returns the same edge ids. `kostra.csgraph` has what stands in for SciPy's function, `kostra.cluster` has
single-linkage clustering, `kostra.spark` and `kostra.dask` have graphs of a cluster, and NetworkX finds the backend
"kostra" by itself; each is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kostra._forest import Forest
from kostra._graph import (
    Graph,
    algorithms,
    devices,
    generate,
    maximum_spanning_forest,
    minimum_spanning_forest,
    read,
    release_memory,
)
from kostra._kostra import __version__
from kostra._merge import merge
from kostra._stream import Stream, StreamForest, minimum_spanning_forest_files

if TYPE_CHECKING:
    from kostra import cluster, csgraph, dask, spark

__all__ = [
    "Forest",
    "Graph",
    "Stream",
    "StreamForest",
    "__version__",
    "algorithms",
    "cluster",
    "csgraph",
    "dask",
    "devices",
    "generate",
    "maximum_spanning_forest",
    "merge",
    "minimum_spanning_forest",
    "minimum_spanning_forest_files",
    "read",
    "release_memory",
    "spark",
]

_LAZY = ("cluster", "csgraph", "dask", "networkx", "spark")


def __getattr__(name: str) -> object:
    if name in _LAZY:
        from importlib import import_module

        return import_module(f"kostra.{name}")
    raise AttributeError(f"module 'kostra' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
