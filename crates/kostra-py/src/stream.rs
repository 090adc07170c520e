//! Graphs that do not fit in memory: batches of arrays, and files of any size.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use kostra::io::{
    Columns, Format, Ids as FileIds, ReadOptions, StreamOptions, WriteOptions, solve_files, verify_stream,
    write_stream_forest,
};
use kostra::{Run, Total, Weights};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{AnyWeights, Ids, view};
use crate::error::to_python;
use crate::graph::device_named;
use crate::work::work;

/// The forest of a graph whose edges come in batches.
#[pyclass(frozen, module = "kostra._kostra")]
pub(crate) struct Stream {
    /// `None` once it is finished, or after an error.
    stream: Arc<Mutex<Option<kostra::Stream>>>,
    threads: Option<usize>,
}

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (algorithm, device, maximum, memory=None, vertices=None, threads=None))]
    fn new(
        py: Python<'_>,
        algorithm: &str,
        device: &str,
        maximum: bool,
        memory: Option<u64>,
        vertices: Option<u64>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let run = Run::new(algorithm).map_err(to_python)?.maximum(maximum).on(device_named(py, device)?);
        let stream = work(py, threads, None, move |_| {
            let mut stream = kostra::Stream::new(&run);
            if let Some(bytes) = memory {
                stream = stream.memory(bytes);
            }
            stream.vertices(vertices.unwrap_or(0))?;
            Ok(stream)
        })?;
        Ok(Self { stream: Arc::new(Mutex::new(Some(stream))), threads })
    }

    /// Adds a batch.
    #[pyo3(signature = (src, dst, weight=None))]
    fn push(
        &self,
        py: Python<'_>,
        src: &Bound<'_, PyAny>,
        dst: &Bound<'_, PyAny>,
        weight: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (src, dst, weights) = (Ids::new(src)?, Ids::new(dst)?, AnyWeights::new(weight)?);
        self.with(py, move |stream| {
            let ((src, _first), (dst, _second)) = (src.into_array()?, dst.into_array()?);
            let (weights, _third, offset) = weights.into_weights()?;
            if offset.is_some() {
                let what = "weights of 2^63 and more do not fit in a stream; give them as floats".into();
                return Err(kostra::Error::File { file: "the graph".into(), what });
            }
            stream.push(&src, &dst, &weights)
        })
    }

    #[getter]
    fn edges(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |stream| Ok(stream.edges()))
    }

    /// The forest of all edges; the stream is at its end.
    fn finish(&self, py: Python<'_>) -> PyResult<StreamForest> {
        let stream = self.take()?;
        work(py, self.threads, None, move |_| stream.finish()).map(StreamForest)
    }
}

impl Stream {
    fn take(&self) -> PyResult<kostra::Stream> {
        let taken = self.stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken
            .ok_or_else(|| PyValueError::new_err("the stream is at its end: it was finished, is in use, or has failed"))
    }

    /// Does something with the stream, which is gone if that fails.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        job: impl FnOnce(&mut kostra::Stream) -> kostra::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let (mut stream, place) = (self.take()?, self.stream.clone());
        work(py, self.threads, None, move |_| {
            let done = job(&mut stream)?;
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream);
            Ok(done)
        })
    }
}

/// The forest of a stream, whose edges are all that is left of the graph.
#[pyclass(frozen, module = "kostra._kostra")]
pub(crate) struct StreamForest(kostra::StreamForest);

