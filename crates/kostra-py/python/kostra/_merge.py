"""The merge operator: batches of edges in, the rows of their forest out, for engines that cut a graph anywhere.

The forest of a union is the forest of the union of the forests, so rows may be merged in any grouping. For that to give the
same rows, edges must be compared by what they hold and never by where they stand. The native solver prefers, among equal
weights, the edge that comes first: so rows are brought into the order of their ties, and the solver does the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kostra import _arrays, _kostra

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

# Rows that are gathered before they are reduced. More cost memory, fewer cost time: a forest of n edges is merged with at
# least n new rows at once, so this matters only while forests are smaller.
BUFFER_ROWS = 1 << 22

# Ids of integers that span no more than this many times the rows are used as they are, less the smallest.
_DENSE = 2

# Bytes of text that one array of Arrow's small text types can hold.
_TEXT_BYTES = (1 << 31) - 1


def merge(
    batches: Any,
    *,
    src: str = "src",
    dst: str = "dst",
    weight: str | None = "weight",
    id: str | None = None,
    maximum: bool = False,
    threads: int | None = None,
    buffer_rows: int = BUFFER_ROWS,
) -> pa.Table:
    """The rows of the minimum spanning forest of edges in Arrow batches, with all their columns.

    `merge([merge(a), merge(b)])` is `merge([a, b])`: rows may come in any order and be merged in any grouping. Edges are
    compared by weight, then by `id`, then by their ends: the smaller, the larger, `src`. So without an id only rows equal
    in weight, `src` and `dst` are interchangeable. The result is in the order of `id` and ends.

    Parameters
    ----------
    batches : a table or record batch of pyarrow, anything with `__arrow_c_stream__` (Polars, DuckDB, a reader of Parquet),
        or an iterable of such. Iterables and streams are reduced as they come: never much more than the forest and
        `buffer_rows` rows, or twice the forest, are in memory.
    src, dst : the columns of the ends: integers, texts or bytes, dictionaries of them, too.
    weight : the column of weights: integers or floats, compared exactly; None where every edge weighs 1.
    id : a column of integers, texts or bytes that settles ties. It should be unique; where ids are equal, the ends decide.
    maximum : find the maximum spanning forest instead; ties still go to the smaller id.
    threads : how many; by default one per core.
    buffer_rows : how many rows of a stream are gathered before they are reduced.

    Raises
    ------
    ValueError for a column that is missing or of a wrong type, and, with the row, for NaN and values that are missing;
    ImportError without pyarrow.

    Examples
    --------
    >>> import pyarrow as pa
    >>> roads = pa.table({"src": ["a", "b", "c"], "dst": ["b", "c", "a"], "weight": [2, 1, 2], "name": ["A1", "B2", "C3"]})
    >>> kostra.merge(roads).to_pylist()
    [{'src': 'a', 'dst': 'b', 'weight': 2, 'name': 'A1'}, {'src': 'b', 'dst': 'c', 'weight': 1, 'name': 'B2'}]
    >>> parts = [roads[:1], roads[1:2], roads[2:]]
    >>> kostra.merge(map(kostra.merge, parts)) == kostra.merge(roads)
    True
    """
    if buffer_rows < 1:
        raise ValueError(f"buffer_rows must be 1 or more, not {buffer_rows}")
    edges = Edges(src, dst, weight, id, maximum)
    forests = list(reduced(_tables(batches), edges, threads=threads, buffer_rows=buffer_rows))
    if not forests:
        raise ValueError("there are no batches, so the columns are not known; give an empty table instead")
    return forests[0]


@dataclass(frozen=True)
class Edges:
    """Which columns hold the edges, and which forest is wanted."""

    src: str
    dst: str
    weight: str | None
    id: str | None
    maximum: bool = False
    # The columns of the vertices that edges join, where a graph was contracted: `src` and `dst` are then only for ties.
    u: str | None = None
    v: str | None = None

    @property
    def vertices_and_id(self) -> list[str]:
        return [name for name in (self.src, self.dst, self.id, self.u, self.v) if name is not None]

    @property
    def names(self) -> list[str]:
        return [*self.vertices_and_id, *([] if self.weight is None else [self.weight])]


def reduced(
    tables: Iterable[pa.Table],
    edges: Edges,
    *,
    threads: int | None,
    buffer_rows: int = BUFFER_ROWS,
    flush_rows: int | None = None,
) -> Iterator[pa.Table]:
    """The forest of the tables, reduced as they come; nothing where there are none.

    With `flush_rows`, a forest of more rows than that is given out and a new one begun: memory stays bounded, and the
    forests together still hold the forest of the whole.
    """
    forest: pa.Table | None = None
    waiting: list[pa.Table] = []
    schema = None
    rows = seen = 0
    for table in tables:
        schema = schema or table.schema
        if not table.schema.equals(schema):
            raise ValueError(f"all batches must have the columns of the first; those of row {seen} differ")
        check(table, edges, seen)
        waiting.append(table)
        rows, seen = rows + table.num_rows, seen + table.num_rows
        if rows >= max(buffer_rows, forest.num_rows if forest is not None else 0):
            forest, waiting, rows = _forest(forest, waiting, edges, threads), [], 0
            if flush_rows is not None and forest.num_rows > flush_rows:
                yield forest
                forest = None
    if waiting:
        forest = _forest(forest, waiting, edges, threads)
    if forest is not None:
        yield forest


def forest_rows(table: pa.Table, edges: Edges, threads: int | None = None) -> NDArray[Any]:
    """The positions of the forest's rows, in the order of ties. The table has been checked."""
    src, dst = _ranks(table, edges.src, edges.dst)
    id = None if edges.id is None else _keys(table, edges.id)
    order = _kostra.tie_order(src, dst, id, threads)
    u, v = (src, dst) if edges.u is None or edges.v is None else _ranks(table, edges.u, edges.v)
    weight = None if edges.weight is None else _arrays.native(_numbers(_plain(table, edges.weight)))
    if order is not None:
        u, v, weight = u[order], v[order], None if weight is None else weight[order]
    # Not on a GPU: an engine runs one worker a core, and they would take turns there.
    chosen = _kostra.Graph(u, v, weight, None, threads).solve("auto", "cpu", edges.maximum, threads).edges
    return chosen if order is None else order[chosen]


