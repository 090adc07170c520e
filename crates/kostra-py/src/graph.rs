//! The graph: arrays of the caller's or of a file, kept to be solved as often as wanted.

use std::path::PathBuf;
use std::sync::Arc;

use kostra::io::{Columns, Format, Ids as FileIds, ReadOptions, WriteOptions, read_with, write_with};
use kostra::{Algorithm, Device, Run, Weights};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{AnyWeights, Ids, Offset, view};
use crate::error::to_python;
use crate::forest::Forest;
use crate::work::work;

/// A graph, and what keeps the memory that it borrows.
pub(crate) struct Held {
    pub(crate) graph: kostra::Graph<'static>,
    pub(crate) offset: Offset,
    _owners: [Option<Py<PyAny>>; 3],
}

impl From<kostra::Graph<'static>> for Held {
    fn from(graph: kostra::Graph<'static>) -> Self {
        Self { graph, offset: None, _owners: [None, None, None] }
    }
}

impl Held {
    /// Fails where weights are not what the library holds, but moved by an offset.
    pub(crate) fn check_writable(&self) -> PyResult<()> {
        match self.offset {
            Some(_) => Err(PyValueError::new_err("weights of 2^63 and more cannot be written to a file")),
            None => Ok(()),
        }
    }
}

/// An undirected multigraph as arrays.
#[pyclass(frozen, module = "kostra._kostra")]
pub(crate) struct Graph(pub(crate) Arc<Held>);

#[pymethods]
impl Graph {
    /// From contiguous arrays of NumPy, which are borrowed where the library has their type.
    #[new]
    #[pyo3(signature = (src, dst, weight=None, vertices=None, threads=None))]
    fn new(
        py: Python<'_>,
        src: &Bound<'_, PyAny>,
        dst: &Bound<'_, PyAny>,
        weight: Option<&Bound<'_, PyAny>>,
        vertices: Option<usize>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let (src, dst, weights) = (Ids::new(src)?, Ids::new(dst)?, AnyWeights::new(weight)?);
        let held = work(py, threads, None, move |_| {
            let ((src, first), (dst, second)) = (src.into_array()?, dst.into_array()?);
            let (weights, third, offset) = weights.into_weights()?;
            let graph = match vertices {
                Some(vertices) => kostra::Graph::from_edges(vertices, src, dst, weights)?,
                None => kostra::Graph::from_all_edges(src, dst, weights)?,
            };
            Ok(Held { graph, offset, _owners: [first, second, third] })
        })?;
        Ok(Self(Arc::new(held)))
    }

    #[getter]
    fn vertices(&self) -> usize {
        self.0.graph.vertices()
    }

    #[getter]
    fn edges(&self) -> usize {
        self.0.graph.edges()
    }

