//! The result.

use std::path::PathBuf;
use std::sync::Arc;

use kostra::io::{WriteOptions, write_forest};
use kostra::{Total, Weights};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::arrays::{gather, view};
use crate::graph::Held;
use crate::work::work;

/// A spanning forest, with the graph it is of.
#[pyclass(frozen, module = "kostra._kostra")]
pub(crate) struct Forest {
    pub(crate) held: Arc<Held>,
    pub(crate) forest: kostra::Forest,
    /// Where `held` has only the forest's edges: the forest with the edge ids of the whole graph.
    pub(crate) whole: Option<kostra::Forest>,
    pub(crate) maximum: bool,
}

/// The forest's part of an array with one entry per edge.
enum Part {
    U32(Vec<u32>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

#[pymethods]
impl Forest {
    /// The ids of the edges, ascending.
    #[getter]
    #[allow(unsafe_code)]
    fn edges<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the forest is frozen, and its array lives as long as it does.
        unsafe { view(slf.get().whole().edges(), slf.clone().into_any()) }
    }

    fn __len__(&self) -> usize {
        self.forest.len()
    }

    #[getter]
    fn tree_count(&self) -> usize {
        self.forest.trees()
    }

    #[getter]
    fn total_weight(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.forest.weight() {
            Total::Integer(sum) => {
                let moved = self.held.offset.unwrap_or(0) * self.forest.len() as i128;
                Ok((sum + moved).into_pyobject(py)?.into_any().unbind())
            }
            Total::Float(sum) => Ok(sum.into_pyobject(py)?.into_any().unbind()),
        }
    }

    /// XXH3-64 of the edge ids, as 16 hex digits.
    #[getter]
    fn digest(&self) -> String {
        format!("{:016x}", self.whole().digest())
    }

    #[getter]
    fn src<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.part(py, |held, edges| Part::U32(gather(held.graph.sources(), edges)))
    }

    #[getter]
    fn dst<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.part(py, |held, edges| Part::U32(gather(held.graph.targets(), edges)))
    }

    /// The weights in the library's type; ones where the graph has none.
    #[getter]
    fn weight<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.part(py, |held, edges| match held.graph.weights() {
            Weights::I32(w) => Part::I32(gather(w, edges)),
            Weights::I64(w) => Part::I64(gather(w, edges)),
            Weights::F32(w) => Part::F32(gather(w, edges)),
            Weights::F64(w) => Part::F64(gather(w, edges)),
            Weights::U32(w) => Part::U32(gather(w, edges)),
            _ => Part::U32(vec![1; edges.len()]),
        })
    }

    /// The tree of every vertex, numbered by the smallest vertex.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (held, forest) = (self.held.clone(), self.forest.clone());
        let labels = work(py, None, None, move |_| Ok(forest.labels(&held.graph)))?;
        Ok(PyArray1::from_vec(py, labels).into_any())
    }

    /// Whether it is the maximum forest.
    #[getter]
    fn maximum(&self) -> bool {
        self.maximum
    }

    /// Writes lines `u v weight edge_id`, or a graph in the format that the name says.
    #[pyo3(signature = (path, format=None, threads=None, progress=None))]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<String>,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.held.check_writable()?;
        let (held, forest) = (self.held.clone(), self.forest.clone());
        work(py, threads, progress, move |watch| {
            let options = WriteOptions { format, watch: watch.clone(), ..WriteOptions::default() };
            write_forest(&held.graph, &forest, path, &options)
        })
    }
}

impl Forest {
    /// The forest with its edges' ids in the graph that was solved.
    fn whole(&self) -> &kostra::Forest {
        self.whole.as_ref().unwrap_or(&self.forest)
    }

    fn part<'py>(
        &self,
        py: Python<'py>,
        take: impl FnOnce(&Held, &[u32]) -> Part + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (held, forest) = (self.held.clone(), self.forest.clone());
        Ok(match work(py, None, None, move |_| Ok(take(&held, forest.edges())))? {
            Part::U32(items) => PyArray1::from_vec(py, items).into_any(),
            Part::I32(items) => PyArray1::from_vec(py, items).into_any(),
            Part::I64(items) => PyArray1::from_vec(py, items).into_any(),
            Part::F32(items) => PyArray1::from_vec(py, items).into_any(),
            Part::F64(items) => PyArray1::from_vec(py, items).into_any(),
        })
    }
}
