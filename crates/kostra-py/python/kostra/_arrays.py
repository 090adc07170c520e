"""Columns of numbers, from wherever they come, as contiguous arrays of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from kostra import _kostra

# Names under which tables keep edges, tried in this order before the order of the columns.
_NAMES = (("src", "dst"), ("source", "target"), ("from", "to"), ("u", "v"))
_WEIGHTS = ("weight", "w", "distance", "length", "cost")


def column(values: Any, what: str) -> np.ndarray:
    """`values` as a contiguous array in the machine's byte order; copied only where they are not."""
    if isinstance(values, np.ndarray):
        array = values
    elif hasattr(values, "__array__") or not hasattr(values, "__dlpack__"):
        array = np.asarray(values)
    else:
        array = np.from_dlpack(values)
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{what}: the array has masked entries; leave them out, they are no edges")
    if array.ndim != 1:
        raise ValueError(f"{what}: one array of one dimension is wanted, not of shape {array.shape}")
    if type(array) is not np.ndarray:
        array = array.view(np.ndarray)
    kind, flags = array.dtype, array.flags
    if not kind.isnative:
        return array.astype(kind.newbyteorder("="))
    if not (flags.c_contiguous and flags.aligned):
        return array.copy()
    return array


def ids(values: Any, what: str) -> np.ndarray:
    """Vertex ids. No ids at all may have any type, as an empty list is an array of floats to NumPy."""
    array = column(values, what)
    return array if len(array) else np.empty(0, np.uint32)


def native(weight: np.ndarray | None) -> np.ndarray | None:
    """Weights of the two types that Rust has not: halves are widened, truth values are bytes."""
    if weight is None or weight.dtype not in (np.float16, np.bool_):
        return weight
    return weight.view(np.uint8) if weight.dtype == np.bool_ else weight.astype(np.float32)


def is_table(values: Any) -> bool:
    """Whether this has columns rather than being one."""
    return not isinstance(values, np.ndarray) and (
        (hasattr(values, "__arrow_c_stream__") and _has_columns(values)) or _is_frame(values)
    )


def edges_of(table: Any, weight: Any) -> tuple[Any, Any, Any]:
    """The columns of a table that hold the ends and the weights of edges.

    By name where the names tell (src, dst and weight, or the like), else by position: the first two, and the one that is
    left of three. `weight` may name the column, or be an array of its own.
    """
    columns = _columns(table)
    names = [name.lower() for name in columns]
    pair = next((pair for pair in _NAMES if set(pair) <= set(names)), None)
    if pair:
        ends = [names.index(name) for name in pair]
    elif len(names) >= 2:
        ends = [0, 1]
    else:
        raise ValueError(f"a table of edges has at least two columns, not {list(columns)}")
    arrays = list(columns.values())
    if isinstance(weight, str):
        if weight not in columns:
            raise ValueError(f"the table has no column {weight!r}; there are {', '.join(columns)}")
        weight = columns[weight]
    elif weight is None:
        at = next((names.index(name) for name in _WEIGHTS if name in names), None)
        if at is None and len(names) == 3:
            (at,) = {0, 1, 2} - set(ends)
        if at is None and len(names) > 3:
            raise ValueError(f"which column holds the weights? weight= names it; there are {', '.join(columns)}")
        weight = None if at is None else arrays[at]
    for array in (arrays[ends[0]], arrays[ends[1]], weight):
        if isinstance(array, str):
            raise ValueError(f"a column of type {array} holds no numbers")
    return arrays[ends[0]], arrays[ends[1]], weight


def _is_frame(values: Any) -> bool:
    return hasattr(values, "columns") and hasattr(values, "iloc")


def _has_columns(values: Any) -> bool:
    return any(hasattr(values, name) for name in ("columns", "column_names", "schema", "get_columns"))


def _columns(table: Any) -> dict[str, Any]:
    if _is_frame(table):
        # pandas has the arrays at hand, and its stream needs pyarrow.
        return {str(name): table.iloc[:, at].to_numpy() for at, name in enumerate(table.columns)}
    return dict(_kostra.columns(table.__arrow_c_stream__()))


def reading(ids: str, columns: Any) -> tuple[bool, tuple[str, str, str | None] | None]:
    """How files are read: whether ids are sparse, and the columns of tables."""
    if ids not in ("dense", "sparse"):
        raise ValueError(f'ids must be "dense" or "sparse", not {ids!r}')
    if columns is None:
        return ids == "sparse", None
    if isinstance(columns, str) or not 2 <= len(columns) <= 3:
        raise ValueError(f"columns must be two or three names, (src, dst) or (src, dst, weight), not {columns!r}")
    return ids == "sparse", (columns[0], columns[1], columns[2] if len(columns) == 3 else None)
