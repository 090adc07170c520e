//! Columns of Arrow tables as arrays of NumPy, through the C stream interface that every such library speaks.

use std::sync::Arc;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use arrow_schema::DataType;
use numpy::{Element, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrays::view;

/// Keeps the memory of a column for the array that looks into it.
#[pyclass(frozen)]
struct Column(ArrayRef);

/// The names of a table's columns, and the columns as arrays. Those in one piece are not copied.
#[pyfunction]
pub(crate) fn columns<'py>(
    py: Python<'py>,
    capsule: &Bound<'py, PyCapsule>,
) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let fail = |error: arrow_schema::ArrowError| PyValueError::new_err(error.to_string());
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of that name points to a stream, which is ours to take and is left empty.
    #[allow(unsafe_code)]
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
    let reader = RecordBatchStreamReader::try_new(stream).map_err(fail)?;
    let fields: Vec<_> = arrow_array::RecordBatchReader::schema(&reader).fields().iter().cloned().collect();
    // The producer may be Python code, so it is asked with the GIL held.
    let batches = reader.collect::<Result<Vec<RecordBatch>, _>>().map_err(fail)?;
    let mut columns = Vec::new();
    for (number, field) in fields.iter().enumerate() {
        let pieces: Vec<ArrayRef> = batches.iter().map(|batch| batch.column(number).clone()).collect();
        columns.push((field.name().clone(), column(py, field.name(), field.data_type(), pieces)?));
    }
    Ok(columns)
}

fn column<'py>(py: Python<'py>, name: &str, kind: &DataType, pieces: Vec<ArrayRef>) -> PyResult<Bound<'py, PyAny>> {
    let mut row = 0;
    for piece in &pieces {
        if piece.null_count() > 0
            && let Some(null) = (0..piece.len()).find(|&row| piece.is_null(row))
        {
            return Err(PyValueError::new_err(format!("column {name:?} has no value in row {}", row + null)));
        }
        row += piece.len();
    }
    match kind {
        DataType::Int8 => numbers::<Int8Type>(py, pieces),
        DataType::Int16 => numbers::<Int16Type>(py, pieces),
        DataType::Int32 => numbers::<Int32Type>(py, pieces),
        DataType::Int64 => numbers::<Int64Type>(py, pieces),
        DataType::UInt8 => numbers::<UInt8Type>(py, pieces),
        DataType::UInt16 => numbers::<UInt16Type>(py, pieces),
        DataType::UInt32 => numbers::<UInt32Type>(py, pieces),
        DataType::UInt64 => numbers::<UInt64Type>(py, pieces),
        DataType::Float32 => numbers::<Float32Type>(py, pieces),
        DataType::Float64 => numbers::<Float64Type>(py, pieces),
        // Not an error yet: the column may be none of those that are used.
        other => Ok(other.to_string().into_pyobject(py)?.into_any()),
    }
}

fn numbers<'py, T>(py: Python<'py>, mut pieces: Vec<ArrayRef>) -> PyResult<Bound<'py, PyAny>>
where
    T: ArrowPrimitiveType,
    T::Native: Element,
{
    fn values<T: ArrowPrimitiveType>(piece: &ArrayRef) -> PyResult<&[T::Native]> {
        let typed = piece.as_any().downcast_ref::<PrimitiveArray<T>>();
        typed.map(|typed| &typed.values()[..]).ok_or_else(|| PyValueError::new_err("a column has pieces of two types"))
    }
    if pieces.len() == 1
        && let Some(piece) = pieces.pop()
    {
        let owner = Bound::new(py, Column(Arc::clone(&piece)))?;
        // SAFETY: the column keeps the memory, which Arrow forbids to change.
        #[allow(unsafe_code)]
        return unsafe { view(values::<T>(&owner.get().0)?, owner.clone().into_any()) };
    }
    let mut all = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
    for piece in &pieces {
        all.extend_from_slice(values::<T>(piece)?);
    }
    Ok(PyArray1::from_vec(py, all).into_any())
}
