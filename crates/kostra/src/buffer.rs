//! Large arrays, in memory that was used before or in huge pages, where there are any.
//!
//! A fresh array costs one page fault for every 4 KiB that is first written, which is more than writing it: filling
//! new memory ran at 1.5 GB/s in small pages and at 5 GB/s in pages of 2 MiB. So large arrays are anonymous maps, which are kept
//! for the next ones, and for the largest huge pages are asked. They take memory only where they are written: room that is never
//! used costs nothing.

use std::hint::black_box;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

use crate::error::{Error, Result};
use crate::spare;
use crate::team::each;

/// The pages of most systems. Where theirs are larger, it is no harm.
const SMALL_PAGE: usize = 4 << 10;
const HUGE_PAGE: usize = 2 << 20;

/// Bytes from which an array is a map of its own: from there on, the C library makes maps as well, but gives them back when done.
const LARGE: usize = 128 << 10;

/// What the lengths of maps in small pages are multiples of, so that the next array may be longer.
const UNIT: usize = LARGE / 4;

/// The longest maps in small pages. Longer ones have two huge pages or more, of which at least one lies whole inside.
pub(crate) const SMALL: usize = 2 * HUGE_PAGE - UNIT;

/// Bytes that arrays for work may have beyond what they need.
const TOO_MUCH: usize = 32 << 20;

/// Fails when the system will not even promise so much memory. Without the question, the process would be aborted.
pub(crate) fn check_room(bytes: u64) -> Result<()> {
    let mut probe = Vec::<u8>::new();
    let is_promised = usize::try_from(bytes).is_ok_and(|bytes| probe.try_reserve_exact(bytes).is_ok());
    // Or the compiler removes a reservation that nobody uses.
    black_box(&probe);
    if is_promised { Ok(()) } else { Err(Error::Memory { bytes }) }
}

/// An array to be filled: a vector where it is small, an anonymous map where it is large. Its map goes to the [`spare`] ones when it
/// is dropped.
///
/// Looking into it goes through a check of alignment; in loops, take the slice out once.
#[derive(Debug)]
pub(crate) struct Buffer<T>(Storage<T>);

#[derive(Debug)]
enum Storage<T> {
    Vector(Vec<T>),
    Map { bytes: MmapMut, len: usize },
}

