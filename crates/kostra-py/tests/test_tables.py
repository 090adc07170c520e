"""Arrow tables and DataFrames, wherever they come from."""

import numpy as np
import pytest

import kostra
from oracle import kruskal, random_graph

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

VERTICES, SRC, DST, WEIGHT = random_graph(7, kind="f8")
WANTED = kruskal(VERTICES, SRC, DST, WEIGHT)


def table(src="src", dst="dst", weight="weight"):
    return pa.table({src: SRC, dst: DST, weight: WEIGHT})


def solved(data, **options):
    return kostra.minimum_spanning_forest(data, **options).edges.tolist()


def test_arrow():
    assert solved(table()) == WANTED
    assert solved(table("source", "target", "cost")) == WANTED
    assert solved(table("x", "y", "z")) == WANTED
    assert solved(table("u", "v", "minutes").select(["minutes", "u", "v"])) == WANTED
    assert solved(table("x", "y", "z"), weight="z") == WANTED
    assert solved(table().select(["weight", "dst", "src"])) == WANTED
    assert solved(table().to_reader(max_chunksize=7)) == WANTED
    assert kostra.minimum_spanning_forest(table()["src"], table()["dst"], table()["weight"]).edges.tolist() == WANTED


def test_arrow_is_not_copied():
    graph = kostra.Graph(table())
    assert np.shares_memory(graph.src, graph._native.src)
    whole = table()
    address = whole["src"].chunk(0).buffers()[1].address
    assert kostra.Graph(whole).src.__array_interface__["data"][0] == address


def test_polars():
    pl = pytest.importorskip("polars")
    frame = pl.from_arrow(table())
    assert solved(frame) == WANTED
    assert solved(pl.concat([frame[:50], frame[50:]], rechunk=False)) == WANTED
    assert kostra.minimum_spanning_forest(frame["src"], frame["dst"], frame["weight"]).edges.tolist() == WANTED
    assert pl.DataFrame(kostra.minimum_spanning_forest(frame))["edge"].to_list() == WANTED


def test_pandas():
    frame = pd.DataFrame({"src": SRC, "dst": DST, "weight": WEIGHT})
    assert solved(frame) == WANTED
    assert solved(frame[["src", "dst"]], weight=frame.weight) == WANTED
    assert kostra.minimum_spanning_forest(frame.src, frame.dst, frame.weight).edges.tolist() == WANTED


def test_duckdb():
    duckdb = pytest.importorskip("duckdb")
    edges = table()  # noqa: F841 (duckdb finds it by its name)
    assert solved(duckdb.sql("select src, dst, weight from edges")) == WANTED


def test_results_as_arrow():
    forest = kostra.minimum_spanning_forest(table())
    assert forest.to_arrow().column_names == ["edge", "src", "dst", "weight"]
    assert pa.table(forest)["edge"].to_pylist() == WANTED


def test_wrong_tables():
    with pytest.raises(ValueError, match="at least two columns"):
        solved(pa.table({"src": [1]}))
    with pytest.raises(ValueError, match="no column 'cost'"):
        solved(table(), weight="cost")
    with pytest.raises(ValueError, match="which column holds the weights"):
        solved(table(weight="minutes").append_column("lanes", [SRC]))
    with pytest.raises(ValueError, match="no value in row 1"):
        solved(pa.table({"src": [0, None], "dst": [1, 2]}))
    with pytest.raises(ValueError, match="holds no numbers"):
        solved(pa.table({"src": ["a"], "dst": ["b"]}))
    with pytest.raises(ValueError, match="integers"):
        solved(pa.table({"src": [0.5], "dst": [1.5]}))
