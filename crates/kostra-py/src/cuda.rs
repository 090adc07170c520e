//! Graphs whose arrays are in a GPU's memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kostra::Run;
use kostra::cuda::{self, DeviceIds, DeviceWeights, IdType, WeightType};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::to_python;
use crate::forest::Forest;
use crate::work::work;

/// The address of an array, and its type.
type Described = (u64, String);

/// How long to wait before looking again whether another thread has done with the graph.
const WAIT: Duration = Duration::from_millis(1);

/// Where the graph is, unless a thread solves it: no lock is held meanwhile.
type Place = Mutex<Option<cuda::DeviceGraph>>;

/// A graph that was taken, and goes back to its place whatever happens.
struct Taken {
    graph: Option<cuda::DeviceGraph>,
    place: Arc<Place>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        *lock(&self.place) = self.graph.take();
    }
}

fn lock(place: &Place) -> MutexGuard<'_, Option<cuda::DeviceGraph>> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A graph from arrays in a GPU's memory, which are kept.
#[pyclass(frozen, module = "kostra._kostra")]
pub(crate) struct DeviceGraph {
    place: Arc<Place>,
    number: u32,
    vertices: usize,
    edges: usize,
    _owners: Vec<Py<PyAny>>,
}

#[pymethods]
impl DeviceGraph {
    /// From addresses and types of contiguous arrays of `edges` items. `owners` are kept as long as the graph: they must keep
    /// the memory at the addresses, or the process fails.
    #[new]
    #[pyo3(signature = (owners, number, edges, arrays, vertices=None))]
    #[allow(unsafe_code)]
    fn new(
        py: Python<'_>,
        owners: Vec<Py<PyAny>>,
        number: u32,
        edges: usize,
        arrays: (Described, Described, Option<Described>),
        vertices: Option<usize>,
    ) -> PyResult<Self> {
        let (src, dst, weight) = arrays;
        let (src, dst) = (ids(src)?, ids(dst)?);
        let weight = weight.map(weights).transpose()?;
        // SAFETY: the package takes addresses and lengths from the arrays' own description, and `owners` are these arrays.
        let graph = work(py, None, None, move |_| unsafe {
            cuda::DeviceGraph::new(number, vertices, edges, src, dst, weight)
        })?;
        let vertices = graph.vertices();
        Ok(Self { place: Arc::new(Mutex::new(Some(graph))), number, vertices, edges, _owners: owners })
    }

    #[getter]
    fn vertices(&self) -> usize {
        self.vertices
    }

    #[getter]
    fn edges(&self) -> usize {
        self.edges
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
        let own = format!("cuda:{}", self.number);
        if device != "auto" && device != own && !(device == "cuda" && self.number == 0) {
            let what =
                format!("the arrays are on {own}, not on {device:?}; use the device \"auto\", or copy them first");
            return Err(PyValueError::new_err(what));
        }
        let run = Run::new(algorithm).map_err(to_python)?.maximum(maximum);
        cuda::resolve(&run).map_err(to_python)?;
        let mut taken = self.take(py)?;
        let found = work(py, threads, progress, move |watch| {
            let run = run.watched_by(watch.clone());
            // It is there: nobody else has it.
            let graph = taken.graph.as_mut().ok_or(kostra::Error::Cancelled)?;
            graph.solve(&run)
        })?;
        Ok(Forest { held: Arc::new(found.tree.into()), forest: found.within, whole: Some(found.forest), maximum })
    }

    /// The device, and the algorithm that `auto` stands for.
    fn resolve(&self, algorithm: &str, device: &str) -> PyResult<(String, &'static str)> {
        let _ = device;
        let run = Run::new(algorithm).map_err(to_python)?;
        Ok((format!("cuda:{}", self.number), cuda::resolve(&run).map_err(to_python)?.name()))
    }
}

impl DeviceGraph {
    fn take(&self, py: Python<'_>) -> PyResult<Taken> {
        loop {
            let graph = lock(&self.place).take();
            if graph.is_some() {
                return Ok(Taken { graph, place: self.place.clone() });
            }
            py.detach(|| std::thread::sleep(WAIT));
            py.check_signals()?;
        }
    }
}

fn ids((address, kind): Described) -> PyResult<DeviceIds> {
    let kind = match &*kind {
        "u32" => IdType::U32,
        "i32" => IdType::I32,
        "u64" => IdType::U64,
        "i64" => IdType::I64,
        _ => return Err(PyValueError::new_err(format!("vertex ids must be integers, not {kind}"))),
    };
    Ok(DeviceIds { address, kind })
}

fn weights((address, kind): Described) -> PyResult<DeviceWeights> {
    let kind = match &*kind {
        "u32" => WeightType::U32,
        "i32" => WeightType::I32,
        "i64" => WeightType::I64,
        "f32" => WeightType::F32,
        "f64" => WeightType::F64,
        _ => {
            return Err(PyValueError::new_err(format!(
                "weights on a GPU must be u32, i32, i64, f32 or f64, not {kind}"
            )));
        }
    };
    Ok(DeviceWeights { address, kind })
}
