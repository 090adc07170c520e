"""The merge operator: any cut, any order, any type, the same rows."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kostra
from kostra import _merge
from oracle import ID_TYPES, WEIGHT_TYPES, graphs, kruskal, random_graph

pa = pytest.importorskip("pyarrow")

TEXTS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.binary(3),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
]


def table_of(src, dst, weight, **more):
    if weight.dtype == np.float16:
        weight = pa.array(weight, pa.float16())
    return pa.table({"src": src, "dst": dst, "weight": weight, "edge": np.arange(len(src)), **more})


def ids(table):
    return table["edge"].to_pylist()


def named(vertices, kind):
    """Texts that are not in the order of the numbers."""
    names = [f"{37 * int(v) % 101:03}" for v in vertices]
    if pa.types.is_dictionary(kind):
        return pa.array(names).dictionary_encode().cast(kind)
    is_text = kind in (pa.string(), pa.large_string(), pa.string_view())
    return pa.array(names if is_text else [name.encode() for name in names], kind)


def cut(table, places):
    """The table in pieces, some of them empty."""
    places = sorted(min(place, len(table)) for place in places)
    return [table[a:b] for a, b in zip([0, *places], [*places, len(table)], strict=True)]


def by_ends(table, maximum=False):
    """What Kruskal chooses where ends settle ties, as lists of values."""
    rows = list(zip(*(table[name].to_pylist() for name in ("src", "dst", "weight")), strict=True))
    rows = sorted(rows, key=lambda row: (min(row[:2]), max(row[:2]), row[0]))
    numbers = {vertex: number for number, vertex in enumerate({end for row in rows for end in row[:2]})}
    src, dst = ([numbers[row[end]] for row in rows] for end in (0, 1))
    return [rows[e] for e in kruskal(len(numbers), src, dst, [row[2] for row in rows], maximum)]


def values(table):
    return list(zip(*(table[name].to_pylist() for name in ("src", "dst", "weight")), strict=True))


@given(graphs(), st.lists(st.integers(0, 36), max_size=4), st.randoms(use_true_random=False), st.booleans())
def test_any_cut_in_any_order_by_id(graph, places, random, maximum):
    vertices, src, dst, weight = graph
    wanted = kruskal(vertices, src, dst, weight, maximum)
    order = list(range(len(src)))
    random.shuffle(order)
    table = table_of(src, dst, weight).take(pa.array(order, pa.int64()))
    options = {"id": "edge", "maximum": maximum}
    assert ids(kostra.merge(table, **options)) == wanted
    parts = [kostra.merge(part, **options) for part in cut(table, places)]
    assert ids(kostra.merge(parts, **options)) == wanted
    assert ids(kostra.merge(cut(table, places), buffer_rows=3, **options)) == wanted


@given(graphs(), st.lists(st.integers(0, 36), max_size=4), st.randoms(use_true_random=False), st.booleans())
def test_any_cut_in_any_order_by_ends(graph, places, random, maximum):
    _, src, dst, weight = graph
    table = table_of(src, dst, weight)
    wanted = by_ends(table, maximum)
    order = list(range(len(src)))
    random.shuffle(order)
    table = table.take(pa.array(order, pa.int64()))
    assert values(kostra.merge(table, maximum=maximum)) == wanted
    parts = [kostra.merge(part, maximum=maximum) for part in cut(table, places)]
    assert values(kostra.merge(parts, maximum=maximum)) == wanted


@pytest.mark.parametrize("kind", ID_TYPES)
def test_integers_of_every_width_as_vertices_and_ids(kind):
    vertices, src, dst, weight = random_graph(1)
    edges = np.arange(len(src)).astype("u1" if kind == "i1" else kind)
    table = table_of(src.astype(kind), dst.astype(kind), weight, id=edges)
    assert ids(kostra.merge(table, id="id")) == kruskal(vertices, src, dst, weight)


@pytest.mark.parametrize("far", [0, 2**40, 2**63 - 50, -(2**63)])
def test_vertices_of_64_bits(far):
    vertices, src, dst, weight = random_graph(2)
    spread = [far + v if v % 2 else v for v in range(vertices)]
    ends = [pa.array([spread[v] for v in end], pa.int64()) for end in (src, dst)]
    table = table_of(*ends, weight)
    assert ids(kostra.merge(table, id="edge")) == kruskal(vertices, src, dst, weight)
    assert values(kostra.merge(table)) == by_ends(table)


def test_two_types_of_integers():
    vertices, src, dst, weight = random_graph(2)
    wanted = kruskal(vertices, src, dst, weight)
    assert ids(kostra.merge(table_of(src.astype("i2"), dst.astype("u8"), weight), id="edge")) == wanted
    low = table_of(np.array([-(2**62), -5]), np.array([-5, -(2**40)]), np.array([2, 1]))
    assert ids(kostra.merge(low)) == [0, 1]
    high = table_of(pa.array([1, 2], pa.uint64()), pa.array([2**64 - 1, 1], pa.uint64()), np.array([1, 1]))
    assert ids(kostra.merge(high)) == [1, 0]
    with pytest.raises(ValueError, match=r"from -1 to 18446744073709551615 are of no type"):
        kostra.merge(high.set_column(0, "src", pa.array([-1, 1])))


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_texts_as_vertices_and_ids(kind):
    vertices, src, dst, weight = random_graph(3)
    table = table_of(named(src, kind), named(dst, kind), weight)
    forest = kostra.merge(table, id="edge")
    assert ids(forest) == kruskal(vertices, src, dst, weight)
    assert forest.schema == table.schema
    assert values(kostra.merge(table)) == by_ends(table)
    texts = table.append_column("name", named(np.arange(len(src)) % 101, kind))[:101]
    order = sorted(range(101), key=lambda e: texts["name"][e].as_py())
    chosen = kruskal(vertices, src[order], dst[order], weight[order])
    assert ids(kostra.merge(texts, id="name")) == [order[e] for e in chosen]


@pytest.mark.parametrize("kind", WEIGHT_TYPES)
def test_weights_of_every_type(kind):
    vertices, src, dst, weight = random_graph(4, kind=kind)
    for maximum in (False, True):
        forest = kostra.merge(table_of(src, dst, weight), id="edge", maximum=maximum)
        assert ids(forest) == kruskal(vertices, src, dst, weight, maximum)


def test_weights_are_exact():
    for kind in ("i8", "u8"):
        top = np.iinfo(kind).max
        table = table_of([0, 0], [1, 1], np.array([top, top - 1], kind))
        assert ids(kostra.merge(table)) == [1]
        assert ids(kostra.merge(table, maximum=True)) == [0]
    zeros = table_of([0, 0, 0], [1, 1, 1], np.array([0.0, -0.0, np.inf]))
    assert ids(kostra.merge(zeros, id="edge")) == [0]
    assert ids(kostra.merge(zeros.take([1, 0, 2]), id="edge")) == [0]


def test_without_weights():
    vertices, src, dst, _ = random_graph(5)
    table = pa.table({"src": src, "dst": dst, "edge": np.arange(len(src))})
    assert ids(kostra.merge(table, weight=None, id="edge")) == kruskal(vertices, src, dst)


def test_all_columns_are_kept():
    more = pa.table({"a": ["x", "y", None], "b": [2, 0, 1], "c": [[1], None, []], "d": [{"k": 1}, None, {"k": 3}]})
    table = more.append_column("other", pa.array([0, 1, 2])).replace_schema_metadata({"made": "here"})
    forest = kostra.merge(table, src="b", dst="other", weight=None)
    assert forest.schema.equals(table.schema, check_metadata=True)
    assert forest.to_pylist() == [table.to_pylist()[row] for row in (1, 0)]


def test_equal_ids_leave_it_to_the_ends():
    table = table_of([2, 0, 1, 1], [0, 1, 2, 2], np.ones(4), id=[7, 7, 7, 7])
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]):
        assert values(kostra.merge(table.take(order), id="id")) == [(0, 1, 1.0), (2, 0, 1.0)]
    arcs = table_of([1, 0], [0, 1], np.ones(2), id=[7, 7])
    assert values(kostra.merge(arcs, id="id")) == values(kostra.merge(arcs.take([1, 0]), id="id")) == [(0, 1, 1.0)]


def test_whatever_batches_come_in():
    vertices, src, dst, weight = random_graph(6)
    wanted = kruskal(vertices, src, dst, weight)
    table = table_of(src, dst, weight)
    batches = table.to_batches(max_chunksize=7)
    mixed = [table[:9], *table[9:].to_batches()]
    for given_as in (table, batches, iter(batches), table.to_reader(max_chunksize=11), mixed):
        assert ids(kostra.merge(given_as, id="edge")) == wanted
    assert ids(kostra.merge(table.to_batches()[0], id="edge")) == wanted
    polars = pytest.importorskip("polars")
    assert ids(kostra.merge(polars.from_arrow(table), id="edge")) == wanted
    duckdb = pytest.importorskip("duckdb")
    assert ids(kostra.merge(duckdb.from_arrow(table), id="edge")) == wanted


def test_nothing():
    empty = table_of([], [], np.empty(0)).cast(table_of([0], [0], np.ones(1)).schema)
    assert kostra.merge(empty).equals(empty)
    assert kostra.merge(empty.to_reader()).equals(empty)
    assert kostra.merge([empty, empty]).equals(empty)
    loops = table_of([1, 2], [1, 2], np.ones(2))
    assert kostra.merge(loops).num_rows == 0 and kostra.merge(loops).schema == loops.schema
    with pytest.raises(ValueError, match="there are no batches"):
        kostra.merge([])


@pytest.mark.parametrize("threads", [1, 2])
def test_as_on_one_machine(threads):
    graph = kostra.generate("rmat:scale=14,weights=uniform:1-50")
    wanted = graph.minimum_spanning_forest().edges.tolist()
    order = np.random.default_rng(1).permutation(graph.edge_count)
    table = pa.table({"src": graph.src, "dst": graph.dst, "weight": graph.weight, "edge": np.arange(graph.edge_count)})
    table = table.take(order)
    assert ids(kostra.merge(table, id="edge", threads=threads)) == wanted
    # The edges are in the order of their ends.
    assert ids(kostra.merge(table, threads=threads)) == wanted
    assert ids(kostra.merge(table.to_batches(max_chunksize=997), id="edge", threads=threads, buffer_rows=5000)) == wanted


def test_memory_is_bounded_by_flushing():
    graph = kostra.generate("grid:rows=40,cols=50")
    edges = _merge.Edges("src", "dst", "weight", "edge")
    table = pa.table({"src": graph.src, "dst": graph.dst, "weight": graph.weight, "edge": np.arange(graph.edge_count)})
    pieces = [table[at : at + 100] for at in range(0, len(table), 100)]
    flushed = list(_merge.reduced(pieces, edges, threads=1, buffer_rows=100, flush_rows=300))
    assert len(flushed) > 3 and all(len(forest) <= 700 for forest in flushed)
    assert ids(kostra.merge(flushed, id="edge")) == graph.minimum_spanning_forest().edges.tolist()


def test_text_that_fits_no_single_array(monkeypatch):
    column = pa.chunked_array([["a", "bb", None], ["dddd", "e"]])
    monkeypatch.setattr(_merge, "_TEXT_BYTES", 12)
    taken = _merge._taken(column, pa.array([4, 3, 2, 1]))
    assert taken.to_pylist() == ["e", "dddd", None, "bb"] and taken.num_chunks > 1 and taken.type == pa.string()


def test_errors_name_column_and_row():
    def fails(text, table, **options):
        with pytest.raises(ValueError) as error:
            kostra.merge(table, **options)
        assert str(error.value) == text

    def rows(**changed):
        return pa.table({"src": ["a", "b"], "dst": ["c", "d"], "weight": [1.5, 2.5], "id": [8, 9], **changed})

    fails("column 'weight' is NaN in row 1 (src='b', dst='d')", rows(weight=[1.0, float("nan")]))
    fails("column 'weight' is NaN in row 1 (src='b', dst='d', id=9)", rows(weight=[1.0, float("nan")]), id="id")
    fails("column 'weight' has no value in row 0 (src='a', dst='c')", rows(weight=[None, 1.0]))
    fails("column 'weight' has no value in row 0 (src='a', dst='c')", rows(weight=[None, None]))
    fails("column 'dst' has no value in row 1 (src='b', dst=None)", rows(dst=["a", None]))
    fails("column 'id' has no value in row 1 (src='b', dst='d', id=None)", rows(id=[1, None]), id="id")
    fails("column 'weight' has no value in row 3 (src='b', dst='d')", [rows(), rows(weight=[1.0, None])])
    hidden = pa.DictionaryArray.from_arrays([0, 1], pa.array(["a", None]))
    fails("column 'src' has no value in row 1 (src=None, dst='d')", rows(src=hidden))
    halves = pa.array(np.array([1, np.nan], np.float16))
    fails("column 'weight' is NaN in row 1 (src='b', dst='d')", rows(weight=halves))
    fails("there is no column 'cost'; there are src, dst, weight, id", rows(), weight="cost")
    twice = pa.Table.from_arrays([pa.array([1])] * 3, names=["src", "src", "dst"])
    fails("there are several columns 'src'; there are src, src, dst", twice, weight=None)
    fails("column 'weight' must hold integers or floats, not string", rows(weight=["1", "2"]))
    fails("column 'src' must hold integers or texts, not double", rows(src=[1.0, 2.0]))
    fails("column 'weight' must hold integers or texts, not double", rows(), dst="weight")
    fails("columns 'src' (int64) and 'dst' (string) must both hold integers or both texts", rows(src=[1, 2]))
    fails("all batches must have the columns of the first; those of row 2 differ", [rows(), rows(id=["8", "9"])])
    fails("batches are tables or record batches of Arrow, not int", [7])
    fails("batches of Arrow are wanted, or a table, not int", 7)
    fails("buffer_rows must be 1 or more, not 0", rows(), buffer_rows=0)


def test_without_pyarrow_the_error_says_what_to_install():
    code = "import sys; sys.modules['pyarrow'] = None; import kostra; kostra.merge([])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip().endswith("ImportError: merging needs pyarrow: pip install pyarrow")
