"""Forests of Dask's DataFrames: any partitions, the same rows."""

import numpy as np
import pytest

import kostra
from oracle import kruskal, random_graph

pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")
pa = pytest.importorskip("pyarrow")

VERTICES, SRC, DST, WEIGHT = random_graph(11, vertices=60, edges=400)


def frame(**changed):
    edges = {"src": SRC, "dst": DST, "weight": WEIGHT, "edge": np.arange(len(SRC)), **changed}
    return pd.DataFrame(edges).sample(frac=1, random_state=1)


def solved(edges, partitions, scheduler="threads", **options):
    forest = kostra.dask.minimum_spanning_forest(dd.from_pandas(edges, npartitions=partitions, sort=False), **options)
    assert forest.npartitions == 1
    return forest.compute(scheduler=scheduler)


@pytest.mark.parametrize("partitions", [1, 3, 7, 64])
@pytest.mark.parametrize("maximum", [False, True])
def test_any_number_of_partitions(partitions, maximum):
    wanted = kruskal(VERTICES, SRC, DST, WEIGHT, maximum)
    assert solved(frame(), partitions, id="edge", maximum=maximum).edge.tolist() == wanted


def test_processes_and_a_narrow_tree():
    wanted = kruskal(VERTICES, SRC, DST, WEIGHT)
    assert solved(frame(), 9, scheduler="processes", id="edge", fan_in=2).edge.tolist() == wanted


def test_rows_keep_index_and_columns():
    edges = frame(day=pd.date_range("2026-01-01", periods=len(SRC)), level=pd.array([None, 1] * (len(SRC) // 2), "Int8"))
    forest = solved(edges, 5, id="edge")
    pd.testing.assert_frame_equal(forest, edges.loc[forest.index])


def test_names_and_ties_by_ends():
    wanted = kostra.merge(pa.Table.from_pandas(frame(), preserve_index=False))
    got = solved(frame(), 7)[["src", "dst", "weight"]].to_numpy().tolist()
    assert got == wanted.select(["src", "dst", "weight"]).to_pandas().to_numpy().tolist()
    names = frame(src=[f"v{v}" for v in SRC], dst=[f"v{v}" for v in DST])
    assert solved(names, 7, id="edge").edge.tolist() == kruskal(VERTICES, SRC, DST, WEIGHT)


def test_empty_partitions_and_no_rows():
    edges = dd.from_pandas(frame(), npartitions=6, sort=False)
    few = edges[edges.edge < 3]
    src, dst, weight = SRC[:3], DST[:3], WEIGHT[:3]
    forest = kostra.dask.minimum_spanning_forest(few, id="edge").compute()
    assert forest.edge.tolist() == kruskal(VERTICES, src, dst, weight)
    none = kostra.dask.minimum_spanning_forest(edges[edges.edge < 0], id="edge").compute()
    assert len(none) == 0 and none.columns.tolist() == ["src", "dst", "weight", "edge"]


def test_unit_weights():
    assert solved(frame(), 4, weight=None, id="edge").edge.tolist() == kruskal(VERTICES, SRC, DST)


def test_errors():
    with pytest.raises(ValueError, match="there is no column 'cost'; there are src, dst, weight, edge"):
        solved(frame(), 2, weight="cost")
    with pytest.raises(ValueError, match="column 'src' must hold integers or texts, not double"):
        solved(frame(src=SRC.astype(float)), 2)
    with pytest.raises(ValueError, match="fan_in must be 2 or more, not 1"):
        solved(frame(), 2, fan_in=1)
    weight = WEIGHT.astype(float)
    weight[17] = np.nan
    row = rf"\(src={SRC[17]}, dst={DST[17]}, edge=17\)"
    with pytest.raises(ValueError, match=rf"column 'weight' has no value in row \d+ {row}"):
        solved(frame(weight=weight), 3, id="edge")
