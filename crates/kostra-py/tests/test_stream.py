"""Streams: batches and files of any size have the forest that the whole graph has in memory."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kostra


def random_graph(n, m, seed, weights):
    draw = np.random.default_rng(seed)
    src, dst = draw.integers(0, n, m), draw.integers(0, n, m)
    return src.astype(np.uint32), dst.astype(np.uint32), weights(draw, m)


WEIGHTS = {
    "ties": lambda draw, m: draw.integers(0, 4, m).astype(np.uint32),
    "negative": lambda draw, m: draw.integers(-9, 9, m),
    "float": lambda draw, m: draw.random(m, dtype=np.float32),
    "double": lambda draw, m: draw.random(m),
    "none": lambda draw, m: None,
}


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("maximum", [False, True])
def test_batches_have_the_forest_of_the_whole(kind, maximum):
    src, dst, weight = random_graph(500, 20_000, 7, WEIGHTS[kind])
    whole = kostra.minimum_spanning_forest(src, dst, weight, vertices=510, maximum=maximum)
    for cuts in ([], [0, 1, 19_999], list(range(1000, 20_000, 1000))):
        stream = kostra.Stream(vertices=510, maximum=maximum, threads=2)
        for start, end in zip([0, *cuts], [*cuts, 20_000], strict=True):
            stream.push(src[start:end], dst[start:end], None if weight is None else weight[start:end])
        assert stream.edge_count == 20_000
        forest = stream.finish()
        assert forest.edges.tolist() == whole.edges.tolist() and forest.edges.dtype == np.uint64
        assert forest.src.tolist() == whole.src.tolist() and forest.dst.tolist() == whole.dst.tolist()
        assert forest.weight.tolist() == whole.weight.tolist()
        assert forest.labels.tolist() == whole.labels.tolist()
        assert (forest.total_weight, forest.tree_count) == (whole.total_weight, whole.tree_count)
        assert (forest.digest, len(forest), forest.vertex_count) == (whole.digest, len(whole), 510)


def test_tables_and_types_of_all_kinds_are_batches():
    stream = kostra.Stream()
    stream.push(pd.DataFrame({"src": [0, 1], "dst": [1, 2], "weight": [5, 3]}))
    stream.push(pa.table({"u": [2], "v": [0], "w": [4]}))
    stream.push(np.array([2], np.int64), [3], np.array([0.5]))
    forest = stream.finish()
    assert forest.edges.tolist() == [1, 2, 3] and forest.weight.tolist() == [3.0, 4.0, 0.5]
    assert forest.to_pandas().index.tolist() == [1, 2, 3]
    assert pa.table(forest).column("edge").to_pylist() == [1, 2, 3]
    assert repr(forest) == "<kostra.StreamForest: 3 edges of 4 in 1 tree, weight 7.5>"


def test_what_is_wrong_is_said_and_ends_the_stream():
    for batch, error in [
        (([0], [1], [float("nan")]), "the weight of edge 1 is NaN"),
        (([0], [-1], [1.0]), "vertex -1"),
        (([0], [1], None), "weights"),
        (([0], [1, 2], [1.0]), "differ in length"),
        (([0], [1], np.array([2**63], np.uint64)), "do not fit in a stream"),
    ]:
        stream = kostra.Stream()
        stream.push([0], [1], [1.0])
        with pytest.raises(ValueError, match=error):
            stream.push(*batch)
            stream.finish()
    with pytest.raises(ValueError, match="at its end"):
        stream.finish()
    with pytest.raises(ValueError, match="raise it"):
        kostra.Stream(memory=20 << 20).push([0], [50_000_000])
    with pytest.raises(ValueError, match="no such algorithm"):
        kostra.Stream(algorithm="none")


def test_files_and_directories_are_one_graph(tmp_path):
    src, dst, weight = random_graph(300, 9_000, 3, WEIGHTS["ties"])
    table = pa.table({"from_stop": src, "to_stop": dst, "minutes": weight, "name": [str(e) for e in range(9_000)]})
    (tmp_path / "in").mkdir()
    for number, start in enumerate(range(0, 9_000, 2_500)):
        pq.write_table(table[start : start + 2_500], tmp_path / "in" / f"part-{number}.parquet", row_group_size=700)
    (tmp_path / "in" / "_SUCCESS").touch()
    whole = kostra.minimum_spanning_forest(src, dst, weight)
    columns = ("from_stop", "to_stop", "minutes")
    first = kostra.read(tmp_path / "in" / "part-0.parquet", columns=columns)
    assert first.src.tolist() == src[:2_500].tolist() and first.weight.tolist() == weight[:2_500].tolist()
    forest = kostra.minimum_spanning_forest_files(tmp_path / "in", columns=columns, memory=64 << 20)
    assert forest.edges.tolist() == whole.edges.tolist() and forest.digest == whole.digest
    assert forest.verify() and forest.names is None
    files = sorted((tmp_path / "in").glob("*.parquet"))
    maximum = kostra.minimum_spanning_forest_files(files, columns=columns, maximum=True, checkpoint=tmp_path / "saved")
    assert maximum.edges.tolist() == kostra.maximum_spanning_forest(src, dst, weight).edges.tolist()
    assert maximum.verify()
    forest.write(tmp_path / "f.forest")
    lines = [line.split() for line in (tmp_path / "f.forest").read_text().splitlines()]
    assert [int(line[3]) for line in lines] == whole.edges.tolist()
    unit = kostra.minimum_spanning_forest_files(tmp_path / "in", columns=columns[:2])
    assert unit.total_weight == len(unit)


def test_names_of_sparse_ids(tmp_path):
    (tmp_path / "a.csv").write_text("src,dst,weight\nx,y,3\ny,z,1\n")
    (tmp_path / "b.csv").write_text("src,dst,weight\nz,x,2\n")
    forest = kostra.minimum_spanning_forest_files([tmp_path / "a.csv", tmp_path / "b.csv"], ids="sparse")
    assert forest.names == ["x", "y", "z"] and forest.edges.tolist() == [1, 2] and forest.verify()


def test_wrong_files_are_told(tmp_path):
    (tmp_path / "broken.wel").write_text("0 1 2\n0 x 2\n")
    with pytest.raises(ValueError, match=r"broken\.wel:2: "):
        kostra.minimum_spanning_forest_files(tmp_path / "broken.wel")
    with pytest.raises(FileNotFoundError):
        kostra.minimum_spanning_forest_files(tmp_path / "none.wel")
    with pytest.raises(ValueError, match="two or three names"):
        kostra.minimum_spanning_forest_files(tmp_path / "broken.wel", columns=("a",))
    with pytest.raises(ValueError, match="only the forest of files"):
        kostra.Stream().finish().verify()
