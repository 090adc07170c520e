//! The library's errors as Python's.

use std::io;

use kostra::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};

/// The exception for an error, with the library's own text: `OSError` for the system, `RuntimeError` for a device,
/// `MemoryError` for memory, `ValueError` for input.
pub(crate) fn to_python(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        // The kind makes it FileNotFoundError, PermissionError and so on.
        Error::Io { source, .. } => io::Error::new(source.kind(), text).into(),
        Error::Device { .. } | Error::Cancelled => PyRuntimeError::new_err(text),
        Error::Memory { .. } => PyMemoryError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
