"""The minimum spanning forest of a graph in a DataFrame of Spark, for PySpark 3.5 and 4.

    from kostra.spark import minimum_spanning_forest

    forest = minimum_spanning_forest(spark.read.parquet("edges"), weight="cost", id="edge")

Every partition is reduced to its forest by the native library, in the workers' Python processes; the forests are merged in
rounds until one partition is left. Where the vertices are too many for one worker, Borůvka's rounds run as joins and
aggregations until the rest fits. Both compare edges by what they hold, never by where they stand, so neither the
partitions nor the order of rows nor a task that is run again changes the forest.

Every worker needs kostra and pyarrow. `python -m kostra.spark` is the command; `docs/scale.md` tells what it takes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from kostra._merge import Edges, check_names, pyarrow, reduced

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

__all__ = ["minimum_spanning_forest"]

# A task that merges holds twice as many rows as there are vertices; with four columns of numbers it takes 110 to 140 bytes
# a row (docs/scale.md), so 4 to 6 GB.
MAX_VERTICES_IN_MEMORY = 20_000_000

# Forests that a task merges into one.
FAN_IN = 8

# Rows that a task gathers before it reduces them, and rows of the batches that it gives out.
_BUFFER_ROWS = 1 << 20
_BATCH_ROWS = 1 << 16

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_TEXTS = ("string", "binary")
_NUMBERS = (*_INTEGERS, "float", "double", "boolean")

logger = logging.getLogger("kostra")

# What `mapInArrow` calls.
Step = Callable[["Iterator[pa.RecordBatch]"], "Iterator[pa.RecordBatch]"]


def minimum_spanning_forest(
    edges: DataFrame,
    src: str = "src",
    dst: str = "dst",
    weight: str | None = "weight",
    id: str | None = None,
    *,
    maximum: bool = False,
    max_vertices_in_memory: int | None = MAX_VERTICES_IN_MEMORY,
    fan_in: int = FAN_IN,
) -> DataFrame:
    """The rows of `edges` that are its minimum spanning forest, with all their columns.

    Edges are compared by weight, then by `id`, then by their ends: the smaller, the larger, `src`. So without an id only
    rows equal in weight, `src` and `dst` are interchangeable. A row with a value missing in one of these columns, or with
    a weight of NaN, fails the job with a ValueError that names it.

    Parameters
    ----------
    edges : a row an edge. Its partitions are merged as they are; their number and sizes do not change the forest.
    src, dst : the columns of the ends: integers, strings or binary.
    weight : the column of weights: integers, floats or doubles; None where every edge weighs 1.
    id : a column of integers, strings or binary that settles ties. It should be unique; where ids are equal, the ends do.
    maximum : find the maximum spanning forest instead; ties still go to the smaller id.
    max_vertices_in_memory : how many vertices fit the memory of a task. Vertices are counted (within some percent, in a
        pass over the edges) and, where they are more, contracted by Borůvka's rounds until they fit. None: any number
        fits, nothing is counted, and the result is lazy throughout.
    fan_in : how many partitions' forests a task merges into one.

    Notes
    -----
    Nothing is broadcast. Borůvka's rounds run when the function is called and cut their lineage by checkpoints: reliable
    ones where `SparkContext.setCheckpointDir` was called, else local ones, which do not survive the loss of an executor.
    """
    pyarrow()
    if max_vertices_in_memory is not None and max_vertices_in_memory < 2:
        raise ValueError(f"max_vertices_in_memory must be 2 or more, or None, not {max_vertices_in_memory}")
    if fan_in < 2:
        raise ValueError(f"fan_in must be 2 or more, not {fan_in}")
    columns = Edges(src, dst, weight, id, maximum)
    check_types(edges, columns)
    if max_vertices_in_memory is not None:
        ends = labels(edges, columns)
        vertices = count_vertices(edges, *ends)
        logger.debug("about %d vertices, of which %d fit", vertices, max_vertices_in_memory)
        if vertices > max_vertices_in_memory:
            from kostra.spark._boruvka import boruvka

            return boruvka(edges, columns, ends, max_vertices_in_memory, fan_in)
    return merge_tree(edges, columns, fan_in)


def merge_tree(edges: DataFrame, columns: Edges, fan_in: int) -> DataFrame:
    """Reduces every partition to its forest, and merges the forests until one partition is left. Lazy."""
    partitions, exact = _partitions(edges)
    forests = reduce_partitions(edges, columns)
    if partitions == 1 and exact:
        return forests
    while True:
        partitions = -(-partitions // fan_in)
        # By what an edge joins: a task that is run again and happens to choose another of two interchangeable rows sends
        # it to the same place. Rows dealt out by position could be lost or doubled then.
        u, v = (quoted(columns.u or columns.src), quoted(columns.v or columns.dst))
        forests = reduce_partitions(forests.repartition(partitions, u, v), columns)
        if partitions == 1:
            return forests


def reduce_partitions(edges: DataFrame, columns: Edges, flush_rows: int | None = None) -> DataFrame:
    """Every partition's forest; with `flush_rows` its parts' forests, each of few more rows than that."""
    step: Step = partial(_reduce, columns=columns, flush_rows=flush_rows)
    return edges.mapInArrow(step, edges.schema)


def count_vertices(edges: DataFrame, u: Column, v: Column) -> int:
    """The number of vertices, within some percent: one pass, and no more than a few kilobytes from every task."""
    from pyspark.sql import functions as F

    vertices = edges.select(F.explode(F.array(u, v)).alias("vertex"))
    row = vertices.agg(F.approx_count_distinct("vertex")).first()
    return row[0] if row else 0


def labels(edges: DataFrame, columns: Edges) -> tuple[Column, Column]:
    """The ends as vertices of one type, which compare as their bytes do whatever the collation of strings."""
    kinds = dict(edges.dtypes)
    kind = "bigint" if kinds[columns.src] in _INTEGERS else "binary"
    return quoted(columns.src).cast(kind), quoted(columns.dst).cast(kind)


def quoted(name: str) -> Column:
    """The column of exactly that name, blanks and all."""
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")


def check_types(edges: DataFrame, columns: Edges) -> None:
    """Raises before any job runs for columns that are missing or of a wrong type."""
    kinds = dict(edges.dtypes)
    check_names(edges.columns, columns)
    if dotted := next((name for name in edges.columns if "." in name), None):
        raise ValueError(f"column {dotted!r} has a dot in its name, with which Spark calls no Python; rename it")
    if columns.weight is not None and kinds[columns.weight] not in _NUMBERS:
        wrong = f"column {columns.weight!r} must hold integers, floats or doubles"
        raise ValueError(f"{wrong}, not {kinds[columns.weight]}; cast it")
    for name in columns.vertices_and_id:
        # A collation follows the name of the type.
        if kinds[name].split()[0] not in (*_INTEGERS, *_TEXTS):
            raise ValueError(f"column {name!r} must hold integers, strings or binary, not {kinds[name]}; cast it")
    if (kinds[columns.src] in _INTEGERS) != (kinds[columns.dst] in _INTEGERS):
        types = " and ".join(f"{name!r} ({kinds[name]})" for name in (columns.src, columns.dst))
        raise ValueError(f"columns {types} must both hold integers or both strings")


def _reduce(batches: Iterator[pa.RecordBatch], columns: Edges, flush_rows: int | None) -> Iterator[pa.RecordBatch]:
    """What a task does. One thread: Spark counts a core a task."""
    tables = (pyarrow().Table.from_batches([batch]) for batch in batches)
    for forest in reduced(tables, columns, threads=1, buffer_rows=_BUFFER_ROWS, flush_rows=flush_rows):
        yield from forest.to_batches(_BATCH_ROWS)


def _partitions(edges: DataFrame) -> tuple[int, bool]:
    """How many partitions there will be, and whether that is certain. Runs nothing."""
    plan: Any = edges._jdf.queryExecution().executedPlan()
    if plan.getClass().getSimpleName() != "AdaptiveSparkPlanExec":
        return max(1, edges.rdd.getNumPartitions()), True
    # Counting the partitions of an adaptive plan would run its shuffles, and the forest would run them again.
    planned = plan.outputPartitioning().numPartitions()
    return planned or int(edges.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1), False
