//! Large temporary arrays.
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

/// From this many bytes on, memory is mapped in huge pages.
const MAPPED_FROM: usize = 4 << 20;

/// An array that starts as zeros.
pub(crate) struct Buffer<T>(Storage<T>);

enum Storage<T> {
    Heap(Vec<T>),
    Mapped(MmapMut, usize),
}

impl<T: Pod> Buffer<T> {
    pub(crate) fn zeroed(len: usize) -> Self {
        let bytes = len * size_of::<T>();
        if bytes >= MAPPED_FROM {
            if let Ok(map) = MmapMut::map_anon(bytes) {
                #[cfg(target_os = "linux")]
                let _ = map.advise(memmap2::Advice::HugePage);
                return Self(Storage::Mapped(map, len));
            }
        }
        Self(Storage::Heap(vec![T::zeroed(); len]))
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Heap(items) => items,
            Storage::Mapped(map, len) => bytemuck::cast_slice(&map[..len * size_of::<T>()]),
        }
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Storage::Heap(items) => items,
            Storage::Mapped(map, len) => bytemuck::cast_slice_mut(&mut map[..*len * size_of::<T>()]),
        }
    }
}
