//! Sparse matrices in compressed rows as edge lists, and forests as such matrices.

use kostra::{Array, Graph, Run, solve};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::{Borrowed, gather};
use crate::work::work;

/// Entries whose rows a thread writes at a time.
const BLOCK: usize = 1 << 14;

/// A matrix in compressed rows: data, columns, and where each row begins.
type Rows<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i32>>);

/// Where rows begin, in either type that SciPy uses.
enum Offsets {
    Narrow(Borrowed<i32>),
    Wide(Borrowed<i64>),
}

/// The row of every entry of a matrix in compressed rows.
#[pyfunction]
pub(crate) fn expand_rows<'py>(
    py: Python<'py>,
    offsets: &Bound<'py, PyAny>,
    entries: usize,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let offsets = match Borrowed::new(offsets) {
        Some(narrow) => Offsets::Narrow(narrow?),
        None => Offsets::Wide(Borrowed::required(offsets)?),
    };
    let rows = work(py, None, None, move |_| match offsets {
        Offsets::Narrow(offsets) => rows_of(offsets.slice, entries),
        Offsets::Wide(offsets) => rows_of(offsets.slice, entries),
    })?;
    Ok(PyArray1::from_slice(py, &rows))
}

fn rows_of<T: Copy + Ord + Sync + TryInto<usize>>(
    offsets: &[T],
    entries: usize,
) -> kostra::Result<Array<'static, u32>> {
    let wrong = |what: &str| kostra::Error::File { file: "the matrix".into(), what: what.into() };
    let at = |offset: T| offset.try_into().unwrap_or(usize::MAX);
    match offsets {
        [first, .., last] if at(*first) == 0 && at(*last) == entries => {}
        [only] if at(*only) == 0 && entries == 0 => {}
        _ => return Err(wrong("its row offsets must go from 0 to the number of its entries")),
    }
    if !offsets.par_windows(2).with_min_len(BLOCK).all(|row| row[0] <= row[1]) {
        return Err(wrong("its row offsets must never fall"));
    }
    Array::filled(entries, |rows| {
        rows.par_chunks_mut(BLOCK).enumerate().for_each(|(block, rows)| {
            let (mut entry, end) = (block * BLOCK, block * BLOCK + rows.len());
            let mut row = offsets.partition_point(|&offset| at(offset) <= entry) - 1;
            let mut rest = rows;
            while entry < end {
                let stop = at(offsets[row + 1]).min(end);
                let (same, others) = std::mem::take(&mut rest).split_at_mut(stop - entry);
                same.fill(row as u32);
                (entry, row, rest) = (stop, row + 1, others);
            }
        });
    })
}

/// The minimum spanning forest of a matrix as a matrix. As in SciPy, entries of zero are edges, but not in the result.
#[pyfunction]
#[pyo3(signature = (data, columns, offsets, threads=None))]
pub(crate) fn tree_of_rows<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    columns: &Bound<'py, PyAny>,
    offsets: &Bound<'py, PyAny>,
    threads: Option<usize>,
) -> PyResult<Rows<'py>> {
    let (data, columns) = (Borrowed::<f64>::required(data)?, Borrowed::<i32>::required(columns)?);
    let offsets = Borrowed::<i32>::required(offsets)?;
    let Some(vertices) = offsets.slice.len().checked_sub(1) else {
        return Err(PyValueError::new_err("a matrix has one row offset more than rows"));
    };
    let (data, columns, offsets) = work(py, threads, None, move |watch| {
        let (data, columns, offsets) = (data.slice, columns.slice, offsets.slice);
        let rows = rows_of(offsets, data.len())?;
        // A negative column becomes one that no matrix has.
        let targets: &[u32] = bytemuck::cast_slice(columns);
        let graph = Graph::from_edges(vertices, rows, targets, data)?;
        let forest = solve(&graph, &Run::default().watched_by(watch.clone()))?;
        let zeros = forest.edges().par_iter().any(|&e| data[e as usize] == 0.0);
        let kept: Vec<u32>;
        let edges = if zeros {
            kept = forest.edges().iter().copied().filter(|&e| data[e as usize] != 0.0).collect();
            &kept[..]
        } else {
            forest.edges()
        };
        let (arrays, offsets) =
            rayon::join(|| (gather(data, edges), gather(columns, edges)), || offsets_of(offsets, edges));
        Ok((arrays.0, arrays.1, offsets))
    })?;
    Ok((PyArray1::from_vec(py, data), PyArray1::from_vec(py, columns), PyArray1::from_vec(py, offsets)))
}

/// Where the rows of a matrix begin when only these entries, ascending, are left.
fn offsets_of(offsets: &[i32], edges: &[u32]) -> Vec<i32> {
    let mut at = 0;
    let new = offsets.iter().map(|&offset| {
        while at < edges.len() && edges[at] < offset as u32 {
            at += 1;
        }
        at as i32
    });
    new.collect()
}
