//! Sparse matrices in compressed rows as edge lists, and forests as such matrices.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::work::work;

/// Rows that a thread expands at a time.
const ROWS: usize = 1 << 12;

/// The offsets of rows, of either type that SciPy uses.
#[derive(FromPyObject)]
pub(crate) enum Offsets<'py> {
    Narrow(PyReadonlyArray1<'py, i32>),
    Wide(PyReadonlyArray1<'py, i64>),
}

impl Offsets<'_> {
    fn to_vec(&self) -> PyResult<Vec<usize>> {
        let wrong = || PyValueError::new_err("the row offsets of the matrix must start at 0 and never fall");
        let offsets: Vec<usize> = match self {
            Offsets::Narrow(offsets) => offsets.as_array().iter().map(|&offset| offset as usize).collect(),
            Offsets::Wide(offsets) => offsets.as_array().iter().map(|&offset| offset as usize).collect(),
        };
        if offsets.first() != Some(&0) || !offsets.is_sorted() {
            return Err(wrong());
        }
        Ok(offsets)
    }
}

/// The row of every entry of a matrix in compressed rows.
#[pyfunction]
pub(crate) fn expand_rows<'py>(
    py: Python<'py>,
    offsets: Offsets<'py>,
    entries: usize,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let offsets = offsets.to_vec()?;
    if offsets.last() != Some(&entries) {
        return Err(PyValueError::new_err("the last row offset of the matrix must be the number of its entries"));
    }
    let rows = work(py, None, None, move |_| {
        let mut rows = vec![0u32; entries];
        let mut rest = &mut rows[..];
        let mut parts = Vec::new();
        for (number, bounds) in offsets.windows(2).collect::<Vec<_>>().chunks(ROWS).enumerate() {
            let length = bounds[bounds.len() - 1][1] - bounds[0][0];
            let (part, others) = std::mem::take(&mut rest).split_at_mut(length);
            parts.push((number * ROWS, bounds.iter().map(|row| row[1] - row[0]).collect::<Vec<_>>(), part));
            rest = others;
        }
        parts.into_par_iter().for_each(|(first, lengths, mut part)| {
            for (row, length) in (first..).zip(lengths) {
                let (entries, others) = std::mem::take(&mut part).split_at_mut(length);
                entries.fill(row as u32);
                part = others;
            }
        });
        Ok(rows)
    })?;
    Ok(PyArray1::from_vec(py, rows))
}

/// The rows of a forest's edges, ascending positions in the data of a matrix: the offsets of the matrix of these entries.
#[pyfunction]
pub(crate) fn tree_of_rows<'py>(
    py: Python<'py>,
    offsets: Offsets<'py>,
    edges: PyReadonlyArray1<'py, u32>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (offsets, edges) = (offsets.to_vec()?, edges.as_slice()?);
    let new = py.detach(|| {
        let mut at = 0;
        let mut new = Vec::with_capacity(offsets.len());
        for offset in offsets {
            while at < edges.len() && (edges[at] as usize) < offset {
                at += 1;
            }
            new.push(at as i64);
        }
        new
    });
    Ok(PyArray1::from_vec(py, new))
}
