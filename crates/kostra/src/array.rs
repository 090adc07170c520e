//! A slice that is owned, borrowed from the caller, or part of a mapped file.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::Mmap;

use crate::buffer::Buffer;
use crate::error::Result;

/// An array of a graph: owned, borrowed from the caller, or read in place from a mapped file.
pub struct Array<'a, T>(Storage<'a, T>);

enum Storage<'a, T> {
    Owned(Vec<T>),
    Filled(Buffer<T>),
    Borrowed(&'a [T]),
    Mapped { file: Arc<Mmap>, start: usize, end: usize, item: PhantomData<T> },
}

impl<T: Pod> Array<'_, T> {
    /// The `len` items that start at byte `start` of a mapped file; `None` when they are outside it or misaligned.
    pub(crate) fn mapped(file: &Arc<Mmap>, start: usize, len: usize) -> Option<Self> {
        let end = start.checked_add(len.checked_mul(size_of::<T>())?)?;
        bytemuck::try_cast_slice::<u8, T>(file.get(start..end)?).ok()?;
        Some(Self(Storage::Mapped { file: Arc::clone(file), start, end, item: PhantomData }))
    }
}

impl<T: Pod> Array<'_, T> {
    /// An array of `len` items, all of which `fill` is to write: at first they have any value. A large one is in huge pages,
    /// where the system has them.
    pub fn filled(len: usize, fill: impl FnOnce(&mut [T])) -> Result<Self> {
        let mut items = Buffer::of_any_to_keep(len)?;
        fill(&mut items);
        Ok(items.into())
    }
}

impl<T: Pod> Deref for Array<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Owned(items) => items,
            Storage::Filled(items) => items,
            Storage::Borrowed(items) => items,
            Storage::Mapped { file, start, end, .. } => bytemuck::cast_slice(&file[*start..*end]),
        }
    }
}

impl<T> From<Vec<T>> for Array<'_, T> {
    fn from(items: Vec<T>) -> Self {
        Self(Storage::Owned(items))
    }
}

impl<T> From<Buffer<T>> for Array<'_, T> {
    fn from(items: Buffer<T>) -> Self {
        Self(Storage::Filled(items))
    }
}

impl<'a, T> From<&'a [T]> for Array<'a, T> {
    fn from(items: &'a [T]) -> Self {
        Self(Storage::Borrowed(items))
    }
}

impl<'a, T> From<&'a Vec<T>> for Array<'a, T> {
    fn from(items: &'a Vec<T>) -> Self {
        Self(Storage::Borrowed(items))
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for Array<'a, T> {
    fn from(items: &'a [T; N]) -> Self {
        Self(Storage::Borrowed(items))
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Array<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
