"""Single-linkage clustering of edge lists, sparse distances and points, from their minimum spanning forest.

>>> import numpy as np
>>> from kostra.cluster import SingleLinkage, linkage
>>> points = np.array([[0, 0], [0, 1], [9, 9], [9, 8], [5, 5]])
>>> SingleLinkage(n_clusters=2).fit_predict(points)
array([0, 0, 1, 1, 1])
>>> linkage(points[:3])
array([[ 0.        ,  1.        ,  1.        ,  2.        ],
       [ 2.        ,  3.        , 12.04159458,  3.        ]])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kostra import _kostra, _progress
from kostra._forest import Forest
from kostra._graph import Graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SingleLinkage", "forest_of", "linkage"]

_METRICS = ("euclidean", "precomputed")


def linkage(
    data: Any,
    metric: str = "euclidean",
    *,
    vertices: int | None = None,
    threads: int | None = None,
    progress: Any = None,
) -> NDArray[np.float64]:
    """The single-linkage clustering as SciPy's linkage matrix of n - 1 rows and 4 columns.

    Row i merges the clusters Z[i, 0] < Z[i, 1] at the distance Z[i, 2] into the cluster n + i of Z[i, 3] vertices. SciPy's
    `fcluster`, `dendrogram` and so on take it. Where distances are equal, SciPy may merge in another order; the heights are
    the same. If the graph has several components, they are joined in the end at an infinite distance.

    Parameters
    ----------
    data : points, an array of shape (n, dimensions); or a sparse square matrix of distances, as
        `sklearn.neighbors.kneighbors_graph` makes it; or an edge list, `(src, dst, weight)`, a `kostra.Graph` or a forest;
        or an array of one dimension of all n (n - 1) / 2 distances, as SciPy's `pdist` makes it.
    metric : "euclidean", or "precomputed" where `data` is a dense square matrix of distances.
    vertices : how many there are in an edge list; by default the largest id + 1.

    Notes
    -----
    For points the tree is found on a k-d tree: the nearest-neighbour graph, extended by exactly the neighbours that it
    lacks. It is exact. The more dimensions, the less is gained over looking at all pairs.
    """
    return _kostra.linkage_matrix(forest_of(data, metric, vertices=vertices, threads=threads, progress=progress)._native)


def forest_of(
    data: Any,
    metric: str = "euclidean",
    *,
    vertices: int | None = None,
    threads: int | None = None,
    progress: Any = None,
) -> Forest:
    """The minimum spanning forest behind `linkage`; for points the Euclidean minimum spanning tree.

    >>> tree = forest_of([[0, 0], [3, 4], [0, 1]])
    >>> tree.src, tree.dst, tree.weight.round(3)
    (array([0, 1], dtype=uint32), array([2, 2], dtype=uint32), array([1.   , 4.243]))
    """
    if metric not in _METRICS:
        raise ValueError(f"metric must be one of {', '.join(_METRICS)}, not {metric!r}; for others give distances")
    if isinstance(data, Forest):
        return data
    return _graph_of(data, metric, vertices, threads, progress).minimum_spanning_forest(threads=threads)


def _graph_of(data: Any, metric: str, vertices: int | None, threads: int | None, progress: Any) -> Graph:
    if isinstance(data, Graph):
        return data
    if _is_sparse(data):
        from kostra.csgraph import minimum_spanning_forest

        return minimum_spanning_forest(data, threads=threads).graph
    if isinstance(data, tuple) and len(data) == 3 and all(np.ndim(part) == 1 for part in data):
        return Graph(*data, vertices=vertices, threads=threads)
    array = np.asarray(data)
    if array.ndim == 1:
        return _graph_of_pairs(array, threads)
    if array.ndim != 2:
        raise ValueError(f"points are an array of two dimensions, not of shape {array.shape}")
    if metric == "precomputed":
        if array.shape[0] != array.shape[1]:
            raise ValueError(f"a square matrix of distances is wanted, not one of shape {array.shape}")
        rows, columns = np.triu_indices(len(array), 1)
        return Graph(rows, columns, np.minimum(array[rows, columns], array[columns, rows]), vertices=len(array))
    if array.shape[1] == 0:
        raise ValueError("points have at least one coordinate")
    coordinates = np.ascontiguousarray(array, dtype=np.float64).ravel()
    with _progress.watching(progress) as callback:
        return Graph._of(_kostra.point_tree(coordinates, array.shape[1], threads, callback))


def _graph_of_pairs(distances: Any, threads: int | None) -> Graph:
    n = round((1 + (1 + 8 * len(distances)) ** 0.5) / 2)
    if n * (n - 1) // 2 != len(distances):
        raise ValueError(f"{len(distances)} distances are not those of all pairs of any number of points")
    rows, columns = np.triu_indices(n, 1)
    return Graph(rows, columns, distances, vertices=n, threads=threads)


def _is_sparse(data: Any) -> bool:
    return hasattr(data, "tocsr") and hasattr(data, "nnz")


class SingleLinkage:
    """Single-linkage clustering in the manner of scikit-learn.

    Parameters
    ----------
    n_clusters : how many clusters to find. Components of a graph are never joined, so there may be more.
    distance_threshold : merge all that is nearer than this, instead. Exactly one of the two is given.
    metric : "euclidean", or "precomputed" for a matrix of distances; see `linkage` for what else `fit` takes.

    Attributes
    ----------
    labels_ : the cluster of every point, numbered from 0 by the smallest point
    n_clusters_ : how many there are
    linkage_ : SciPy's linkage matrix
    children_, distances_ : its first two columns as integers, and its third, as scikit-learn has them
    n_leaves_, n_connected_components_, n_features_in_ : the number of points, of components, of coordinates

    Examples
    --------
    >>> model = SingleLinkage(distance_threshold=2.5).fit([[0.0], [2.0], [9.0], [4.0]])
    >>> model.labels_, model.n_clusters_
    (array([0, 0, 1, 0]), 2)
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        distance_threshold: float | None = None,
        metric: str = "euclidean",
        threads: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.distance_threshold = distance_threshold
        self.metric = metric
        self.threads = threads

    def fit(self, X: Any, y: Any = None) -> SingleLinkage:
        """Clusters the points, distances or edges `X`; `y` is there for scikit-learn and not looked at."""
        wanted, threshold = self.n_clusters, self.distance_threshold
        if (wanted is None) == (threshold is None):
            raise ValueError("exactly one of n_clusters and distance_threshold is wanted")
        if wanted is not None and wanted < 1:
            raise ValueError(f"n_clusters must be 1 or more, not {wanted}")
        forest = forest_of(X, self.metric, threads=self.threads)
        n = forest.graph.vertex_count
        if wanted is not None and wanted > n:
            raise ValueError(f"n_clusters={wanted} is more than the {n} points that there are")
        self.linkage_ = _kostra.linkage_matrix(forest._native)
        self.n_leaves_ = n
        self.n_connected_components_ = forest.tree_count
        self.children_ = self.linkage_[:, :2].astype(np.int64)
        self.distances_ = self.linkage_[:, 2]
        shape: tuple[int, ...] = () if isinstance(X, (tuple, Graph, Forest)) else np.shape(X)
        if len(shape) == 2:
            self.n_features_in_ = shape[1]
        within = n - forest.tree_count
        if threshold is None:
            merges = min(n - (wanted or 1), within)
        else:
            merges = int(np.searchsorted(self.distances_[:within], threshold, side="left"))
        self.n_clusters_ = n - merges
        self.labels_ = _kostra.cut(self.linkage_, merges) if n else np.empty(0, np.int64)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        """Clusters `X` and returns the labels."""
        return self.fit(X).labels_

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in ("n_clusters", "distance_threshold", "metric", "threads")}

    def set_params(self, **params: Any) -> SingleLinkage:
        """Sets parameters by name."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"no parameter {name!r}; there are {', '.join(self.get_params())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = {name: value for name, value in self.get_params().items() if value not in (None, "euclidean")}
        return f"SingleLinkage({', '.join(f'{name}={value!r}' for name, value in given.items())})"
