"""Single linkage, against SciPy's."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from scipy.cluster.hierarchy import linkage as scipys
from scipy.spatial.distance import pdist, squareform

import kostra
from kostra.cluster import SingleLinkage, forest_of, linkage


@pytest.mark.parametrize("dimensions", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("n", [2, 3, 50, 700])
def test_linkage_is_scipys_where_distances_differ(dimensions, n):
    points = np.random.default_rng(n + dimensions).random((n, dimensions))
    theirs = scipys(points, "single")
    np.testing.assert_allclose(linkage(points), theirs, rtol=1e-12)
    np.testing.assert_allclose(linkage(pdist(points)), theirs, rtol=1e-12)
    np.testing.assert_allclose(linkage(squareform(pdist(points)), "precomputed"), theirs, rtol=1e-12)
    np.testing.assert_allclose(linkage(sp.csr_array(np.triu(squareform(pdist(points))))), theirs, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:The symmetric non-negative hollow")
@given(st.integers(2, 60), st.integers(1, 3), st.integers(1, 6), st.integers(0, 2**32))
def test_heights_and_clusters_are_scipys_under_ties(n, dimensions, values, seed):
    points = np.random.default_rng(seed).integers(0, values, (n, dimensions)).astype(float)
    ours, theirs = linkage(points), scipys(points, "single")
    assert is_valid_linkage(ours)
    np.testing.assert_allclose(ours[:, 2], theirs[:, 2], rtol=1e-12)
    for threshold in {0.5, *np.unique(theirs[:, 2]).tolist()}:
        model = SingleLinkage(distance_threshold=threshold + 0.1).fit(points)
        assert same_partition(model.labels_, fcluster(theirs, threshold + 0.1, "distance"))


def same_partition(a, b):
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b.tolist()))


def test_far_clusters_and_lines():
    rng = np.random.default_rng(3)
    blobs = np.concatenate([rng.normal(centre, 0.1, (200, 2)) for centre in ((0, 0), (1e6, 0), (0, 1e9))])
    np.testing.assert_allclose(linkage(blobs)[:, 2], scipys(blobs, "single")[:, 2], rtol=1e-9)
    assert sorted(np.bincount(SingleLinkage(3).fit_predict(blobs))) == [200, 200, 200]
    line = np.c_[np.arange(300.0) ** 2, np.zeros(300)]
    np.testing.assert_allclose(linkage(line), scipys(line, "single"), rtol=1e-12)


def test_edge_lists_and_forests():
    edges = ([0, 1, 3], [1, 2, 4], [1, 5, 2.0])
    wanted = [[0, 1, 1, 2], [3, 4, 2, 2], [2, 5, 5, 3], [6, 7, np.inf, 5]]
    assert linkage(edges).tolist() == wanted
    assert linkage(kostra.Graph(*edges)).tolist() == wanted
    assert linkage(kostra.minimum_spanning_forest(*edges)).tolist() == wanted
    assert linkage(([], [], []), vertices=3).tolist() == [[0, 1, np.inf, 2], [2, 3, np.inf, 3]]
    assert is_valid_linkage(linkage(edges, vertices=9))
    assert forest_of(edges).edges.tolist() == [0, 1, 2]


def test_the_estimator():
    points = np.random.default_rng(1).random((100, 2))
    model = SingleLinkage(n_clusters=7).fit(points)
    assert model.n_clusters_ == 7 and model.n_leaves_ == 100 and model.n_connected_components_ == 1
    assert model.children_.shape == (99, 2) and model.distances_.shape == (99,) and model.n_features_in_ == 2
    assert same_partition(model.labels_, fcluster(model.linkage_, 7, "maxclust"))
    first_seen = [model.labels_.tolist().index(label) for label in range(7)]
    assert first_seen == sorted(first_seen)
    threshold = float(model.distances_[-7:][0])
    assert SingleLinkage(distance_threshold=threshold).fit(points).n_clusters_ == 8
    assert SingleLinkage(100).fit_predict(points).tolist() == list(range(100))
    assert not SingleLinkage(1).fit_predict(points).any()
    assert repr(model) == "SingleLinkage(n_clusters=7)"
    assert model.set_params(n_clusters=2).get_params()["n_clusters"] == 2
    # Components are never joined.
    assert SingleLinkage(1).fit(([0, 2], [1, 3], [1, 1])).n_clusters_ == 2


def test_as_scikit_learn():
    sklearn = pytest.importorskip("sklearn.cluster")
    points = np.random.default_rng(2).random((80, 3))
    theirs = sklearn.AgglomerativeClustering(5, linkage="single").fit(points)
    assert same_partition(SingleLinkage(5).fit(points).labels_, theirs.labels_)


@pytest.mark.parametrize(
    "data, options, text",
    [
        ([[0.0], [np.nan]], {}, "coordinate of point 1"),
        ([[0.0, 1.0], [np.inf, 1.0]], {}, "coordinate of point 1"),
        (np.zeros((2, 2, 2)), {}, "two dimensions"),
        (np.zeros((2, 0)), {}, "at least one coordinate"),
        (np.zeros((2, 3)), {"metric": "precomputed"}, "square"),
        ([[0.0]], {"metric": "cosine"}, "metric must be"),
        (np.zeros(4), {}, "4 distances are not those of all pairs"),
    ],
)
def test_errors(data, options, text):
    with pytest.raises(ValueError, match=text):
        linkage(data, **options)


def test_wrong_parameters():
    for model in (SingleLinkage(), SingleLinkage(2, distance_threshold=1), SingleLinkage(0), SingleLinkage(9)):
        with pytest.raises(ValueError):
            model.fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match="no parameter"):
        SingleLinkage(2).set_params(linkage="ward")
