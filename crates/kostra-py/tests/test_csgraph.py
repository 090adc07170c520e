"""What stands in for SciPy's function must return what SciPy returns."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph.tests.test_spanning_tree as scipys_tests
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree as scipys

import kostra
from kostra.csgraph import minimum_spanning_forest, minimum_spanning_tree

CONTAINERS = [
    np.asarray,
    np.matrix,
    lambda dense: dense.tolist(),
    lambda dense: np.ma.masked_equal(dense, 1),
    *(
        getattr(sp, f"{kind}_{of}")
        for kind in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
        for of in ("array", "matrix")
    ),
]


def assert_same(ours, theirs):
    assert type(ours) is type(theirs) and ours.shape == theirs.shape
    for name in ("data", "indices", "indptr"):
        a, b = getattr(ours, name), getattr(theirs, name)
        assert a.dtype == b.dtype, name
        np.testing.assert_array_equal(a, b, err_msg=name)


def scipys_own():
    return [(name, test) for name, test in inspect.getmembers(scipys_tests, inspect.isfunction) if name.startswith("test")]


@pytest.mark.parametrize("name, test", scipys_own())
def test_scipys_own_tests_pass(name, test, monkeypatch):
    monkeypatch.setattr(scipys_tests, "minimum_spanning_tree", minimum_spanning_tree)
    test()


@settings(max_examples=400)
@given(
    st.integers(0, 9),
    st.integers(0, 2**32),
    st.sampled_from(CONTAINERS),
    st.sampled_from(["f8", "f4", "i4", "i8", "u1", "?", "i2"]),
    st.sampled_from([0, 1, 2, 3]),
)
def test_the_same_for_every_container_and_type_under_ties(n, seed, container, kind, spice):
    rng = np.random.default_rng(seed)
    dense = (rng.integers(-2, 4, (n, n)) * (rng.random((n, n)) < 0.7)).astype(kind)
    if dense.dtype.kind == "f" and spice == 1:
        dense[rng.random((n, n)) < 0.2] = np.nan
        dense[rng.random((n, n)) < 0.2] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            given = container(dense)
        except ValueError:
            # A few containers do not hold a matrix without rows.
            assert n == 0
            return
        if sp.issparse(given) and given.format in ("csr", "csc", "coo") and given.dtype.kind == "f" and spice >= 2:
            # Explicit zeros, NaN and infinities, which dense matrices cannot have.
            chosen = rng.random(len(given.data)) < 0.3
            given.data[chosen] = rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf], int(chosen.sum()))
        try:
            theirs = scipys(given)
        except Exception as error:
            # SciPy does not take masked arrays in which nothing is masked.
            with pytest.raises(type(error)):
                minimum_spanning_tree(given)
            return
        assert_same(minimum_spanning_tree(given), theirs)
        assert_same(minimum_spanning_tree(given, overwrite=True), theirs)


@given(st.integers(1, 8), st.integers(0, 2**32))
def test_the_same_where_rows_are_unsorted_and_have_duplicates(n, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, n)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype("i4")
    columns = rng.integers(0, n, counts.sum()).astype("i4")
    data = rng.integers(0, 4, counts.sum()).astype("f8")
    matrix = sp.csr_array((data, columns, offsets), shape=(n, n))
    assert_same(minimum_spanning_tree(matrix), scipys(matrix))


def test_the_same_on_graphs_that_take_all_threads():
    for spec in ("rmat:scale=14", "grid:rows=120,cols=130,weights=uniform:1-9"):
        graph = kostra.generate(spec)
        ends = (graph.src.astype("i4"), graph.dst.astype("i4"))
        matrix = sp.csr_array((graph.weight.astype("f8"), ends), shape=(graph.vertex_count,) * 2)
        before = matrix.copy()
        assert_same(minimum_spanning_tree(matrix), scipys(matrix))
        assert (matrix != before).nnz == 0


def test_the_same_for_arrays_of_pydata():
    sparse = pytest.importorskip("sparse")
    dense = np.random.default_rng(1).integers(0, 4, (9, 9)).astype("f8")
    for array in (sparse.COO.from_numpy(dense), sparse.GCXS.from_numpy(dense)):
        ours, theirs = minimum_spanning_tree(array), scipys(array)
        assert type(ours) is type(theirs) and (ours.todense() == theirs.todense()).all()


@pytest.mark.parametrize("wrong", [np.zeros((2, 3)), np.zeros(3), sp.csr_array((2, 3)), sp.coo_array([1.0, 2.0])])
def test_the_same_errors(wrong):
    with pytest.raises(Exception) as theirs:
        scipys(wrong)
    with pytest.raises(type(theirs.value)):
        minimum_spanning_tree(wrong)


def test_the_forest_loses_nothing():
    data = np.array([0, 2**53 + 1, 2**53, 0], "i8")
    matrix = sp.csr_array((data, [1, 2, 2, 3], [0, 2, 3, 4, 4]), shape=(4, 4))
    forest = minimum_spanning_forest(matrix)
    assert forest.edges.tolist() == [0, 2, 3] and forest.total_weight == 2**53
    tree = forest.to_scipy()
    assert tree.dtype == np.int64 and tree.nnz == 3 and type(tree) is sp.csr_array
    assert tree.data.tolist() == [0, 2**53, 0]
    assert forest.verify() and forest.tree_count == 1
    assert minimum_spanning_forest(matrix, maximum=True).edges.tolist() == [1, 2, 3]
    assert minimum_spanning_forest(sp.csc_matrix(matrix)).to_scipy().toarray().tolist() == tree.toarray().tolist()
    assert minimum_spanning_forest(np.array([[0, 2], [1, 0]])).total_weight == 1
    with pytest.raises(ValueError, match="NaN"):
        minimum_spanning_forest(np.array([[0, np.nan], [0, 0]]))
    with pytest.raises(ValueError, match="square"):
        minimum_spanning_forest(np.zeros((2, 3)))


def test_a_broken_matrix_is_refused():
    matrix = sp.csr_array(np.triu(np.ones((4, 4))))
    matrix.indptr[2] = 1000
    with pytest.raises(ValueError, match="offsets"):
        minimum_spanning_tree(matrix)
    matrix = sp.csr_array(np.triu(np.ones((4, 4))))
    matrix.indices[1] = -3
    with pytest.raises(ValueError, match="vertex"):
        minimum_spanning_tree(matrix)
