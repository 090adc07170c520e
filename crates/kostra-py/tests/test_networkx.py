"""The backend of NetworkX: its own tests, and forests equal to Kruskal's, edge for edge and in its order."""

import os
import random
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import kostra.networkx as backend

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs:UserWarning")


def random_graph(seed, kind=nx.Graph, weights=lambda rng: rng.randrange(5), nodes=30, edges=90):
    rng = random.Random(seed)
    graph = kind(name="a graph")
    names = [rng.choice([i, f"node {i}", (i, i), float(i) + 0.5]) for i in range(nodes)]
    for i, name in enumerate(names):
        graph.add_node(name, size=i)
    for i in range(edges):
        data = {"color": i}
        if rng.random() < 0.9:
            data["weight"] = weights(rng)
        graph.add_edge(rng.choice(names), rng.choice(names), **data)
    return graph


WEIGHTS = {
    "integers": lambda rng: rng.randrange(5),
    "floats": lambda rng: rng.random() - 0.5,
    "mixed": lambda rng: rng.choice([1, 2.5, -3, 0, 0.0]),
    "numpy": lambda rng: rng.choice([np.float64(0.5), np.float32(0.25), np.int64(3), np.uint8(1), True]),
    "huge": lambda rng: rng.choice([2**70, -(2**70), 2**70 + 1]),
    "beyond doubles": lambda rng: rng.choice([2**53 + 1, float(2**53)]),
    "fractions": lambda rng: Fraction(rng.randrange(5), 3),
    "decimals": lambda rng: Decimal(rng.randrange(5)),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
@pytest.mark.parametrize("function", ["minimum_spanning_edges", "maximum_spanning_edges"])
def test_edges_are_kruskals_in_its_order(weights, kind, function):
    for seed in range(5):
        graph = random_graph(seed, kind, WEIGHTS[weights])
        call = getattr(nx, function)
        for options in ({}, {"keys": False}, {"data": False}, {"keys": False, "data": False}, {"weight": "color"}):
            ours = list(call(graph, backend="kostra", **options))
            theirs = list(call(graph, backend="networkx", **options))
            assert ours == theirs, options
        for ours, theirs in zip(call(graph, backend="kostra"), call(graph, backend="networkx"), strict=True):
            assert ours[-1] is theirs[-1]


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
@pytest.mark.parametrize("function", ["minimum_spanning_tree", "maximum_spanning_tree"])
def test_trees_are_equal_to_the_last_attribute(kind, function):
    for seed in range(5):
        graph = random_graph(seed, kind)
        ours = getattr(nx, function)(graph, backend="kostra")
        theirs = getattr(nx, function)(graph, backend="networkx")
        assert type(ours) is kind and ours.graph == theirs.graph
        assert ours._node == theirs._node and ours._adj == theirs._adj
        assert list(ours.edges) == list(theirs.edges) and list(ours) == list(theirs)
        # The tree is the caller's own.
        for data in (ours.graph, *ours._node.values(), *(d for _, _, d in ours.edges(data=True))):
            data["changed"] = True
        assert not any("changed" in d for _, _, d in graph.edges(data=True))
        assert not any("changed" in d for _, d in graph.nodes(data=True)) and "changed" not in graph.graph


@pytest.mark.parametrize("algorithm", ["prim", "boruvka", "borůvka"])
def test_other_algorithms_return_the_canonical_forest(algorithm):
    graph = random_graph(3)
    wanted = list(nx.minimum_spanning_edges(graph, backend="networkx"))
    assert list(nx.minimum_spanning_edges(graph, algorithm, backend="kostra")) == wanted
    assert list(nx.algorithms.tree.mst.prim_mst_edges(graph, True, backend="kostra")) == wanted
    assert list(nx.algorithms.tree.mst.boruvka_mst_edges(graph, backend="kostra")) == wanted
    assert list(nx.algorithms.tree.mst.kruskal_mst_edges(graph, True, backend="kostra")) == wanted


def test_subclasses_and_views():
    class Special(nx.Graph):
        pass

    graph = Special(random_graph(4))
    assert type(nx.minimum_spanning_tree(graph, backend="kostra")) is Special
    for whole in (graph, nx.MultiGraph(graph)):
        view = whole.subgraph(list(whole)[:20])
        ours = list(nx.minimum_spanning_edges(view, backend="kostra"))
        assert ours == list(nx.minimum_spanning_edges(view, backend="networkx"))


@pytest.mark.parametrize("nodes", [[0, 1, 2], [-1, 10**12, 5], ["a", "b", "c"], [True, 2, 0], [1.0, 2.0, 3.0]])
def test_nodes_of_every_kind(nodes):
    a, b, c = nodes
    graph = nx.Graph()
    # The ends of edges need not be the same objects as the nodes.
    graph.add_weighted_edges_from([(a, b, 2), (b, c, 1), (type(a)(a), c, 0)])
    graph.add_edge(float(a) if isinstance(a, int) else a, a, weight=-1)
    ours = list(nx.minimum_spanning_edges(graph, backend="kostra"))
    assert ours == list(nx.minimum_spanning_edges(graph, backend="networkx"))


def test_nan():
    graph = nx.Graph([(0, 1, {"weight": float("nan")}), (1, 2, {"weight": 3}), (0, 2, {"weight": 2})])
    edges = nx.minimum_spanning_edges(graph, backend="kostra")
    with pytest.raises(ValueError, match="NaN found as an edge weight"):
        next(edges)
    assert list(nx.minimum_spanning_edges(graph, data=False, ignore_nan=True, backend="kostra")) == [(0, 2), (1, 2)]
    with pytest.raises(ValueError, match="NaN found"):
        nx.minimum_spanning_tree(graph, backend="kostra")


def test_what_networkx_refuses():
    with pytest.raises(ValueError, match="not a valid choice"):
        nx.minimum_spanning_tree(nx.Graph(), algorithm="other", backend="kostra")
    for function in (nx.minimum_spanning_edges, nx.maximum_spanning_edges):
        with pytest.raises(nx.NetworkXNotImplemented):
            function(nx.DiGraph(), backend="kostra")
        with pytest.raises(nx.NetworkXNotImplemented):
            function(nx.MultiGraph([(0, 1)]), algorithm="boruvka", backend="kostra")
    with pytest.raises((nx.NetworkXNotImplemented, NotImplementedError)):
        nx.minimum_spanning_tree(nx.DiGraph([(0, 1)]), backend="kostra")
    with pytest.raises(TypeError):
        list(nx.minimum_spanning_edges(nx.Graph([(0, 1, {"weight": "heavy"})]), backend="kostra"))


def test_partitions():
    from networkx import EdgePartition

    graph = random_graph(6)
    rng = random.Random(1)
    for _, _, data in graph.edges(data=True):
        data["partition"] = rng.choice(list(EdgePartition))
    for minimum in (True, False):
        ours = nx.partition_spanning_tree(graph, minimum=minimum, backend="kostra")
        assert ours._adj == nx.partition_spanning_tree(graph, minimum=minimum, backend="networkx")._adj


def test_the_conversion_is_cached_and_forgotten_when_the_graph_changes():
    graph = random_graph(7)
    first = list(nx.minimum_spanning_edges(graph, backend="kostra"))
    kept = graph.__networkx_cache__["backends"]["kostra"]
    (converted,) = kept.values()
    assert isinstance(converted, backend.KostraGraph)
    nx.minimum_spanning_tree(graph, backend="kostra")
    a, b, _ = first[0]
    graph.add_edge(a, b, weight=10**6)
    assert list(nx.minimum_spanning_edges(graph, backend="kostra")) != first


def test_a_converted_graph_can_be_passed_and_converted_back():
    for kind in (nx.Graph, nx.MultiGraph):
        graph = random_graph(8, kind)
        converted = backend.convert_from_nx(graph)
        again = backend.convert_to_nx(converted)
        assert again._adj == graph._adj and again._node == graph._node and again.graph == graph.graph
        assert len(converted) == len(graph) and list(converted) == list(graph)
        ours = list(nx.minimum_spanning_edges(converted))
        assert ours == list(nx.minimum_spanning_edges(graph, backend="networkx"))


def test_settings():
    graph = random_graph(9)
    with nx.config.backends.kostra(device="tpu"), pytest.raises(RuntimeError, match="no such device"):
        list(nx.minimum_spanning_edges(graph, backend="kostra"))
    with nx.config.backends.kostra(threads=1):
        assert list(nx.minimum_spanning_edges(graph, backend="kostra"))


def run(code, **environment):
    settings = dict(os.environ, **environment)
    return subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True).stdout


