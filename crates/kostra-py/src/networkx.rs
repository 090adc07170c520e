//! NetworkX graphs, which are dictionaries, as arrays, and forests as what NetworkX makes of them.
//!
//! All of this touches Python's objects, so it is done by one thread with the GIL held; it is what takes the time.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use pyo3::{Borrowed, intern};

/// Integers up to here are doubles, too.
const EXACT: u64 = 1 << 53;

/// The ends of the edges, their data, their keys if it is a multigraph, and their weights if an array holds them.
type Edges<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyList>,
    Option<Bound<'py, PyList>>,
    Option<Bound<'py, PyAny>>,
);

/// Keeps Python's garbage collector from running while many objects are made: each of its runs looks at all there are.
struct WithoutCollector(bool);

impl WithoutCollector {
    #[allow(unsafe_code)]
    fn new(_: Python<'_>) -> Self {
        // SAFETY: the interpreter is attached to this thread.
        Self(unsafe { pyo3::ffi::PyGC_Disable() } == 1)
    }
}

impl Drop for WithoutCollector {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if self.0 {
            // SAFETY: it lives in functions that hold the GIL from their beginning to their end.
            unsafe { pyo3::ffi::PyGC_Enable() };
        }
    }
}

/// The edges of an undirected graph in the order of `G.edges`.
///
/// `adjacency` has a dictionary for every node, of neighbours with the edge's data or, in a multigraph, with a dictionary of
/// keys and data. `index` has the node's numbers, in the order of `adjacency`. `weight` is the name that weights probably have:
/// they are read on the way, while the data are in the cache.
#[pyfunction]
pub(crate) fn nx_edges<'py>(
    py: Python<'py>,
    adjacency: &Bound<'py, PyDict>,
    index: &Bound<'py, PyDict>,
    multigraph: bool,
    weight: &Bound<'py, PyAny>,
) -> PyResult<Edges<'py>> {
    let _quiet = WithoutCollector::new(py);
    let mut weights = Numbers::default();
    let (mut src, mut dst) = (Vec::<u32>::new(), Vec::<u32>::new());
    let (datas, keys) = (PyList::empty(py), PyList::empty(py));
    let plain = index.keys().iter().all(|node| node.is_exact_instance_of::<PyInt>() || is_text(&node));
    let numbers = Numbering::new(index);
    for (u, (_, neighbours)) in (0u32..).zip(adjacency.iter()) {
        for_each(neighbours.cast::<PyDict>()?, plain, |neighbour, data| {
            let v = numbers.of(neighbour)?;
            // As NetworkX does: an edge comes with the node that comes first.
            if v < u {
                return Ok(());
            }
            if !multigraph {
                src.push(u);
                dst.push(v);
                weights.add(&data, weight)?;
                return datas.append(data);
            }
            for (key, data) in data.cast::<PyDict>()?.iter() {
                src.push(u);
                dst.push(v);
                weights.add(&data, weight)?;
                keys.append(key)?;
                datas.append(data)?;
            }
            Ok(())
        })?;
    }
    let ends = (PyArray1::from_vec(py, src), PyArray1::from_vec(py, dst));
    Ok((ends.0, ends.1, datas, multigraph.then_some(keys), weights.into_array(py)))
}

/// From nodes to their numbers.
enum Numbering<'a, 'py> {
    /// Nodes that are small integers: the number of each. Python's dictionary takes several times as long, as it must look
    /// at an object in memory for every node that it compares.
    Table(Vec<u32>),
    Index(&'a Bound<'py, PyDict>),
}

impl<'a, 'py> Numbering<'a, 'py> {
    fn new(index: &'a Bound<'py, PyDict>) -> Self {
        let limit = 8 * index.len() + 1024;
        let mut table = Vec::new();
        for (number, (node, _)) in (0..).zip(index.iter()) {
            match node.cast_exact::<PyInt>().ok().and_then(|node| node.extract::<usize>().ok()) {
                Some(node) if node < limit => {
                    table.resize(table.len().max(node + 1), u32::MAX);
                    table[node] = number;
                }
                _ => return Self::Index(index),
            }
        }
        Self::Table(table)
    }

    fn of(&self, node: Borrowed<'_, 'py, PyAny>) -> PyResult<u32> {
        let found = match self {
            Self::Table(table) => match node.extract::<usize>() {
                Ok(node) => table.get(node).copied(),
                // To Python, 1.0 is the node 1.
                Err(_) => node.extract::<f64>().ok().and_then(|node| table.get(node as usize).copied()),
            },
            Self::Index(index) => index.get_item(node)?.map(|number| number.extract()).transpose()?,
        };
        found.filter(|&number| number != u32::MAX).ok_or_else(|| PyTypeError::new_err("a neighbour is not a node"))
    }
}