def check(table: pa.Table, edges: Edges, seen: int = 0) -> None:
    """Raises for what no forest can be found of; `seen` rows came before the table's."""
    pa = pyarrow()
    import pyarrow.compute as pc

    check_names(table.column_names, edges)
    types = pa.types
    for name in edges.vertices_and_id:
        column = _plain(table, name)
        _check_type(name, column, types.is_integer(column.type) or _is_text(column.type), "integers or texts")
        _check_values(table, name, column.is_null(), "has no value", edges, seen)
    if edges.weight is not None:
        column = _plain(table, edges.weight)
        is_number = types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)
        _check_type(edges.weight, column, is_number, "integers or floats")
        _check_values(table, edges.weight, column.is_null(), "has no value", edges, seen)
        if types.is_floating(column.type):
            # Halves have no kernels.
            column = column if not types.is_float16(column.type) else column.cast(pa.float32())
            _check_values(table, edges.weight, pc.is_nan(column), "is NaN", edges, seen)
    if table.num_rows and _is_text(_plain(table, edges.src).type) != _is_text(_plain(table, edges.dst).type):
        types = " and ".join(f"{name!r} ({table.schema.field(name).type})" for name in (edges.src, edges.dst))
        raise ValueError(f"columns {types} must both hold integers or both texts")


def _check_type(name: str, column: pa.ChunkedArray, fits: bool, wanted: str) -> None:
    # A column without any value has a type of its own.
    if not fits and not pyarrow().types.is_null(column.type):
        raise ValueError(f"column {name!r} must hold {wanted}, not {column.type}")


def _check_values(table: pa.Table, name: str, wrong: pa.ChunkedArray, what: str, edges: Edges, seen: int) -> None:
    row = wrong.index(True).as_py()
    if row >= 0:
        raise ValueError(f"column {name!r} {what} in row {_row(table, edges, row, seen)}")


def check_names(columns: list[str], edges: Edges) -> None:
    """Raises where a table of these columns has not each that is wanted, or has it twice."""
    for name in edges.names:
        found = columns.count(name)
        if found != 1:
            wrong = "there is no column" if not found else "there are several columns"
            raise ValueError(f"{wrong} {name!r}; there are {', '.join(columns)}")


