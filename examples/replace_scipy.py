"""Replacing a SciPy call: the same matrix in, the same tree out, sooner.

pip install kostra scipy
python examples/replace_scipy.py [SPEC]
"""

import sys
import time

import numpy as np
import scipy.sparse.csgraph
from scipy.sparse import csr_array

import kostra
import kostra.csgraph


def timed(function, matrix):
    function(matrix)  # The first call starts threads and so on.
    start = time.perf_counter()
    tree = function(matrix)
    return time.perf_counter() - start, tree


def main():
    spec = sys.argv[1] if len(sys.argv) > 1 else "grid:rows=300,cols=300,weights=uniform:1-1000"
    graph = kostra.generate(spec)
    ends = (graph.src.astype(np.int32), graph.dst.astype(np.int32))
    matrix = csr_array((graph.weight.astype(np.float64), ends), shape=(graph.vertex_count, graph.vertex_count))

    theirs, tree = timed(scipy.sparse.csgraph.minimum_spanning_tree, matrix)
    ours, same = timed(kostra.csgraph.minimum_spanning_tree, matrix)
    assert (tree != same).nnz == 0 and type(tree) is type(same) and tree.dtype == same.dtype
    print(f"{spec}: {matrix.nnz} edges, tree of {tree.nnz} edges and weight {tree.sum():.0f}")
    print(f"SciPy {1e3 * theirs:.1f} ms, kostra {1e3 * ours:.1f} ms: the same tree, {theirs / ours:.1f} times as fast")

    # What SciPy loses: weights of zero, and integers above 2^53.
    exact = csr_array(([0, 2**53 + 1], [1, 2], [0, 1, 2, 2]), shape=(3, 3))
    forest = kostra.csgraph.minimum_spanning_forest(exact)
    lost = scipy.sparse.csgraph.minimum_spanning_tree(exact)
    print(f"two edges of weight 0 and 2^53 + 1: SciPy keeps {lost.nnz}, weight {lost.sum():.0f};", end=" ")
    print(f"kostra keeps {len(forest)}, weight {forest.total_weight}")


if __name__ == "__main__":
    main()
