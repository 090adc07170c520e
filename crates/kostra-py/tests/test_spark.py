"""Forests of Spark's DataFrames, in one process and on two executors of their own, killed and run again: the same rows."""

import os
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

import kostra
from oracle import kruskal, random_graph

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.dataset")
pytest.importorskip("pyspark")
if not shutil.which("java", path=os.path.join(os.environ["JAVA_HOME"], "bin") if "JAVA_HOME" in os.environ else None):
    pytest.skip("there is no Java", allow_module_level=True)

from pyspark import TaskContext  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

from kostra.spark import minimum_spanning_forest  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

VERTICES, SRC, DST, WEIGHT = random_graph(21, vertices=200, edges=1500)
FOREST = kruskal(VERTICES, SRC, DST, WEIGHT)


@pytest.fixture(scope="module")
def session():
    """One session at a time, made anew when another master is asked for: there is one Spark a process."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    current = {}

    def on(master):
        if current.get("master") != master:
            if "spark" in current:
                current["spark"].stop()
            settings = {
                "spark.ui.enabled": False,
                "spark.ui.showConsoleProgress": False,
                "spark.sql.shuffle.partitions": 2,
                "spark.executor.memory": "512m",
                # Compiled once and quickly: no job here runs for long.
                "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
                "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            }
            builder = SparkSession.builder.master(master)
            for name, value in settings.items():
                builder = builder.config(name, value)
            current.update(master=master, spark=builder.getOrCreate())
            current["spark"].sparkContext.setLogLevel("OFF")
        return current["spark"]

    yield on
    if "spark" in current:
        current["spark"].stop()


@pytest.fixture
def local(session):
    return session("local[2,4]")


@pytest.fixture
def cluster(session):
    spark = session("local-cluster[2,1,1024]")
    # Both executors and the driver, also after one was lost.
    for _ in range(600):
        if spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() == 3:
            return spark
        time.sleep(0.1)
    raise TimeoutError("two executors do not start within a minute")


def frame(spark, src=SRC, dst=DST, weight=WEIGHT, seed=1, **more):
    """The edges, shuffled, with their ids."""
    columns = {"src": src, "dst": dst, "weight": weight, "edge": np.arange(len(src)), **more}
    lists = [column.tolist() if hasattr(column, "tolist") else column for column in columns.values()]
    rows = list(zip(*lists, strict=True))
    np.random.default_rng(seed).shuffle(rows)
    types = {int: "bigint", float: "double", str: "string"}
    return spark.createDataFrame(rows, ", ".join(f"{n} {types[type(c[0])]}" for n, c in zip(columns, lists, strict=True)))


def ids(forest):
    return sorted(row.edge for row in forest.select("edge").collect())


def shapes():
    """Side by side: a path that rises, a star, a grid of equal weights, a clique, parallel edges and loops, one edge."""
    src, dst, weight, first = [], [], [], 0

    def add(vertices, edges):
        nonlocal first
        for u, v, w in edges:
            src.append(first + u), dst.append(first + v), weight.append(w)
        first += vertices

    add(33, [(v + 1, v, v) for v in range(32)])
    add(30, [(0, v, -v) for v in range(1, 30)])
    add(36, [(v, v + 1, 1) for v in range(36) if v % 6 < 5] + [(v + 6, v, 1) for v in range(30)])
    add(9, [(u, v, 3) for u in range(9) for v in range(u)])
    add(5, [(u % 5, (u * u) % 5, u % 2) for u in range(40)])
    add(2, [(1, 0, 7)])
    return first, np.array(src), np.array(dst), np.array(weight)


@pytest.mark.parametrize("partitions", [1, 3, 7, 64])
def test_any_number_of_partitions(local, partitions):
    forest = minimum_spanning_forest(frame(local).repartition(partitions), id="edge")
    assert ids(forest) == FOREST
    assert forest.rdd.getNumPartitions() == 1


def test_skewed_and_empty_partitions(local):
    edges = frame(local).repartition(5, F.when(F.col("edge") < 1400, 0).otherwise(F.col("edge")))
    assert ids(minimum_spanning_forest(edges, id="edge", fan_in=2)) == FOREST
    empty = edges.where(F.col("edge") < 0)
    forest = minimum_spanning_forest(empty)
    assert forest.collect() == [] and forest.schema == edges.schema
    assert minimum_spanning_forest(empty, max_vertices_in_memory=None).collect() == []


def test_ties_by_ends_and_interchangeable_rows(local):
    for seed, partitions in ((1, 1), (2, 6)):
        edges = frame(local, seed=seed).repartition(partitions)
        rows = [row[:3] for row in minimum_spanning_forest(edges, max_vertices_in_memory=50 * partitions).collect()]
        table = pa.table({"src": SRC, "dst": DST, "weight": WEIGHT})
        assert sorted(rows) == sorted(zip(*kostra.merge(table).to_pydict().values(), strict=True))


def test_all_columns_come_back(local):
    rows = [(1, 2, 0.5, "x", [1], {"k": 1.5}), (2, 1, 0.25, None, None, None), (2, 3, 1.0, "z", [], {})]
    schema = "`a b` int not null, `to` bigint, w float, name string, list array<int>, map map<string, double>"
    edges = local.createDataFrame(rows, schema).withColumn("day", F.lit("2026-11-15").cast("timestamp"))
    for limit in (None, 2):
        forest = minimum_spanning_forest(edges, "a b", "to", "w", max_vertices_in_memory=limit)
        assert forest.schema == edges.schema
        assert sorted(row[:6] for row in forest.collect()) == rows[1:]


@pytest.mark.parametrize("limit, rounds", [(3, 2), (40, 1)])
def test_contraction(local, limit, rounds, caplog):
    vertices, src, dst, weight = shapes()
    caplog.set_level("DEBUG", "kostra")
    edges = frame(local, src, dst, weight).repartition(3)
    forest = minimum_spanning_forest(edges, id="edge", max_vertices_in_memory=limit)
    assert ids(forest) == kruskal(vertices, src, dst, weight)
    assert sum(record.message.startswith("round") for record in caplog.records) >= rounds


def test_contraction_of_names_to_the_maximum(local, caplog, tmp_path):
    caplog.set_level("DEBUG", "kostra")
    local.sparkContext.setCheckpointDir(str(tmp_path))
    src, dst = ([f"v{37 * v % 211}" for v in end.tolist()] for end in (SRC, DST))
    weight = np.where(np.equal(WEIGHT, WEIGHT.min()), np.iinfo("i8").min, WEIGHT)
    edges = frame(local, src, dst, weight).repartition(2)
    forest = minimum_spanning_forest(edges, id="edge", maximum=True, max_vertices_in_memory=20)
    assert ids(forest) == kruskal(VERTICES, SRC, DST, weight, maximum=True)
    assert "round 1" in caplog.text
    # Reliable checkpoints, where there is a place for them.
    assert any(tmp_path.rglob("rdd-*"))


def test_contraction_of_64_bits_with_ends_for_ties(local, caplog):
    caplog.set_level("DEBUG", "kostra")
    src, dst = ((end.astype("i8") - 100) << 54 for end in (SRC, DST))
    edges = frame(local, src, dst, WEIGHT / 4).repartition(4)
    forest = minimum_spanning_forest(edges, max_vertices_in_memory=20)
    wanted = kostra.merge(pa.table({"src": src, "dst": dst, "weight": WEIGHT / 4}))
    assert sorted(row[:3] for row in forest.collect()) == sorted(zip(*wanted.to_pydict().values(), strict=True))
    assert "round 1" in caplog.text


def test_nothing_is_broadcast(local):
    vertices, src, dst, weight = random_graph(5)
    forest = minimum_spanning_forest(frame(local, src, dst, weight).repartition(2), id="edge", max_vertices_in_memory=10)
    assert ids(forest) == kruskal(vertices, src, dst, weight)
    from kostra.spark import _boruvka

    edges = local.range(9).select(F.col("id").alias(_boruvka.U), (F.col("id") + 1).alias(_boruvka.V))
    names = edges.withColumnRenamed(_boruvka.V, _boruvka.PARENT)
    joined = _boruvka.relabel(edges, names, [])
    joined.collect()
    plan = joined._jdf.queryExecution().executedPlan().toString()
    assert "SortMergeJoin" in plan and "Broadcast" not in plan


def test_unit_weights(local):
    assert ids(minimum_spanning_forest(frame(local).drop("weight"), weight=None, id="edge")) == kruskal(VERTICES, SRC, DST)


def test_wrong_values_fail_the_job_by_name(local):
    edges = frame(local)
    null = edges.withColumn("weight", F.when(F.col("edge") != 17, F.col("weight")))
    row = rf"\(src={SRC[17]}, dst={DST[17]}, edge=17\)"
    with pytest.raises(Exception, match=rf"column 'weight' has no value in row \d+ {row}"):
        minimum_spanning_forest(null, id="edge").collect()
    nan = edges.withColumn("weight", F.when(F.col("edge") == 17, float("nan")).otherwise(1.0))
    with pytest.raises(Exception, match=r"column 'weight' is NaN in row \d+ .*edge=17"):
        minimum_spanning_forest(nan, id="edge", max_vertices_in_memory=10).collect()


def test_wrong_columns_fail_before_any_job(local):
    edges = frame(local)
    for text, options in {
        "there is no column 'cost'; there are src, dst, weight, edge": {"weight": "cost"},
        "column 'weight' must hold integers, floats or doubles, not decimal": {"weight": "exact"},
        "column 'real' must hold integers, strings or binary, not double; cast it": {"id": "real"},
        r"columns 'src' \(bigint\) and 'name' \(string\) must both hold integers or both strings": {"dst": "name"},
        "column 'a.b' has a dot in its name, with which Spark calls no Python; rename it": {"id": "a.b"},
        "fan_in must be 2 or more, not 1": {"fan_in": 1},
        "max_vertices_in_memory must be 2 or more, or None, not 1": {"max_vertices_in_memory": 1},
    }.items():
        more = {"exact": "decimal(10,2)", "real": "double", "name": "string", "a.b": "int"}
        named = edges
        for name in set(options.values()) & set(more):
            named = named.withColumn(name, F.col("edge").cast(more[name]))
            text = text.replace("column 'weight' must", f"column '{name}' must") if options.get("weight") == name else text
        with pytest.raises(ValueError, match=text):
            minimum_spanning_forest(named, **options)


def parquet(folder):
    """The edges in a file; its columns have other names."""
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": SRC, "b": DST, "cost": WEIGHT, "edge": np.arange(len(SRC))}), folder / "edges.parquet")
    return ["--src", "a", "--dst", "b", "--id", "edge"]


def test_the_command_submitted(tmp_path):
    options = parquet(tmp_path)
    script = str(pathlib.Path(kostra.__file__).parent / "spark" / "__main__.py")
    submit = [pathlib.Path(sys.executable).parent / "spark-submit", "--driver-java-options", "-XX:TieredStopAtLevel=1"]
    command = [*submit, "--master", "local[2]", script, "edges.parquet", "forest", "--weight", "cost", *options]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(pa.dataset.dataset(tmp_path / "forest").to_table()["edge"].to_pylist()) == FOREST


def test_errors_of_the_command_are_one_line(local, tmp_path, monkeypatch, capsys):
    from kostra.spark import __main__ as command

    monkeypatch.chdir(tmp_path)
    options = parquet(tmp_path)
    edges, taken = str(tmp_path / "edges.parquet"), str(tmp_path / "taken")
    (tmp_path / "taken").mkdir()

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["kostra.spark", *arguments, *options])
        status = command.main()
        return status, capsys.readouterr().err

    def failed(text, *arguments):
        assert run(*arguments) == (1, f"kostra.spark: {text}\n")

    failed("there is no column 'weight'; there are a, b, cost, edge", edges, str(tmp_path / "forest"))
    failed(f"{taken} exists; --overwrite replaces it", edges, taken, "--weight", "cost")
    failed(f"{taken} cannot be both IN and OUT", taken, taken, "--overwrite")
    status, text = run(str(tmp_path / "nowhere"), str(tmp_path / "forest"))
    assert status == 1 and text.count("\n") == 1 and "nowhere" in text
    assert run(edges, taken, "--overwrite", "--unit-weights") == (0, "")
    assert sorted(pa.dataset.dataset(taken).to_table()["edge"].to_pylist()) == kruskal(VERTICES, SRC, DST)
    # What a worker raises is told without its history.
    local.createDataFrame([(1, 2, 3, None)], "a int, b int, edge int, cost int").write.parquet(str(tmp_path / "null"))
    nulls = "column 'cost' has no value in row 0 (a=1, b=2, edge=3)"
    failed(nulls, str(tmp_path / "null"), taken, "--overwrite", "--weight", "cost")


def first_time(folder, name):
    """Whether this is called with this name for the first time, in whatever process."""
    try:
        os.close(os.open(pathlib.Path(folder) / name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def troubled(edges, trouble):
    """The edges, of which partition 5 has its trouble when half of its rows are out."""

    def step(batches):
        for batch in batches:
            yield batch[: len(batch) // 2]
            if TaskContext.get().partitionId() == 5:
                trouble()
            yield batch[len(batch) // 2 :]

    return edges.mapInArrow(step, edges.schema)


def test_two_executors(cluster):
    edges = frame(cluster).repartition(7)
    assert ids(minimum_spanning_forest(edges, id="edge")) == FOREST
    assert edges.mapInArrow(by_value(process_names), "pid bigint").distinct().count() >= 2


def test_a_worker_killed_in_the_middle(cluster, tmp_path):
    folder = str(tmp_path)

    def trouble():
        if first_time(folder, "killed"):
            os.kill(os.getpid(), 9)

    # By value, as the workers cannot import this file.
    edges = troubled(frame(cluster).repartition(7), by_value(trouble))
    assert ids(minimum_spanning_forest(edges, id="edge", max_vertices_in_memory=30)) == FOREST
    assert (tmp_path / "killed").exists()


def test_an_executor_lost_with_what_it_had_done(cluster, tmp_path):
    folder = str(tmp_path)

    def trouble():
        if first_time(folder, "lost"):
            # Others of this executor are done by then; what they wrote is lost with it.
            time.sleep(1)
            daemon = os.getppid()
            with open(f"/proc/{daemon}/stat") as stat:
                os.kill(int(stat.read().rpartition(")")[2].split()[1]), 9)
            time.sleep(60)

    if not os.path.exists("/proc/self/stat"):
        pytest.skip("there is no /proc")
    edges = troubled(frame(cluster).repartition(7), by_value(trouble))
    assert ids(minimum_spanning_forest(edges, id="edge", max_vertices_in_memory=None)) == FOREST
    assert (tmp_path / "lost").exists()


def process_names(batches):
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"pid": [os.getppid()] * min(1, len(batch))})


def by_value(function):
    """So that pickles hold the function itself: executors do not have this file."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    return function