def pyarrow() -> Any:
    """The package, or an error that says what to install."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("merging needs pyarrow: pip install pyarrow") from error
    return pyarrow


def _row(table: pa.Table, edges: Edges, row: int, seen: int) -> str:
    """A row by its number and by what tells which it is, as rows of a cluster have no numbers that a person knows."""
    names = [name for name in (edges.src, edges.dst, edges.id) if name is not None]
    known = (f"{name}={_plain(table, name)[row].as_py()!r}" for name in names)
    return f"{seen + row} ({', '.join(known)})"


def _tables(batches: Any) -> Iterator[pa.Table]:
    """The batches, whatever they come in."""
    pa = pyarrow()
    if isinstance(batches, pa.Table):
        yield batches
    elif isinstance(batches, pa.RecordBatch):
        yield pa.Table.from_batches([batches])
    elif hasattr(batches, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(batches)
        # So that columns are known where there are no batches.
        yield reader.schema.empty_table()
        for batch in reader:
            yield pa.Table.from_batches([batch])
    elif isinstance(batches, Iterable) and not isinstance(batches, (str, bytes, dict)):
        for batch in batches:
            if not hasattr(batch, "__arrow_c_stream__") and not isinstance(batch, (pa.Table, pa.RecordBatch)):
                raise ValueError(f"batches are tables or record batches of Arrow, not {type(batch).__name__}")
            yield from _tables(batch)
    else:
        raise ValueError(f"batches of Arrow are wanted, or a table, not {type(batches).__name__}")


def _forest(forest: pa.Table | None, waiting: list[pa.Table], edges: Edges, threads: int | None) -> pa.Table:
    """One table of the forest of these tables."""
    pa = pyarrow()
    # One piece a column, where it can be: thousands of small ones are slow to look into.
    table = pa.concat_tables([*([] if forest is None else [forest]), *waiting]).combine_chunks()
    if not table.num_rows:
        return table
    rows = pa.array(forest_rows(table, edges, threads))
    return pa.Table.from_arrays([_taken(column, rows) for column in table.columns], schema=table.schema)


def _taken(column: pa.ChunkedArray, rows: pa.Array) -> pa.ChunkedArray:
    """These rows of a column."""
    pa = pyarrow()
    text, data = pa.large_string(), pa.large_binary()
    views = {pa.string_view(): text, pa.binary_view(): data}
    wide = {pa.string(): text, pa.binary(): data, **views}.get(column.type)
    if wide is None or (column.num_chunks <= 1 and column.type not in views):
        return column.take(rows)
    # More text than one array of its type holds, or of a type that Arrow cannot take rows of: taken in the type that holds
    # it, and cut into pieces that fit.
    pieces = column.cast(wide).take(rows).combine_chunks()
    return pa.chunked_array(_narrowed(pieces, column.type), column.type)


def _narrowed(array: pa.Array, kind: pa.DataType) -> list[pa.Array]:
    if array.nbytes <= _TEXT_BYTES or len(array) < 2:
        return [array.cast(kind)]
    half = len(array) // 2
    return [*_narrowed(array[:half], kind), *_narrowed(array[half:], kind)]


def _plain(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column, its dictionary looked up."""
    column = table.column(name)
    return column.cast(column.type.value_type) if pyarrow().types.is_dictionary(column.type) else column


def _is_text(kind: pa.DataType) -> bool:
    types = pyarrow().types
    of_text = (types.is_string, types.is_large_string, types.is_string_view)
    of_bytes = (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)
    return any(is_kind(kind) for is_kind in (*of_text, *of_bytes))


def _numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    """A column of numbers as one array."""
    pa = pyarrow()
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    return column.to_numpy()


def _keys(table: pa.Table, name: str) -> NDArray[np.uint64]:
    """Numbers that compare as the values of the column do."""
    column = _plain(table, name)
    if _is_text(column.type):
        return _text_ranks([column])[0].astype(np.uint64)
    values = _numbers(column)
    if values.dtype.kind == "u":
        return values.astype(np.uint64)
    return values.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63)


def _ranks(table: pa.Table, one: str, other: str) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The vertices of two columns as numbers from 0 that compare as the vertices do."""
    columns = [_plain(table, name) for name in (one, other)]
    src, dst = _text_ranks(columns) if _is_text(columns[0].type) else _number_ranks(columns)
    return src, dst


def _number_ranks(columns: list[pa.ChunkedArray]) -> list[NDArray[np.uint32]]:
    arrays = [_numbers(column) for column in columns]
    low, high = min(int(array.min()) for array in arrays), max(int(array.max()) for array in arrays)
    rows = len(arrays[0])
    if low < 0 and high >= 1 << 63:
        raise ValueError(f"vertices from {low} to {high} are of no type that holds them all")
    kind = np.uint64 if high >= 1 << 63 else np.int64
    arrays = [array.astype(kind, copy=False) for array in arrays]
    if high - low <= _DENSE * rows:
        return [(array - kind(low)).astype(np.uint32) for array in arrays]
    codes, names = _encoded([pyarrow().array(array) for array in arrays])
    return _in_order(codes, np.argsort(names.to_numpy()), rows)


def _text_ranks(columns: list[pa.ChunkedArray]) -> list[NDArray[np.uint32]]:
    pa = pyarrow()
    import pyarrow.compute as pc

    rows = len(columns[0])
    # By bytes, whatever the type: texts, views and bytes compare alike.
    wide = [column.cast(pa.large_string()) if _is_view(column.type) else column for column in columns]
    wide = [column.cast(pa.large_binary()) for column in wide]
    codes, names = _encoded([chunk for column in wide for chunk in column.chunks])
    return _in_order(codes, pc.sort_indices(names).to_numpy(), rows)


def _is_view(kind: pa.DataType) -> bool:
    return pyarrow().types.is_string_view(kind)


def _encoded(pieces: list[pa.Array]) -> tuple[NDArray[Any], pa.Array]:
    """The number of every value, by first appearance, and the values by number."""
    encoded = pyarrow().chunked_array(pieces).dictionary_encode().unify_dictionaries()
    return np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks]), encoded.chunk(0).dictionary


def _in_order(codes: NDArray[Any], order: NDArray[Any], rows: int) -> list[NDArray[np.uint32]]:
    """Codes as ranks, cut into arrays of that many rows."""
    ranks = np.empty(len(order), np.uint32)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    coded = ranks[codes]
    return [coded[at : at + rows] for at in range(0, len(coded), rows)]