    /// `unit`, `u32`, `i32`, `i64`, `f32` or `f64`.
    #[getter]
    fn weight_type(&self) -> &'static str {
        self.0.graph.weights().type_name()
    }

    #[getter]
    #[allow(unsafe_code)]
    fn src<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the graph is frozen, and its arrays live as long as it does.
        unsafe { view(slf.get().0.graph.sources(), slf.clone().into_any()) }
    }

    #[getter]
    #[allow(unsafe_code)]
    fn dst<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: as above.
        unsafe { view(slf.get().0.graph.targets(), slf.clone().into_any()) }
    }

    /// The weights in the library's type; `None` where there are none.
    #[getter]
    #[allow(unsafe_code)]
    fn weight<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let owner = slf.clone().into_any();
        // SAFETY: as above.
        unsafe {
            match slf.get().0.graph.weights() {
                Weights::U32(w) => view(w, owner).map(Some),
                Weights::I32(w) => view(w, owner).map(Some),
                Weights::I64(w) => view(w, owner).map(Some),
                Weights::F32(w) => view(w, owner).map(Some),
                Weights::F64(w) => view(w, owner).map(Some),
                _ => Ok(None),
            }
        }
    }

    /// The names of the vertices as bytes, where the graph was read with sparse ids.
    fn names<'py>(&self, py: Python<'py>) -> Option<Vec<Bound<'py, PyBytes>>> {
        let names = self.0.graph.names()?;
        Some((0..names.len() as u32).map(|v| PyBytes::new(py, names.at(v))).collect())
    }

    /// Finds the forest.
    #[pyo3(signature = (algorithm, device, maximum, threads=None, progress=None))]
    fn solve(
        &self,
        py: Python<'_>,
        algorithm: &str,
        device: &str,
        maximum: bool,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Forest> {
        let run = Run::new(algorithm).map_err(to_python)?.maximum(maximum).on(device_named(py, device)?);
        let held = self.0.clone();
        let forest =
            work(py, threads, progress, move |watch| kostra::solve(&held.graph, &run.watched_by(watch.clone())))?;
        Ok(Forest { held: self.0.clone(), forest, whole: None, maximum })
    }

    /// Proves that these edges are the minimum (or maximum) forest; raises `ValueError` with the flaw.
    #[pyo3(signature = (edges, maximum, threads=None, progress=None))]
    fn verify(
        &self,
        py: Python<'_>,
        edges: &Bound<'_, PyAny>,
        maximum: bool,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (held, edges) = (self.0.clone(), Ids::new(edges)?);
        work(py, threads, progress, move |watch| {
            let (edges, _owner) = edges.into_array()?;
            kostra::verify(&held.graph, &edges, maximum, watch)
        })
    }

    /// The device and the algorithm that `auto` stands for.
    fn resolve(&self, algorithm: &str, device: &str) -> PyResult<(String, &'static str)> {
        let run = Run::new(algorithm).and_then(|run| Ok(run.on(device.parse::<Device>()?))).map_err(to_python)?;
        let (device, algorithm) = kostra::resolve(&self.0.graph, &run).map_err(to_python)?;
        Ok((device.to_string(), algorithm.name()))
    }

    /// Writes the graph in the format that the name says.
    #[pyo3(signature = (path, format=None, threads=None, progress=None))]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<String>,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.0.check_writable()?;
        let held = self.0.clone();
        work(py, threads, progress, move |watch| {
            write_with(&held.graph, path, &WriteOptions { format, watch: watch.clone(), ..WriteOptions::default() })
        })
    }
}

/// The device of that name; looking for a GPU can take a while.
pub(crate) fn device_named(py: Python<'_>, name: &str) -> PyResult<Device> {
    py.detach(|| name.parse::<Device>()).map_err(to_python)
}

/// Reads a graph in any format.
#[pyfunction]
#[pyo3(signature = (path, format=None, sparse=false, columns=None, threads=None, progress=None))]
pub(crate) fn read(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    sparse: bool,
    columns: Option<(String, String, Option<String>)>,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Graph> {
    let format = format.map(str::parse::<Format>).transpose().map_err(to_python)?;
    let ids = if sparse { FileIds::Sparse } else { FileIds::Dense };
    let columns = columns.map(|(src, dst, weight)| Columns { src, dst, weight });
    let graph = work(py, threads, progress, move |watch| {
        read_with(path, &ReadOptions { format, ids, columns, watch: watch.clone() })
    })?;
    Ok(Graph(Arc::new(graph.into())))
}

/// Generates the graph that a SPEC describes.
#[pyfunction]
#[pyo3(signature = (spec, threads=None, progress=None))]
pub(crate) fn generate(
    py: Python<'_>,
    spec: String,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Graph> {
    let graph = work(py, threads, progress, move |watch| kostra::generate::generate_watched(&spec, watch))?;
    Ok(Graph(Arc::new(graph.into())))
}

/// The algorithms: name, method, whether it runs on NVIDIA GPUs.
#[pyfunction]
pub(crate) fn algorithms() -> Vec<(&'static str, &'static str, bool)> {
    Algorithm::ALL.map(|algorithm| (algorithm.name(), algorithm.method(), algorithm.runs_on_cuda())).into()
}

/// The GPUs: name of the device, name of the GPU, bytes of memory. None where there is no driver.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> Vec<(String, String, u64)> {
    let found = py.detach(kostra::cuda::devices).unwrap_or_default();
    found.into_iter().map(|gpu| (format!("cuda:{}", gpu.number), gpu.name, gpu.memory)).collect()
}
