"""The minimum spanning forest of a graph in a DataFrame of Dask.

    from kostra.dask import minimum_spanning_forest

    forest = minimum_spanning_forest(dask.dataframe.read_parquet("edges"), weight="cost", id="edge")

Every partition is reduced to its forest by the native library, and the forests are merged in rounds until one partition is
left, as in `kostra.spark`. Nothing is shuffled: neighbouring partitions are joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kostra._merge import Edges, check, check_names, forest_rows, pyarrow

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["minimum_spanning_forest"]

# Forests that a task merges into one.
FAN_IN = 8


def minimum_spanning_forest(
    edges: DataFrame,
    src: str = "src",
    dst: str = "dst",
    weight: str | None = "weight",
    id: str | None = None,
    *,
    maximum: bool = False,
    fan_in: int = FAN_IN,
) -> DataFrame:
    """The rows of `edges` that are its minimum spanning forest, with all their columns and their index; one partition.

    Lazy. Edges are compared as in `kostra.merge`, so neither the partitions nor the order of rows changes the forest. The
    rows are in the order of `id` and ends. A row with a value missing in one of these columns raises ValueError when the
    forest is computed.

    Parameters
    ----------
    edges : a row an edge.
    src, dst : the columns of the ends: integers or texts.
    weight : the column of weights: integers or floats; None where every edge weighs 1.
    id : a column of integers or texts that settles ties. It should be unique; where ids are equal, the ends decide.
    maximum : find the maximum spanning forest instead; ties still go to the smaller id.
    fan_in : how many partitions' forests a task merges into one. It holds them all in memory.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> roads = pd.DataFrame({"src": ["a", "b", "c"], "dst": ["b", "c", "a"], "weight": [2, 1, 2], "name": [1, 2, 3]})
    >>> kostra.dask.minimum_spanning_forest(dd.from_pandas(roads, npartitions=2)).compute().name.tolist()
    [1, 2]
    """
    pyarrow()
    if fan_in < 2:
        raise ValueError(f"fan_in must be 2 or more, not {fan_in}")
    columns = Edges(src, dst, weight, id, maximum)
    check_names(list(edges.columns), columns)
    check(_table(edges._meta, columns), columns)
    # Rows leave their places, so what is known of the index does not hold any more.
    forests = edges.clear_divisions()
    while True:
        forests = forests.map_partitions(_reduce, columns, meta=edges._meta)
        if forests.npartitions == 1:
            return forests
        forests = forests.repartition(npartitions=-(-forests.npartitions // fan_in))


def _reduce(frame: Any, columns: Edges) -> Any:
    """What a task does. One thread: Dask runs a task a core."""
    table = _table(frame, columns)
    check(table, columns)
    return frame.iloc[forest_rows(table, columns, threads=1)] if len(frame) else frame


def _table(frame: Any, columns: Edges) -> Any:
    """The columns that edges are compared by. The others stay in pandas, whatever they hold."""
    pa = pyarrow()
    return pa.table({name: pa.array(frame[name], from_pandas=True) for name in set(columns.names)})
