"""The package itself: what importing loads, types, documentation, the program beside it."""

import doctest
import importlib
import importlib.metadata
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import kostra

ROOT = pathlib.Path(__file__).resolve().parents[3]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def python(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def test_versions_agree():
    assert kostra.__version__ == importlib.metadata.version("kostra")


def test_importing_loads_numpy_and_nothing_else():
    code = (
        "import sys, numpy; before = set(sys.modules); import kostra;"
        "new = {name.split('.')[0] for name in set(sys.modules) - before}; print(sorted(new - sys.stdlib_module_names))"
    )
    assert python("-c", code) == "['kostra']"


def test_lazy_modules():
    code = "import sys, kostra; kostra.csgraph.minimum_spanning_tree; print('scipy' in sys.modules); kostra.cluster.linkage"
    assert python("-c", code) == "True"
    assert {"csgraph", "dask", "spark"} <= set(dir(kostra))
    with pytest.raises(AttributeError, match="nothing"):
        kostra.nothing  # noqa: B018


@pytest.mark.parametrize(
    "name", ["", "._forest", "._graph", "._arrays", "._merge", ".csgraph", ".cluster", ".dask", ".networkx"]
)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"kostra{name}")
    failed, tried = doctest.testmod(module, extraglobs={"kostra": kostra}, optionflags=FLAGS)
    assert not failed and (tried or name == "._arrays")


def test_the_tour():
    tour = ROOT / "docs" / "python.md"
    failed, tried = doctest.testfile(str(tour), module_relative=False, optionflags=FLAGS)
    assert not failed and tried > 20


def test_stubs():
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "kostra._kostra", "--ignore-disjoint-bases"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_types():
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "-p", "kostra"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "crates" / "kostra-py" / "python")
    assert done.returncode == 0, done.stdout


def test_the_typed_marker_is_installed():
    assert (pathlib.Path(kostra.__file__).parent / "py.typed").exists()


def program():
    given = os.environ.get("KOSTRA_PROGRAM") or shutil.which("kostra")
    if not given:
        pytest.skip("the program kostra is not there; KOSTRA_PROGRAM names it")
    return given


@pytest.mark.parametrize("spec", ["rmat:scale=12", "grid:rows=40,cols=50,weights=uniform:1-3", "web:n=3000,weights=double"])
def test_the_program_finds_the_same_forest(spec, tmp_path):
    forest = kostra.generate(spec).minimum_spanning_forest()
    shown = json.loads(subprocess.check_output([program(), "solve", spec, "--json"], text=True))
    assert shown["forest"]["digest"] == forest.digest
    assert shown["forest"]["trees"] == forest.tree_count
    assert shown["forest"]["weight"] == pytest.approx(forest.total_weight, rel=0, abs=0)
    kostra.generate(spec).write(tmp_path / "graph.kostra")
    forest.write(tmp_path / "graph.forest")
    subprocess.run([program(), "verify", tmp_path / "graph.kostra", tmp_path / "graph.forest"], check=True)


def test_igraph_finds_the_same_weight():
    igraph = pytest.importorskip("igraph")
    graph = kostra.generate("rmat:scale=12,weights=double")
    forest = graph.minimum_spanning_forest()
    theirs = igraph.Graph(graph.vertex_count, np.c_[graph.src, graph.dst].tolist())
    edges = theirs.spanning_tree(weights=graph.weight.tolist(), return_tree=False)
    assert sorted(edges) == forest.edges.tolist()
