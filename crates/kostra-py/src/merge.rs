//! The order of rows of which `kostra.merge` makes edges: where weights are equal, the earlier row wins.

use std::cmp::Ordering;

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::Borrowed;
use crate::work::work;

/// The rows in the order in which ties are settled, or `None` where they are in that order already: by `id` where there is
/// one, then by the smaller end, the larger end, the first end, the position. Ends are ranks of vertices.
#[pyfunction]
#[pyo3(signature = (src, dst, id=None, threads=None))]
pub(crate) fn tie_order<'py>(
    py: Python<'py>,
    src: &Bound<'py, PyAny>,
    dst: &Bound<'py, PyAny>,
    id: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Option<Bound<'py, PyArray1<u32>>>> {
    let (src, dst) = (Borrowed::<u32>::required(src)?, Borrowed::<u32>::required(dst)?);
    let id = id.map(Borrowed::<u64>::required).transpose()?;
    let rows = src.slice.len();
    if dst.slice.len() != rows || id.as_ref().is_some_and(|id| id.slice.len() != rows) {
        return Err(PyValueError::new_err("src, dst and id must be equally long"));
    }
    if u32::try_from(rows).is_err() {
        return Err(PyValueError::new_err(format!("{rows} rows are too many for one merge; give them in batches")));
    }
    let order = work(py, threads, None, move |_| {
        Ok(match &id {
            Some(id) => order_by(src.slice, dst.slice, |row| id.slice[row]),
            None => order_by(src.slice, dst.slice, |row| pair(src.slice[row], dst.slice[row])),
        })
    })?;
    Ok(order.map(|order| PyArray1::from_vec(py, order)))
}

fn order_by(src: &[u32], dst: &[u32], key: impl Fn(usize) -> u64 + Sync) -> Option<Vec<u32>> {
    let ends = |row: u32| (pair(src[row as usize], dst[row as usize]), src[row as usize]);
    // Ends are looked up only where keys are equal, which ids seldom are.
    let compare = |a: &(u64, u32), b: &(u64, u32)| a.0.cmp(&b.0).then_with(|| ends(a.1).cmp(&ends(b.1)));
    let mut rows: Vec<(u64, u32)> = (0..src.len()).into_par_iter().map(|row| (key(row), row as u32)).collect();
    if rows.par_windows(2).all(|two| compare(&two[0], &two[1]) != Ordering::Greater) {
        return None;
    }
    // Stable, and quick where ordered forests follow each other. The library's own sort is the faster one on one thread.
    if rayon::current_num_threads() == 1 {
        rows.sort_by(compare);
    } else {
        rows.par_sort_by(compare);
    }
    Some(rows.into_par_iter().map(|(_, row)| row).collect())
}

/// An unordered pair of vertices as a number that compares as the pair does.
fn pair(u: u32, v: u32) -> u64 {
    u64::from(u.min(v)) << 32 | u64::from(u.max(v))
}
