//! Memory of large arrays that are done with, kept for the next ones.
//!
//! The system clears fresh memory page by page, which took up to a fifth of a solve. What one array leaves, the next can take as
//! it is: within a solve, and from solve to solve. Whenever the system is short of memory, it may have it back at once; only
//! small pages stay, which are few, as to offer each of them and to be heard by all cores takes too long.

use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::MmapMut;

use crate::buffer::SMALL;
use crate::team::is_aside;

/// Bytes that are kept at most in huge pages; and in small ones, of which a solve needs some five arrays at a time.
const MOST: usize = 256 << 20;
const MOST_SMALL: usize = 16 << 20;

/// The oldest first.
static SPARE: Mutex<Vec<MmapMut>> = Mutex::new(Vec::new());

/// Gives the memory back to the system that is kept for the next solves: 272 MiB at most. The system can take all but 16 MiB of it
/// without being asked, but until it does, it counts as this program's.
///
/// ```
/// let graph = kostra::generate("grid:rows=1000,cols=1000")?;
/// let forest = kostra::minimum_spanning_forest(&graph)?;
/// kostra::release_memory();
/// # Ok::<(), kostra::Error>(())
/// ```
pub fn release_memory() {
    let kept = std::mem::take(&mut *lock());
    drop(kept);
}

/// Keeps memory for later, unless it is too much.
pub(crate) fn keep(map: MmapMut) {
    let huge = is_huge(&map);
    let most = match huge {
        true => MOST,
        // Streams have limits of memory, and merge seldom.
        false if is_aside() => 0,
        false => MOST_SMALL,
    };
    if map.len() > most {
        return;
    }
    #[cfg(target_os = "linux")]
    if huge {
        // SAFETY: nothing borrows the map, so nobody sees its bytes change to zeros. Advice only: it need not be taken.
        #[allow(unsafe_code)]
        let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::Free) };
    }
    let mut spare = lock();
    spare.push(map);
    let is_alike = |map: &MmapMut| is_huge(map) == huge;
    let beyond = spare.iter().filter(|map| is_alike(map)).map(|map| map.len()).sum::<usize>().saturating_sub(most);
    let oldest = remove(&mut spare, beyond, |spare| spare.iter().position(is_alike));
    drop(spare);
    // Giving back takes longer than others should wait.
    drop(oldest);
}

/// Memory of at least so many bytes, with anything in it, and `more` than that at most.
pub(crate) fn take(bytes: usize, more: usize) -> Option<MmapMut> {
    let mut spare = lock();
    let fitting = spare.iter().enumerate().filter(|(_, map)| (bytes..=bytes.saturating_add(more)).contains(&map.len()));
    let (at, _) = fitting.min_by_key(|(_, map)| map.len())?;
    Some(spare.remove(at))
}

/// Gives back what fresh memory of so many bytes in huge pages can take the place of: so such memory that is kept never adds to a
/// peak.
pub(crate) fn make_way(bytes: usize) {
    // The largest are worth most.
    let smallest =
        |spare: &[MmapMut]| (0..spare.len()).filter(|&at| is_huge(&spare[at])).min_by_key(|&at| spare[at].len());
    let gone = remove(&mut lock(), bytes, smallest);
    drop(gone);
}

fn is_huge(map: &MmapMut) -> bool {
    map.len() > SMALL
}

/// Removes the next that `pick` says until they have so many bytes together, or it finds none.
fn remove(spare: &mut Vec<MmapMut>, bytes: usize, pick: impl Fn(&[MmapMut]) -> Option<usize>) -> Vec<MmapMut> {
    let (mut gone, mut missing) = (Vec::new(), bytes);
    while missing > 0
        && let Some(at) = pick(spare)
    {
        let map = spare.remove(at);
        missing = missing.saturating_sub(map.len());
        gone.push(map);
    }
    gone
}

fn lock() -> MutexGuard<'static, Vec<MmapMut>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_picked_goes_and_no_more_than_asked_for() {
        let left = |bytes, pick: fn(&[MmapMut]) -> Option<usize>| {
            let mut maps: Vec<_> = [2, 1, 3].map(|pages: usize| MmapMut::map_anon(pages << 12).unwrap()).into();
            let gone = remove(&mut maps, bytes, pick);
            assert_eq!(gone.len() + maps.len(), 3);
            maps.iter().map(|map| map.len() >> 12).collect::<Vec<_>>()
        };
        let first = |maps: &[MmapMut]| (!maps.is_empty()).then_some(0);
        assert_eq!(left(0, first), [2, 1, 3]);
        assert_eq!(left(1, first), [1, 3]);
        assert_eq!(left(2 << 12, first), [1, 3]);
        assert_eq!(left((2 << 12) + 1, first), [3]);
        assert_eq!(left(usize::MAX, first), []);
        assert_eq!(left(1, |maps| maps.len().checked_sub(1)), [2, 1]);
        assert_eq!(left(usize::MAX, |maps| maps.iter().position(|map| map.len() > 1 << 12)), [1]);
    }
}
