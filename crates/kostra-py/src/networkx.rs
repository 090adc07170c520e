//! NetworkX graphs, which are dictionaries, as arrays, and forests as what NetworkX makes of them.
//!
//! All of this touches Python's objects, so it is done by one thread with the GIL held; it is what takes the time.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyTuple};

/// Integers up to here are doubles, too.
const EXACT: i64 = 1 << 53;

/// The ends of the edges, their data, and their keys if it is a multigraph.
type Edges<'py> =
    (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyList>, Option<Bound<'py, PyList>>);

/// The edges of an undirected graph in the order of `G.edges`.
///
/// `adjacency` has a dictionary for every node, of neighbours with the edge's data or, in a multigraph, with a dictionary of
/// keys and data. `index` has the node's numbers, in the order of `adjacency`.
#[pyfunction]
pub(crate) fn nx_edges<'py>(
    py: Python<'py>,
    adjacency: &Bound<'py, PyDict>,
    index: &Bound<'py, PyDict>,
    multigraph: bool,
) -> PyResult<Edges<'py>> {
    let (mut src, mut dst) = (Vec::<u32>::new(), Vec::<u32>::new());
    let (datas, keys) = (PyList::empty(py), PyList::empty(py));
    for (u, (_, neighbours)) in (0u32..).zip(adjacency.iter()) {
        for (neighbour, data) in neighbours.cast::<PyDict>()?.iter() {
            let number = index.get_item(neighbour)?.ok_or_else(|| PyTypeError::new_err("a neighbour is not a node"))?;
            let v: u32 = number.extract()?;
            // As NetworkX does: an edge comes with the node that comes first.
            if v < u {
                continue;
            }
            if multigraph {
                for (key, data) in data.cast::<PyDict>()?.iter() {
                    src.push(u);
                    dst.push(v);
                    keys.append(key)?;
                    datas.append(data)?;
                }
            } else {
                src.push(u);
                dst.push(v);
                datas.append(data)?;
            }
        }
    }
    Ok((PyArray1::from_vec(py, src), PyArray1::from_vec(py, dst), datas, multigraph.then_some(keys)))
}

/// The weights of the edges with these data, 1 where there is none: int64 if all are integers, else float64. `None` where
/// neither holds them all exactly.
#[pyfunction]
pub(crate) fn nx_weights<'py>(
    py: Python<'py>,
    datas: &Bound<'py, PyList>,
    weight: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut integers = Vec::with_capacity(datas.len());
    let mut floats = Vec::new();
    for data in datas.iter() {
        let given = data.cast::<PyDict>()?.get_item(weight)?;
        let number = match &given {
            None => Number::Integer(1),
            Some(given) => match number(given) {
                Some(number) => number,
                None => return Ok(None),
            },
        };
        match number {
            Number::Integer(number) if floats.is_empty() => integers.push(number),
            Number::Integer(number) if number.abs() <= EXACT => floats.push(number as f64),
            Number::Float(number) => {
                if floats.is_empty() {
                    if integers.iter().any(|number: &i64| number.unsigned_abs() > EXACT as u64) {
                        return Ok(None);
                    }
                    floats.reserve(datas.len());
                    floats.extend(integers.iter().map(|&number| number as f64));
                }
                floats.push(number);
            }
            Number::Integer(_) => return Ok(None),
        }
    }
    Ok(Some(if floats.is_empty() {
        PyArray1::from_vec(py, integers).into_any()
    } else {
        PyArray1::from_vec(py, floats).into_any()
    }))
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