#[pymethods]
#[allow(unsafe_code)]
impl StreamForest {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn edges<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the forest is frozen, and its arrays live as long as it does.
        unsafe { view(slf.get().0.edges(), slf.clone().into_any()) }
    }

    #[getter]
    fn src<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: as above.
        unsafe { view(slf.get().0.graph().sources(), slf.clone().into_any()) }
    }

    #[getter]
    fn dst<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: as above.
        unsafe { view(slf.get().0.graph().targets(), slf.clone().into_any()) }
    }

    #[getter]
    fn weight<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let owner = slf.clone().into_any();
        // SAFETY: as above.
        unsafe {
            match slf.get().0.graph().weights() {
                Weights::U32(w) => view(w, owner),
                Weights::I32(w) => view(w, owner),
                Weights::I64(w) => view(w, owner),
                Weights::F32(w) => view(w, owner),
                Weights::F64(w) => view(w, owner),
                _ => Ok(PyArray1::from_vec(slf.py(), vec![1u32; slf.get().0.len()]).into_any()),
            }
        }
    }

    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        PyArray1::from_vec(py, py.detach(|| self.0.labels())).into_any()
    }

    #[getter]
    fn vertices(&self) -> usize {
        self.0.graph().vertices()
    }

    #[getter]
    fn streamed(&self) -> u64 {
        self.0.streamed()
    }

    #[getter]
    fn tree_count(&self) -> usize {
        self.0.trees()
    }

    #[getter]
    fn total_weight(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.0.weight() {
            Total::Integer(sum) => Ok(sum.into_pyobject(py)?.into_any().unbind()),
            Total::Float(sum) => Ok(sum.into_pyobject(py)?.into_any().unbind()),
        }
    }

    #[getter]
    fn digest(&self) -> String {
        format!("{:016x}", self.0.digest())
    }

    /// The names of the vertices as bytes, where files were read with sparse ids.
    fn names<'py>(&self, py: Python<'py>) -> Option<Vec<Bound<'py, PyBytes>>> {
        let names = self.0.graph().names()?;
        Some((0..names.len() as u32).map(|v| PyBytes::new(py, names.at(v))).collect())
    }

    /// Writes lines `u v weight edge_id`, or a graph in the format that the name says.
    #[pyo3(signature = (path, format=None, progress=None))]
    fn write(
        slf: &Bound<'_, Self>,
        path: PathBuf,
        format: Option<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let forest = slf.clone().unbind();
        work(slf.py(), None, progress, move |watch| {
            let options = WriteOptions { format, watch: watch.clone(), ..WriteOptions::default() };
            write_stream_forest(&forest.get().0, path, &options)
        })
    }

    /// Proves it by reading the files again.
    #[pyo3(signature = (paths, reading, maximum, threads=None, progress=None))]
    fn verify(
        slf: &Bound<'_, Self>,
        paths: Vec<PathBuf>,
        reading: Reading,
        maximum: bool,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (forest, options) = (slf.clone().unbind(), options(reading)?);
        work(slf.py(), threads, progress, move |watch| {
            let read = ReadOptions { watch: watch.clone(), ..options.read };
            verify_stream(&paths, &forest.get().0, maximum, &StreamOptions { read, ..options }).map(drop)
        })
    }
}

/// How files are read: the format, whether ids are sparse, the columns, the limit of memory.
type Reading = (Option<String>, bool, Option<(String, String, Option<String>)>, Option<u64>);

fn options((format, sparse, columns, memory): Reading) -> PyResult<StreamOptions> {
    let format = format.map(|format| format.parse::<Format>()).transpose().map_err(to_python)?;
    let ids = if sparse { FileIds::Sparse } else { FileIds::Dense };
    let columns = columns.map(|(src, dst, weight)| Columns { src, dst, weight });
    let read = ReadOptions { format, ids, columns, ..ReadOptions::default() };
    Ok(StreamOptions { read, memory, checkpoint: None })
}

/// The forest of the edges in all of these files.
#[pyfunction]
#[pyo3(signature = (paths, reading, algorithm, device, maximum, checkpoint=None, threads=None, progress=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn forest_of_files(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    reading: Reading,
    algorithm: &str,
    device: &str,
    maximum: bool,
    checkpoint: Option<PathBuf>,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<StreamForest> {
    let run = Run::new(algorithm).map_err(to_python)?.maximum(maximum).on(device_named(py, device)?);
    let options = options(reading)?;
    let forest = work(py, threads, progress, move |watch| {
        let read = ReadOptions { watch: watch.clone(), ..options.read };
        let run = run.watched_by(watch.clone());
        solve_files(&paths, &run, &StreamOptions { read, checkpoint, ..options })
    })?;
    Ok(StreamForest(forest))
}