impl<T: Pod> Buffer<T> {
    /// `len` zeros; an error where there is no memory for them.
    pub(crate) fn zeroed(len: usize) -> Result<Self> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or(Error::Memory { bytes: u64::MAX })?;
        if bytes >= LARGE {
            // Whole huge pages, or Linux puts the map where no page boundary is and fills its ends with small ones.
            let unit = if bytes > SMALL { HUGE_PAGE } else { UNIT };
            if bytes > SMALL {
                spare::make_way(bytes);
            }
            if let Ok(map) = MmapMut::map_anon(bytes.checked_next_multiple_of(unit).unwrap_or(bytes)) {
                // Advice only: where there are no huge pages, small ones do.
                #[cfg(target_os = "linux")]
                if bytes > SMALL {
                    let _ = map.advise(memmap2::Advice::HugePage);
                }
                return Ok(Self(Storage::Map { bytes: map, len }));
            }
        }
        let mut items = Vec::new();
        items.try_reserve_exact(len).map_err(|_| Error::Memory { bytes: bytes as u64 })?;
        items.resize(len, T::zeroed());
        Ok(Self(Storage::Vector(items)))
    }

    /// `len` items of any value, each of which is to be written before it is read: in memory that was used before, if there is
    /// some. For work that is soon done, because there may be more memory than that takes.
    pub(crate) fn of_any(len: usize) -> Result<Self> {
        Self::used(len, TOO_MUCH).map_or_else(|| Self::zeroed(len), Ok)
    }

    /// The same in memory that is hardly more, for results.
    pub(crate) fn of_any_to_keep(len: usize) -> Result<Self> {
        Self::used(len, HUGE_PAGE.min(len.saturating_mul(size_of::<T>()) / 2)).map_or_else(|| Self::zeroed(len), Ok)
    }

    /// `len` zeros as [`of_any`](Self::of_any), where most of them will be used.
    pub(crate) fn of_zeros(len: usize) -> Result<Self>
    where
        T: Send,
    {
        let Some(mut items) = Self::used(len, TOO_MUCH) else { return Self::zeroed(len) };
        each(items.chunks_mut(HUGE_PAGE / size_of::<T>()), |_, part| part.fill(T::zeroed()));
        Ok(items)
    }

    /// Memory that was used before, with up to `more` bytes more.
    fn used(len: usize, more: usize) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| bytes >= LARGE)?;
        // What is in small pages leaves the huge ones to others.
        let more = if bytes > SMALL { more } else { more.min(bytes).min(SMALL - bytes) };
        Some(Self(Storage::Map { bytes: spare::take(bytes, more)?, len }))
    }

    /// As [`of_any_to_keep`](Self::of_any_to_keep), [populated](Self::populate) with all items.
    #[cfg(feature = "cuda")]
    pub(crate) fn populated(len: usize) -> Result<Self> {
        let mut buffer = Self::of_any_to_keep(len)?;
        buffer.populate(len);
        Ok(buffer)
    }

    /// Takes the memory of the first `len` items now, every huge page on one thread. Where threads write to neighbouring places,
    /// they would else all clear the page that none of them finds there, and all but one in vain.
    pub(crate) fn populate(&mut self, len: usize) {
        if let Storage::Map { bytes, len: all } = &mut self.0 {
            let bytes = &mut bytes[..len.min(*all) * size_of::<T>()];
            let touch = |_, page: &mut [u8]| page.iter_mut().step_by(SMALL_PAGE).for_each(|byte| *byte = 0);
            each(bytes.chunks_mut(HUGE_PAGE), touch);
        }
    }

    /// So many items of any value: this memory where it is enough, which need not be cleared then, else new.
    pub(crate) fn again(mut self, len: usize) -> Result<Self> {
        if self.len() < len {
            drop(self);
            return Self::of_any(len);
        }
        self.truncate(len);
        Ok(self)
    }

    /// Keeps the first `len` items. The rest of a map stays reserved, which takes no memory where nothing was written.
    pub(crate) fn truncate(&mut self, len: usize) {
        match &mut self.0 {
            Storage::Vector(items) => {
                items.truncate(len);
                items.shrink_to_fit();
            }
            Storage::Map { len: all, .. } => *all = len.min(*all),
        }
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(items: Vec<T>) -> Self {
        Self(Storage::Vector(items))
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if let Storage::Map { bytes, .. } = std::mem::replace(&mut self.0, Storage::Vector(Vec::new())) {
            spare::keep(bytes);
        }
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Vector(items) => items,
            Storage::Map { bytes, len } => bytemuck::cast_slice(&bytes[..len * size_of::<T>()]),
        }
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Storage::Vector(items) => items,
            Storage::Map { bytes, len } => bytemuck::cast_slice_mut(&mut bytes[..*len * size_of::<T>()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;

    #[test]
    fn buffers_of_every_size_are_zeroed_filled_cut_and_handed_over() {
        for len in [0, 1, 1000, LARGE / 8 - 1, LARGE / 8, LARGE / 8 + 1, LARGE, SMALL / 8, SMALL / 8 + 1, SMALL] {
            let mut buffer = Buffer::<u64>::zeroed(len).unwrap();
            assert_eq!(buffer.len(), len);
            assert!(buffer.iter().all(|&item| item == 0));
            buffer.iter_mut().enumerate().for_each(|(at, item)| *item = at as u64);
            buffer.truncate(len * 2);
            assert_eq!(buffer.len(), len);
            buffer.truncate(len / 2);
            let array = Array::from(buffer);
            assert_eq!(array.len(), len / 2);
            assert!(array.iter().enumerate().all(|(at, &item)| item == at as u64));
        }
    }

    #[test]
    fn memory_that_was_used_is_used_again_and_cleared_where_zeros_are_wanted() {
        for (len, round) in [LARGE / 8 + 5, SMALL / 8, SMALL / 8 + 5]
            .into_iter()
            .flat_map(|len| (0..4u64).map(move |round| (len, round)))
        {
            let mut any = Buffer::<u64>::of_any(len).unwrap();
            any.fill(!round);
            assert_eq!((any.len(), any[len - 1]), (len, !round));
            drop(any);
            let zeros = Buffer::<u64>::of_zeros(len - 5).unwrap();
            assert_eq!(zeros.len(), len - 5);
            assert!(zeros.iter().all(|&item| item == 0), "round {round}");
            let kept = Buffer::<u32>::of_any_to_keep(len).unwrap();
            assert_eq!(kept.len(), len);
            crate::release_memory();
        }
    }

    #[test]
    fn what_no_memory_can_hold_is_an_error() {
        for len in [usize::MAX, usize::MAX / 8, 1 << 58] {
            assert!(matches!(Buffer::<u64>::zeroed(len), Err(Error::Memory { .. })), "{len}");
            assert!(matches!(check_room(len as u64), Err(Error::Memory { .. })), "{len}");
        }
    }
}
