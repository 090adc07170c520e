"""Spanning forests of SciPy's sparse matrices.

`minimum_spanning_tree` takes the place of `scipy.sparse.csgraph.minimum_spanning_tree` and returns what it returns;
`minimum_spanning_forest` is right where that one is not.

>>> from scipy.sparse import csr_array
>>> from kostra.csgraph import minimum_spanning_tree
>>> graph = csr_array([[0, 8, 0, 3], [0, 0, 2, 5], [0, 0, 0, 6], [0, 0, 0, 0]])
>>> minimum_spanning_tree(graph).toarray().astype(int)
array([[0, 0, 0, 3],
       [0, 0, 2, 5],
       [0, 0, 0, 0],
       [0, 0, 0, 0]])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse

# What SciPy itself makes of its arguments, so that every version's rules for zeros, NaN and containers hold here, too.
from scipy.sparse.csgraph._validation import validate_graph

from kostra import _kostra
from kostra._forest import Forest
from kostra._graph import Graph

__all__ = ["SparseForest", "minimum_spanning_forest", "minimum_spanning_tree"]


def minimum_spanning_tree(csgraph: Any, overwrite: bool = False) -> csr_array | csr_matrix:
    """What SciPy's function of this name returns, sooner: the same edges under ties, orientation, type and container.

    Its ways are copied: weights become float64; the zeros, NaN and infinities of a dense matrix are no edges; the zeros of
    a sparse matrix are edges, but are missing in the result; NaN comes after all other weights.
    `minimum_spanning_forest` has better ways.

    Parameters
    ----------
    csgraph : a sparse or dense square matrix; an edge of weight [i, j] joins i and j.
    overwrite : accepted, as by SciPy; the input is never changed here.

    Examples
    --------
    >>> import kostra.csgraph as csgraph  # instead of: from scipy.sparse import csgraph
    >>> csgraph.minimum_spanning_tree([[0, 1, 1], [0, 0, 1], [0, 0, 0]]).toarray()
    array([[0., 1., 1.],
           [0., 0., 0.],
           [0., 0., 0.]])
    """
    matrix = validate_graph(csgraph, True, np.float64, dense_output=False, copy_if_sparse=False)
    columns, offsets = matrix.indices, matrix.indptr
    if columns.dtype != np.int32 or offsets.dtype != np.int32:
        columns, offsets = columns.astype(np.int32), offsets.astype(np.int32)
    data = np.ascontiguousarray(matrix.data)
    try:
        found = _kostra.tree_of_rows(data, np.ascontiguousarray(columns), np.ascontiguousarray(offsets))
    except ValueError:
        if not np.isnan(data).any():
            raise
        found = _tree_with_nan(data, columns, offsets)
    tree = type(matrix)(found, shape=matrix.shape)
    return _of_pydata(tree, csgraph) if type(csgraph).__module__.split(".")[0] == "sparse" else tree


def _of_pydata(tree: Any, csgraph: Any) -> Any:
    """The tree in the class of `csgraph`, an array of the package sparse, with its fill value."""
    try:
        return type(csgraph).from_scipy_sparse(tree, fill_value=csgraph.fill_value)
    except TypeError:
        return type(csgraph)(tree)


def _tree_with_nan(data: Any, columns: Any, offsets: Any) -> tuple[Any, Any, Any]:
    """The tree where NaN is the largest weight: that of the weights' places in SciPy's order."""
    places = np.empty(len(data), np.int64)
    places[np.argsort(data, kind="stable")] = np.arange(len(data))
    rows = _kostra.expand_rows(offsets, len(data))
    edges = Graph(rows, columns, places, vertices=len(offsets) - 1).minimum_spanning_forest().edges
    edges = edges[data[edges] != 0]
    return data[edges], columns[edges], np.searchsorted(edges, offsets).astype(np.int32)


class SparseForest(Forest):
    """The forest of a sparse matrix. `edges` are the positions of its entries in the matrix's `data`."""

    matrix: Any

    def to_scipy(self) -> Any:
        """The forest as a matrix in compressed rows: its entries where they were, zeros explicit, type kept."""
        edges, matrix = self.edges, self.matrix
        offsets = np.searchsorted(edges, matrix.indptr).astype(matrix.indptr.dtype)
        return type(matrix)((matrix.data[edges], matrix.indices[edges], offsets), shape=matrix.shape)


def minimum_spanning_forest(
    csgraph: Any,
    *,
    maximum: bool = False,
    algorithm: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    progress: Any = None,
) -> SparseForest:
    """The minimum spanning forest of a sparse matrix, with nothing lost.

    Every stored entry is an edge: explicit zeros count and stay, the type of the weights is kept (integers above 2^53 come
    back whole), and NaN is refused. Ties go to the earlier entry. Entries [i, j] and [j, i] are two edges between i and j.
    A dense matrix's entries other than zero are its edges.

    Returns
    -------
    A forest with all that `kostra.Forest` has. `edges` are positions in `forest.matrix.data`, where `forest.matrix` is the
    matrix in compressed rows, which is `csgraph` itself if it was. `to_scipy()` is the matrix of the forest.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> data, columns, offsets = [0, 2**53 + 1, 7], [1, 2, 2], [0, 2, 3, 3]
    >>> forest = kostra.csgraph.minimum_spanning_forest(csr_array((data, columns, offsets), shape=(3, 3)))
    >>> forest.edges, forest.total_weight
    (array([0, 2], dtype=uint32), 7)
    >>> forest.to_scipy().data
    array([0, 7])
    """
    if issparse(csgraph):
        matrix = csgraph.tocsr()
    else:
        matrix = (csr_matrix if isinstance(csgraph, np.matrix) else csr_array)(csgraph)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"a square matrix is wanted, not one of shape {matrix.shape}")
    rows = _kostra.expand_rows(np.ascontiguousarray(matrix.indptr), len(matrix.data))
    graph = Graph(rows, matrix.indices, matrix.data, vertices=matrix.shape[0], threads=threads)
    found = graph.minimum_spanning_forest(
        maximum=maximum, algorithm=algorithm, device=device, threads=threads, progress=progress
    )
    forest = SparseForest(graph, found._native)
    forest.matrix = matrix
    return forest