fn is_text(node: &Bound<'_, PyAny>) -> bool {
    node.is_exact_instance_of::<PyString>()
}

/// Calls `visit` with every key and value of a dictionary.
///
/// Half of the edges are seen for the second time and dropped without a look at their data. A reference to these would
/// fetch them from memory, which takes longer than all else. So none is taken where the keys are `plain`, integers or strings:
/// comparing those runs no code that could change the dictionary.
#[allow(unsafe_code)]
fn for_each<'py>(
    dict: &Bound<'py, PyDict>,
    plain: bool,
    mut visit: impl FnMut(Borrowed<'_, 'py, PyAny>, Borrowed<'_, 'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let py = dict.py();
    let (mut at, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the dictionary is one, and is kept by the caller; the pointers are to living variables.
    while unsafe { pyo3::ffi::PyDict_Next(dict.as_ptr(), &mut at, &mut key, &mut value) } != 0 {
        // SAFETY: the dictionary keeps key and value while nothing changes it, which only the keys' own code could.
        let (key, value) = unsafe { (Borrowed::from_ptr(py, key), Borrowed::from_ptr(py, value)) };
        let _kept = (!plain).then(|| (key.to_owned(), value.to_owned()));
        visit(key, value)?;
    }
    Ok(())
}

/// The weights of the edges with these data, 1 where there is none: int64 if all are integers, else float64. `None` where
/// neither holds them all exactly.
#[pyfunction]
pub(crate) fn nx_weights<'py>(
    py: Python<'py>,
    datas: &Bound<'py, PyList>,
    weight: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut weights = Numbers::default();
    for data in datas.iter() {
        weights.add(&data, weight)?;
    }
    Ok(weights.into_array(py))
}

/// Numbers that are collected: integers until the first float comes, then floats.
#[derive(Default)]
struct Numbers {
    integers: Vec<i64>,
    floats: Vec<f64>,
    /// Whether one came that neither holds exactly.
    failed: bool,
}

impl Numbers {
    /// The weight of that name among an edge's data.
    fn add(&mut self, data: &Bound<'_, PyAny>, weight: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.failed {
            return Ok(());
        }
        let given = data.cast::<PyDict>()?.get_item(weight)?;
        let number = given.as_ref().map_or(Some(Number::Integer(1)), number);
        match number {
            Some(Number::Integer(number)) if self.floats.is_empty() => self.integers.push(number),
            Some(Number::Integer(number)) if is_exact(number) => self.floats.push(number as f64),
            Some(Number::Float(number)) => {
                if !self.integers.is_empty() {
                    self.failed = !self.integers.iter().all(|&number| is_exact(number));
                    self.floats.extend(self.integers.drain(..).map(|number| number as f64));
                }
                self.floats.push(number);
            }
            _ => self.failed = true,
        }
        Ok(())
    }

    fn into_array(self, py: Python<'_>) -> Option<Bound<'_, PyAny>> {
        match self {
            Self { failed: true, .. } => None,
            Self { integers, floats, .. } if floats.is_empty() => Some(PyArray1::from_vec(py, integers).into_any()),
            Self { floats, .. } => Some(PyArray1::from_vec(py, floats).into_any()),
        }
    }
}

/// Whether a double holds the integer.
fn is_exact(number: i64) -> bool {
    number.unsigned_abs() <= EXACT
}

enum Number {
    Integer(i64),
    Float(f64),
}

/// A number of Python or NumPy; none where it is no number or an integer of more than 64 bits.
fn number(given: &Bound<'_, PyAny>) -> Option<Number> {
    let py = given.py();
    if let Ok(float) = given.cast::<PyFloat>() {
        return Some(Number::Float(float.value()));
    }
    if given.is_instance_of::<PyInt>() || given.is_instance_of::<PyBool>() {
        return given.extract().ok().map(Number::Integer);
    }
    // NumPy's scalars; its long doubles are not floats.
    let kind = given.getattr(intern!(py, "dtype")).ok()?;
    match kind.getattr(intern!(py, "char")).ok()?.extract::<char>().ok()? {
        'e' | 'f' => given.extract().ok().map(Number::Float),
        'b' | 'B' | 'h' | 'H' | 'i' | 'I' | 'l' | 'L' | 'q' | 'Q' | '?' => {
            given.call_method0(intern!(py, "item")).ok()?.extract().ok().map(Number::Integer)
        }
        _ => None,
    }
}

