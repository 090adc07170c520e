//! NumPy arrays as the library's, and back. Arrays of a type that the library has are borrowed, others are converted.

use kostra::{Array, Weights};
use numpy::ndarray::aview1;
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

/// Items that a thread converts at a time.
const BLOCK: usize = 1 << 15;

/// A contiguous array of NumPy that outlives this value's slice: the reference keeps its memory.
pub(crate) struct Borrowed<T: 'static> {
    pub(crate) slice: &'static [T],
    pub(crate) owner: Py<PyAny>,
}

impl<T: Element> Borrowed<T> {
    /// Borrows, when the array has this type.
    pub(crate) fn new(array: &Bound<'_, PyAny>) -> Option<PyResult<Self>> {
        let readonly: PyReadonlyArray1<'_, T> = array.extract().ok()?;
        let Ok(slice) = readonly.as_slice() else {
            return Some(Err(PyValueError::new_err("the array is not contiguous")));
        };
        // SAFETY: the slice lives as long as the array, to which `owner` is a reference; whoever takes the slice takes the
        // owner, too. Python code that writes to the array meanwhile races with us: the documentation forbids it.
        #[allow(unsafe_code)]
        let slice = unsafe { std::slice::from_raw_parts(slice.as_ptr(), slice.len()) };
        Some(Ok(Self { slice, owner: array.clone().unbind() }))
    }

    /// Borrows an array that must have this type.
    pub(crate) fn required(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let wanted = || format!("an array of {} is wanted, not of {}", T::get_dtype(array.py()), type_of(array));
        Self::new(array).unwrap_or_else(|| Err(PyValueError::new_err(wanted())))
    }
}

/// An array that a graph is made of, and what keeps its memory.
pub(crate) enum Ids {
    Same(Borrowed<u32>),
    I8(Borrowed<i8>),
    I16(Borrowed<i16>),
    I32(Borrowed<i32>),
    I64(Borrowed<i64>),
    U8(Borrowed<u8>),
    U16(Borrowed<u16>),
    U64(Borrowed<u64>),
}

/// Weights as they came.
pub(crate) enum AnyWeights {
    Unit,
    U32(Borrowed<u32>),
    I32(Borrowed<i32>),
    I64(Borrowed<i64>),
    F32(Borrowed<f32>),
    F64(Borrowed<f64>),
    I8(Borrowed<i8>),
    I16(Borrowed<i16>),
    U8(Borrowed<u8>),
    U16(Borrowed<u16>),
    U64(Borrowed<u64>),
}

/// The first type that fits, as its variant.
macro_rules! first_of {
    ($array:expr, $($variant:path),+) => {
        $(if let Some(borrowed) = Borrowed::new($array) {
            return Ok($variant(borrowed?));
        })+
    };
}

impl Ids {
    /// An array of vertex ids, of any type of integers.
    pub(crate) fn new(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        first_of!(array, Ids::Same, Ids::I64, Ids::I32, Ids::U64, Ids::I16, Ids::U16, Ids::I8, Ids::U8);
        Err(PyValueError::new_err(format!("vertex ids must be integers, not {}", type_of(array))))
    }

