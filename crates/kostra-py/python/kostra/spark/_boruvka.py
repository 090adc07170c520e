"""Borůvka's rounds as joins and aggregations, for graphs whose vertices are too many for one worker.

A round finds the lightest edge of every vertex, follows these edges to the smallest vertex of a pair that chose each other,
and gives all vertices that end there its name. Every tree of chosen edges has at least two vertices, so a round at least
halves them. The edges keep their rows: `src` and `dst` settle ties to the end, the columns U and V say what they join now.
The rows are cut down between rounds by the native library, partition by partition.

The cost of a round: the edges are shuffled three times (lightest edges, names of U, names of V), the vertices twice and as
often as pointers are doubled: the logarithm of the longest path of chosen edges.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kostra._merge import Edges
from kostra.spark import count_vertices, logger, merge_tree, quoted, reduce_partitions

if TYPE_CHECKING:
    from pyspark.sql import Column

# Columns beside the caller's: the vertices that an edge joins now; where a vertex points, and where that one points.
U, V, PARENT, GRANDPARENT = "__kostra_u", "__kostra_v", "__kostra_parent", "__kostra_grandparent"

# No join broadcasts: what is joined grows with the graph.
_SORTED = "merge"


def boruvka(edges: DataFrame, columns: Edges, ends: tuple[Column, Column], limit: int, fan_in: int) -> DataFrame:
    """The forest of `edges`, whose vertices are `ends`: contracted until no more than `limit` are left, then merged."""
    rest = reduce_partitions(edges, columns, limit).withColumn(U, ends[0]).withColumn(V, ends[1])
    rest = checkpoint(rest.where(F.col(U) != F.col(V)))
    contracted = replace(columns, u=U, v=V)
    chosen: list[DataFrame] = []
    while (vertices := count_vertices(rest, F.col(U), F.col(V))) > limit:
        picks = hook(lightest_edges(rest, columns))
        chosen.append(picks.where(F.col(U) != F.col(PARENT)).select(*map(quoted, edges.columns)))
        names = name_trees(picks.select(U, PARENT))
        rest = checkpoint(reduce_partitions(relabel(rest, names, edges.columns), contracted, limit))
        logger.debug("round %d: about %d vertices", len(chosen), vertices)
    last = merge_tree(rest, contracted, fan_in).select(*map(quoted, edges.columns))
    forest = reduce(DataFrame.union, chosen, last)
    # Aggregations forget which columns have all their values.
    return forest if forest.schema == edges.schema else forest.mapInArrow(lambda batches: batches, edges.schema)


def lightest_edges(edges: DataFrame, columns: Edges) -> DataFrame:
    """The first edge of every vertex U in the order of the law, with the other end V and its row."""
    rows = [quoted(name) for name in edges.columns if name not in (U, V)]
    arcs = edges.select(U, V, *rows).union(edges.select(V, U, *rows))
    picked = F.min_by(F.struct(F.col(V), *rows), F.struct(*order(edges, columns)))
    return checkpoint(arcs.groupBy(U).agg(picked.alias("pick")).select(U, "pick.*"))


def order(edges: DataFrame, columns: Edges) -> list[Column]:
    """What edges are compared by, first to last: the order of `kostra.merge`."""
    keys = []
    kinds = dict(edges.dtypes)
    if columns.weight is not None:
        weight = quoted(columns.weight)
        if kinds[columns.weight] in ("float", "double"):
            # A zero has one sign.
            keys.append((-weight if columns.maximum else weight) + F.lit(0.0))
        else:
            weight = weight.cast("bigint")
            # Not the negative, which the smallest integer has not.
            keys.append(F.bitwise_not(weight) if columns.maximum else weight)
    if columns.id is not None:
        keys.append(_bytes(quoted(columns.id), kinds[columns.id]))
    src, dst = (_bytes(quoted(name), kinds[name]) for name in (columns.src, columns.dst))
    return [key.alias(f"key{at}") for at, key in enumerate([*keys, F.least(src, dst), F.greatest(src, dst), src])]


def hook(lightest: DataFrame) -> DataFrame:
    """Points every vertex two lightest edges on; of two that chose each other, both to the smaller.

    Longer cycles cannot be: along one, every edge would have to be smaller than the last.
    """
    others = lightest.select(F.col(U).alias(PARENT), F.col(V).alias(GRANDPARENT))
    joined = lightest.withColumnRenamed(V, PARENT).join(others.hint(_SORTED), PARENT)
    chose_each_other = F.col(GRANDPARENT) == F.col(U)
    parent = F.when(chose_each_other, F.least(U, PARENT)).otherwise(F.col(GRANDPARENT))
    return checkpoint(joined.withColumn(PARENT, parent).drop(GRANDPARENT))


def name_trees(names: DataFrame) -> DataFrame:
    """Lets every vertex U point to the root of its tree, doubling the pointers until none moves."""
    while True:
        others = names.select(F.col(U).alias(PARENT), F.col(PARENT).alias(GRANDPARENT))
        jumped = checkpoint(names.join(others.hint(_SORTED), PARENT).select(U, PARENT, GRANDPARENT))
        names = jumped.select(U, F.col(GRANDPARENT).alias(PARENT))
        if jumped.where(F.col(PARENT) != F.col(GRANDPARENT)).isEmpty():
            return names


def relabel(edges: DataFrame, names: DataFrame, columns: list[str]) -> DataFrame:
    """The edges between trees, with the trees' names for U and V."""
    rows = [quoted(name) for name in columns]
    for end, other in ((U, V), (V, U)):
        new = names.select(F.col(U).alias(end), F.col(PARENT))
        joined = edges.join(new.hint(_SORTED), end)
        edges = joined.select(*rows, F.col(PARENT).alias(end), other)
    return edges.where(F.col(U) != F.col(V))


def checkpoint(frame: DataFrame) -> DataFrame:
    """The same rows, computed now, and their history forgotten: plans would double from round to round."""
    context = frame.sparkSession.sparkContext
    if context._jsc.sc().getCheckpointDir().isDefined():
        return frame.checkpoint()
    return frame.localCheckpoint()


def _bytes(column: Column, kind: str) -> Column:
    """Strings compare by their bytes, whatever their collation, and integers by their value."""
    return column.cast("binary") if kind.split()[0] in ("string", "binary") else column.cast("bigint")