/// A forest's edges in Kruskal's order: by weight, ties by id.
#[pyfunction]
pub(crate) fn nx_order<'py>(
    py: Python<'py>,
    edges: PyReadonlyArray1<'py, u32>,
    weights: &Bound<'py, PyAny>,
    maximum: bool,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let mut order = edges.as_slice()?.to_vec();
    // The sorts are stable, and the edges come in the order of their ids.
    if let Ok(weights) = weights.extract::<PyReadonlyArray1<'_, i64>>() {
        let weights = weights.as_slice()?;
        py.detach(|| match maximum {
            true => order.sort_by_key(|&e| !weights[e as usize]),
            false => order.sort_by_key(|&e| weights[e as usize]),
        });
    } else {
        let weights = weights.extract::<PyReadonlyArray1<'_, f64>>()?;
        let weights = weights.as_slice()?;
        let order_of = |a: u32, b: u32| {
            let ordering = weights[a as usize].partial_cmp(&weights[b as usize]).unwrap_or(std::cmp::Ordering::Equal);
            if maximum { ordering.reverse() } else { ordering }
        };
        py.detach(|| order.sort_by(|&a, &b| order_of(a, b)));
    }
    Ok(PyArray1::from_vec(py, order))
}

/// What NetworkX's functions yield for these edges: ends, key, data, the last two if they are given.
#[pyfunction]
#[pyo3(signature = (nodes, src, dst, edges, keys=None, datas=None))]
pub(crate) fn nx_tuples<'py>(
    py: Python<'py>,
    nodes: &Bound<'py, PyList>,
    src: PyReadonlyArray1<'py, u32>,
    dst: PyReadonlyArray1<'py, u32>,
    edges: PyReadonlyArray1<'py, u32>,
    keys: Option<&Bound<'py, PyList>>,
    datas: Option<&Bound<'py, PyList>>,
) -> PyResult<Bound<'py, PyList>> {
    let _quiet = WithoutCollector::new(py);
    let (src, dst) = (src.as_slice()?, dst.as_slice()?);
    let tuples = PyList::empty(py);
    for &e in edges.as_slice()? {
        let e = e as usize;
        let (Some(&u), Some(&v)) = (src.get(e), dst.get(e)) else { return Err(PyIndexError::new_err(e)) };
        let (u, v) = (nodes.get_item(u as usize)?, nodes.get_item(v as usize)?);
        let tuple = match (keys, datas) {
            (None, None) => PyTuple::new(py, [u, v])?,
            (None, Some(datas)) => PyTuple::new(py, [u, v, datas.get_item(e)?])?,
            (Some(keys), None) => PyTuple::new(py, [u, v, keys.get_item(e)?])?,
            (Some(keys), Some(datas)) => PyTuple::new(py, [u, v, keys.get_item(e)?, datas.get_item(e)?])?,
        };
        tuples.append(tuple)?;
    }
    Ok(tuples)
}

/// The adjacency of a graph of these edges, with copies of their data, as NetworkX keeps it.
#[pyfunction]
#[pyo3(signature = (nodes, src, dst, edges, datas, keys=None))]
pub(crate) fn nx_adjacency<'py>(
    py: Python<'py>,
    nodes: &Bound<'py, PyList>,
    src: PyReadonlyArray1<'py, u32>,
    dst: PyReadonlyArray1<'py, u32>,
    edges: PyReadonlyArray1<'py, u32>,
    datas: &Bound<'py, PyList>,
    keys: Option<&Bound<'py, PyList>>,
) -> PyResult<Bound<'py, PyDict>> {
    let _quiet = WithoutCollector::new(py);
    let (src, dst) = (src.as_slice()?, dst.as_slice()?);
    let adjacency = PyDict::new(py);
    let mut rows = Vec::with_capacity(nodes.len());
    for node in nodes.iter() {
        let row = PyDict::new(py);
        adjacency.set_item(node, &row)?;
        rows.push(row);
    }
    for &e in edges.as_slice()? {
        let e = e as usize;
        let (Some(&u), Some(&v)) = (src.get(e), dst.get(e)) else { return Err(PyIndexError::new_err(e)) };
        let data = datas.get_item(e)?.cast::<PyDict>()?.copy()?;
        let data = match keys {
            None => data,
            Some(keys) => {
                let by_key = PyDict::new(py);
                by_key.set_item(keys.get_item(e)?, data)?;
                by_key
            }
        };
        rows[u as usize].set_item(nodes.get_item(v as usize)?, &data)?;
        rows[v as usize].set_item(nodes.get_item(u as usize)?, &data)?;
    }
    Ok(adjacency)
}