    /// As the library takes them, with what keeps the memory of borrowed ones.
    pub(crate) fn into_array(self) -> kostra::Result<(Array<'static, u32>, Option<Py<PyAny>>)> {
        // `beyond` has bits where an item is no id.
        fn converted<T: Copy + Sync + Into<i128>>(
            items: &[T],
            as_id: impl Fn(T) -> u32 + Sync,
            beyond: impl Fn(T) -> u64 + Sync,
        ) -> Converted {
            let mut wrong = None;
            let ids = Array::filled(items.len(), |ids| {
                let blocks = ids.par_chunks_mut(BLOCK).zip(items.par_chunks(BLOCK));
                // Without a branch per item; none is wrong as a rule.
                let bits = blocks.map(|(ids, items)| {
                    let pairs = ids.iter_mut().zip(items);
                    pairs.fold(0, |bits, (id, &item)| {
                        *id = as_id(item);
                        bits | beyond(item)
                    })
                });
                let failing = bits.enumerate().filter(|&(_, bits)| bits != 0).map(|(block, _)| block).min();
                wrong = failing.map(|block| block * BLOCK);
            })?;
            if let Some(from) = wrong
                && let Some(at) = items[from..].iter().position(|&item| beyond(item) != 0)
            {
                return Err(misfit(from + at, items[from + at].into()));
            }
            Ok((ids, None))
        }
        type Converted = kostra::Result<(Array<'static, u32>, Option<Py<PyAny>>)>;
        match self {
            Ids::Same(ids) => Ok((ids.slice.into(), Some(ids.owner))),
            Ids::I8(ids) => converted(ids.slice, |id| id as u32, |id| (id < 0).into()),
            Ids::I16(ids) => converted(ids.slice, |id| id as u32, |id| (id < 0).into()),
            Ids::I32(ids) => match ids.slice.par_chunks(BLOCK).position_first(|ids| ids.iter().any(|&id| id < 0)) {
                // The same bits.
                None => Ok((bytemuck::cast_slice(ids.slice).into(), Some(ids.owner))),
                Some(_) => converted(ids.slice, |id| id as u32, |id| (id < 0).into()),
            },
            Ids::I64(ids) => converted(ids.slice, |id| id as u32, |id| id as u64 >> 32),
            Ids::U8(ids) => converted(ids.slice, u32::from, |_| 0),
            Ids::U16(ids) => converted(ids.slice, u32::from, |_| 0),
            Ids::U64(ids) => converted(ids.slice, |id| id as u32, |id| id >> 32),
        }
    }
}

/// An id that is no 32-bit number.
fn misfit(edge: usize, vertex: i128) -> kostra::Error {
    if vertex >= 0 {
        return kostra::Error::TooLarge { what: "vertices", count: vertex as u64 };
    }
    let what = format!("edge {edge} names vertex {vertex}, but vertices are numbered from 0");
    kostra::Error::File { file: "the graph".into(), what }
}

/// How many weights were moved to make them fit, and by how much: the sum of a forest's must be moved back.
pub(crate) type Offset = Option<i128>;

impl AnyWeights {
    /// An array of weights, of any type of numbers.
    pub(crate) fn new(array: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        use AnyWeights::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Unit};
        let Some(array) = array else { return Ok(Unit) };
        first_of!(array, F64, F32, I64, U32, I32, U64, I16, U16, I8, U8);
        Err(PyValueError::new_err(format!("weights must be integers or floats, not {}", type_of(array))))
    }

    /// As the library takes them, with what keeps the memory of borrowed ones.
    pub(crate) fn into_weights(self) -> kostra::Result<(Weights<'static>, Option<Py<PyAny>>, Offset)> {
        use AnyWeights::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Unit};
        let (weights, owner) = match self {
            Unit => (Weights::Unit, None),
            U32(w) => (w.slice.into(), Some(w.owner)),
            I32(w) => (w.slice.into(), Some(w.owner)),
            I64(w) => (w.slice.into(), Some(w.owner)),
            F32(w) => (w.slice.into(), Some(w.owner)),
            F64(w) => (w.slice.into(), Some(w.owner)),
            U8(w) => (Weights::U32(mapped(w.slice, u32::from)?), None),
            U16(w) => (Weights::U32(mapped(w.slice, u32::from)?), None),
            I8(w) => (Weights::I32(mapped(w.slice, i32::from)?), None),
            I16(w) => (Weights::I32(mapped(w.slice, i32::from)?), None),
            U64(w) if w.slice.par_iter().all(|&w| w >> 63 == 0) => (Weights::I64(mapped(w.slice, |w| w as i64)?), None),
            // Less 2^63 each: the order stays.
            U64(w) => {
                let weights = mapped(w.slice, |w| (w ^ (1 << 63)) as i64)?;
                return Ok((Weights::I64(weights), None, Some(1 << 63)));
            }
        };
        Ok((weights, owner, None))
    }
}

fn mapped<T: Copy + Sync, U: bytemuck::Pod + Send + Sync>(
    items: &[T],
    map: impl Fn(T) -> U + Sync,
) -> kostra::Result<Array<'static, U>> {
    Array::filled(items.len(), |new| {
        let blocks = new.par_chunks_mut(BLOCK).zip(items.par_chunks(BLOCK));
        blocks.for_each(|(new, items)| new.iter_mut().zip(items).for_each(|(new, &item)| *new = map(item)));
    })
}

fn type_of(array: &Bound<'_, PyAny>) -> String {
    array.getattr("dtype").map_or_else(|_| array.get_type().to_string(), |dtype| dtype.to_string())
}

/// A read-only array over memory that `owner` keeps.
///
/// # Safety
///
/// The slice must live, unchanged, as long as `owner`.
#[allow(unsafe_code)]
pub(crate) unsafe fn view<'py, T: Element>(slice: &[T], owner: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the caller's promise.
    let array = unsafe { PyArray1::borrow_from_array(&aview1(slice), owner) };
    array.try_readwrite()?.make_nonwriteable();
    Ok(array.into_any())
}

/// The items of these edges.
pub(crate) fn gather<T: Copy + Send + Sync>(items: &[T], edges: &[u32]) -> Vec<T> {
    edges.par_iter().with_min_len(BLOCK).map(|&e| items[e as usize]).collect()
}