def test_automatic_dispatch():
    code = (
        "import networkx as nx; G = nx.path_graph(5); nx.minimum_spanning_tree(G); list(nx.minimum_spanning_edges(G));"
        "print('kostra' in G.__networkx_cache__.get('backends', {}))"
    )
    warning = {"NETWORKX_WARNINGS_TO_IGNORE": "cache"}
    assert run(code, **warning).strip() == "False"
    assert run(code, NETWORKX_BACKEND_PRIORITY="kostra", **warning).strip() == "True"


def test_importing_networkx_does_not_import_kostra():
    code = "import sys, networkx; print([name for name in sys.modules if name.split('.')[0] == 'kostra'])"
    assert run(code).strip() == "[]"


def test_networkxs_own_tests_pass():
    command = [sys.executable, "-m", "pytest", "-q", "-rxX", "-p", "no:cacheprovider", "--pyargs"]
    settings = dict(os.environ, NETWORKX_TEST_BACKEND="kostra", NETWORKX_FALLBACK_TO_NX="True")
    # Everything that calls a spanning tree, wherever it is.
    modules = ["tree.tests.test_mst", "approximation.tests.test_steinertree"]
    for module in modules:
        done = subprocess.run(
            [*command, f"networkx.algorithms.{module}"], env=settings, capture_output=True, text=True, cwd="/"
        )
        assert done.returncode == 0, done.stdout[-3000:]
        assert "xfailed" not in done.stdout and " passed" in done.stdout
