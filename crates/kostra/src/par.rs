//! The pieces that several algorithms share: memory open to all threads, prefix sums, packing, trees of links, radix sort, bits,
//! work aside.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;

use bytemuck::Pod;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::bits::list_ones;
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::team::{each, is_in_team, stay_aside};

/// Below this many items one thread does the work: starting others would cost more.
pub(crate) const PARALLEL_FROM: usize = 1 << 14;

/// The same where others need not be woken. Two threads take 3 to 5 % less on a dense graph of ten thousand vertices, 1 % on cliques.
const AWAKE_FROM: usize = 1 << 13;

/// Fewer items are sorted by comparing them. A thousand numbers of 24 bits took 6 us so and 2 by digits, ten thousand 72 and 29.
const RADIX_FROM: usize = 1 << 10;

/// Bits sorted in one pass. 256 places to write to at a time are few enough for the cache and its table of pages.
const DIGIT: u32 = 8;
const DIGITS: usize = 1 << DIGIT;

/// Integers that can be shared between threads in place.
pub(crate) trait Shareable: Sized {
    /// The atomic integer of the same width.
    type Atomic: Sync;
    /// The same memory, open to all threads.
    fn shared(items: &mut [Self]) -> &[Self::Atomic];
    /// Stores one item. Relaxed: readers come after the threads have joined.
    fn put(place: &Self::Atomic, item: Self);
}

macro_rules! shareable {
    ($plain:ty, $atomic:ty) => {
        impl Shareable for $plain {
            type Atomic = $atomic;

            #[allow(unsafe_code)]
            fn shared(items: &mut [Self]) -> &[$atomic] {
                const { assert!(align_of::<$atomic>() == align_of::<$plain>()) };
                // SAFETY: both types have the same size, alignment and bit patterns, and while the result lives nobody
                // else can reach the items, since they are mutably borrowed.
                unsafe { std::slice::from_raw_parts(items.as_mut_ptr().cast(), items.len()) }
            }

            #[inline(always)]
            fn put(place: &$atomic, item: Self) {
                place.store(item, Ordering::Relaxed);
            }
        }
    };
}
shareable!(u8, AtomicU8);
shareable!(u32, AtomicU32);
shareable!(u64, AtomicU64);

/// The same memory, open to all threads. A relaxed load or store costs what a plain one does.
pub(crate) fn shared<T: Shareable>(items: &mut [T]) -> &[T::Atomic] {
    T::shared(items)
}

/// Asks for the cache line of an item that will be needed soon. Items that do not exist are no harm.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn prefetch<T>(items: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that the program can see, and never faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(items.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, at);
}

/// How long the blocks are into which `len` items are cut for all threads: a few for each, so that none waits long. To be asked
/// before a stage begins: a team, whose threads are awake, shares out fewer.
pub(crate) fn block(len: usize) -> usize {
    let from = if is_in_team() { AWAKE_FROM } else { PARALLEL_FROM };
    if len < from { len.max(1) } else { len.div_ceil(rayon::current_num_threads() * 8).max(from / 16) }
}

/// Replaces every count by the sum of those before it, and returns the sum of all.
pub(crate) fn scan<T>(counts: &mut [T]) -> T
where
    T: Copy + Default + std::ops::Add<Output = T> + Send + Sync,
{
    fn serial<T: Copy + std::ops::Add<Output = T>>(counts: &mut [T], first: T) -> T {
        counts.iter_mut().fold(first, |sum, count| {
            let next = sum + *count;
            *count = sum;
            next
        })
    }
    let block = block(counts.len());
    if block >= counts.len() {
        return serial(counts, T::default());
    }
    let mut sums: Vec<T> =
        each(counts.chunks(block), |_, part| part.iter().fold(T::default(), |sum, &count| sum + count));
    let total = serial(&mut sums, T::default());
    each(counts.chunks_mut(block).zip(sums), |_, (part, first)| {
        serial(part, first);
    });
    total
}

/// Cuts a slice into pieces of these lengths, which add up to its own.
pub(crate) fn split<'a, T>(mut slice: &'a mut [T], lengths: &[usize]) -> Vec<&'a mut [T]> {
    let mut pieces = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let (piece, rest) = slice.split_at_mut(length);
        pieces.push(piece);
        slice = rest;
    }
    pieces
}

/// What `keep` makes of `0..len`, in order, without what it drops.
pub(crate) fn pack<T: Send>(len: usize, keep: impl Fn(usize) -> Option<T> + Sync) -> Vec<T> {
    let block = block(len);
    if block >= len {
        return (0..len).filter_map(keep).collect();
    }
    let parts: Vec<Vec<T>> = (0..len.div_ceil(block))
        .into_par_iter()
        .map(|part| (part * block..len.min((part + 1) * block)).filter_map(&keep).collect())
        .collect();
    let mut all = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.into_iter().for_each(|part| all.extend(part));
    all
}

/// The number of a vertex that is in no tree.
pub(crate) const DROPPED: u32 = u32::MAX;

/// Replaces every vertex's link by the number of its tree, and returns how many trees there are. Links may close cycles
/// of one or two vertices, no longer ones. Vertices that are not `alive` are linked to nothing and get no number.
pub(crate) fn number_trees(links: &mut [u32], alive: impl Fn(u32) -> bool + Sync) -> usize {
    let n = links.len();
    let block = block(n);
    let (shared_links, mut numbers) = (shared(links), vec![DROPPED; n]);
    let link = |v: u32| shared_links[v as usize].load(Ordering::Relaxed);
    let on_all = |act: &(dyn Fn(u32) + Sync)| {
        (0..n.div_ceil(block)).into_par_iter().for_each(|part| {
            (part * block..n.min((part + 1) * block)).for_each(|v| act(v as u32));
        });
    };
    // The smaller of two vertices that are linked to each other becomes the root. It is the only one to change.
    on_all(&|v| {
        if v < link(v) && link(link(v)) == v {
            shared_links[v as usize].store(v, Ordering::Relaxed);
        }
    });
    // Then the whole path to a root is linked to the root. Other threads may do the same meanwhile: whatever they write
    // is further down the same path, so relaxed loads lead to the same root.
    on_all(&|v| {
        let mut root = link(v);
        while link(root) != root {
            root = link(root);
        }
        let mut at = v;
        while link(at) != root {
            let next = link(at);
            shared_links[at as usize].store(root, Ordering::Relaxed);
            at = next;
        }
    });
    let roots = pack(n, |v| (link(v as u32) == v as u32 && alive(v as u32)).then_some(v as u32));
    let shared_numbers = shared(&mut numbers);
    roots.par_chunks(block).enumerate().for_each(|(part, roots)| {
        let numbered = roots.iter().zip((part * block) as u32..);
        numbered.for_each(|(&root, number)| shared_numbers[root as usize].store(number, Ordering::Relaxed));
    });
    links.par_chunks_mut(block).for_each(|part| part.iter_mut().for_each(|link| *link = numbers[*link as usize]));
    roots.len()
}

/// Places that different threads write to, each place once.
struct Places<T>(*mut T);

// SAFETY: the only use is `put`, whose callers write every place at most once.
#[allow(unsafe_code)]
unsafe impl<T: Send> Sync for Places<T> {}

impl<T> Places<T> {
    /// # Safety
    ///
    /// `at` is inside the slice that this was made from, and no other thread reads or writes that place meanwhile.
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn put(&self, at: usize, item: T) {
        // SAFETY: as above.
        unsafe { self.0.add(at).write(item) }
    }
}

/// Sorts by the lowest `bits` of `key`, keeping the order of equals: least significant digit first, on all threads.
///
/// Digits that are the same in all keys cost a count, not a pass.
pub(crate) fn radix_sort<T: Pod + Send + Sync>(items: &mut Vec<T>, bits: u32, key: impl Fn(&T) -> u64 + Sync) {
    if items.len() < RADIX_FROM {
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        items.sort_by_key(|item| key(item) & mask);
        return;
    }
    let mut other: Vec<T> = vec![T::zeroed(); items.len()];
    for low in (0..bits).step_by(DIGIT as usize) {
        let mask = (1u64 << DIGIT.min(bits - low)) - 1;
        if spread(items, &mut other, |item| (key(item) >> low & mask) as usize).is_some() {
            std::mem::swap(items, &mut other);
        }
    }
}

/// Different numbers below `end`, ascending: by their topmost digit, then those that share it by setting a bit for each.
pub(crate) fn sorted_distinct(items: &[u32], end: usize) -> Result<Buffer<u32>> {
    // Where numbers are few, the bits would be looked through for little.
    if items.len() < PARALLEL_FROM {
        let mut sorted = items.to_vec();
        radix_sort(&mut sorted, usize::BITS - end.leading_zeros(), |&item| item.into());
        return Ok(sorted.into());
    }
    let mut sorted = Buffer::of_any_to_keep(items.len())?;
    if items.len() < end / 256 {
        sorted.copy_from_slice(items);
        sorted.par_sort_unstable();
        return Ok(sorted);
    }
    let shift = (usize::BITS - (end - 1).leading_zeros()).saturating_sub(DIGIT);
    let digit = |&item: &u32| (item >> shift) as usize;
    let lengths = spread(items, &mut sorted, digit).unwrap_or_else(|| {
        sorted.copy_from_slice(items);
        let mut lengths = [0; DIGITS];
        lengths[digit(&items[0])] = items.len();
        lengths
    });
    each(split(&mut sorted, &lengths), |digit, part| {
        let first = (digit << shift) as u32;
        let mut bits = vec![0u64; (1usize << shift).div_ceil(64)];
        for &item in &*part {
            let bit = (item - first) as usize;
            bits[bit / 64] |= 1 << (bit % 64);
        }
        list_ones(&bits, first, part);
    });
    Ok(sorted)
}

/// Copies the items to `other` by rising digit, keeping the order of equals, and returns how many have each digit; none, and no
/// copy, where all are equal.
#[allow(unsafe_code)]
fn spread<T: Pod + Send + Sync>(
    items: &[T],
    other: &mut [T],
    digit: impl Fn(&T) -> usize + Sync,
) -> Option<[usize; DIGITS]> {
    assert_eq!(items.len(), other.len());
    let block = block(items.len());
    let mut counts: Vec<[usize; DIGITS]> = each(items.chunks(block), |_, part| {
        let mut counts = [0; DIGITS];
        part.iter().for_each(|item| counts[digit(item)] += 1);
        counts
    });
    let (mut start, mut lengths) = (0, [0; DIGITS]);
    for digit in 0..DIGITS {
        let before = start;
        for part in &mut counts {
            start += std::mem::replace(&mut part[digit], start);
        }
        lengths[digit] = start - before;
        if lengths[digit] == items.len() {
            return None;
        }
    }
    let places = Places(other.as_mut_ptr());
    each(items.chunks(block).zip(counts), |_, (part, mut next)| {
        for item in part {
            let at = &mut next[digit(item)];
            assert!(*at < items.len());
            // SAFETY: `at` is inside. The counts cut `other` into one range for each digit of each part, as long as that
            // part has items with that digit, and `digit` gives the same answer each time.
            unsafe { places.put(*at, *item) };
            *at += 1;
        }
    });
    Some(lengths)
}

/// Work beside the caller's, on as many threads of its own, one piece at a time.
#[derive(Debug)]
pub(crate) struct Aside<T> {
    name: &'static str,
    threads: usize,
    /// Made when it is first needed.
    pool: Option<Arc<ThreadPool>>,
    running: Option<JoinHandle<Result<T>>>,
}

impl<T: Send + 'static> Aside<T> {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, threads: rayon::current_num_threads(), pool: None, running: None }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Another one on the same threads, where nothing runs.
    pub(crate) fn fork(&self) -> Self {
        Self { pool: self.pool.clone(), running: None, ..*self }
    }

    /// Starts a piece of work; none runs.
    pub(crate) fn start(&mut self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<()> {
        debug_assert!(self.running.is_none());
        let pool = match &self.pool {
            Some(pool) => Arc::clone(pool),
            None => {
                let name = self.name;
                let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).thread_name(|_| name.into());
                let pool = pool.start_handler(|_| stay_aside()).build().map_err(|error| Error::Device {
                    name: "cpu".into(),
                    what: format!("the threads did not start ({error}); use fewer"),
                })?;
                Arc::clone(self.pool.insert(Arc::new(pool)))
            }
        };
        let failed = |source| Error::Io { file: "starting a thread".into(), source };
        let thread = std::thread::Builder::new().name(self.name.into());
        self.running = Some(thread.spawn(move || pool.install(work)).map_err(failed)?);
        Ok(())
    }

    /// What came of the piece that runs, once it is done; `None` where none does. It waits without doing other work, so a thread
    /// of the caller's pool may call it under a lock.
    pub(crate) fn wait(&mut self) -> Result<Option<T>> {
        let Some(running) = self.running.take() else { return Ok(None) };
        running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::mix;

    #[test]
    fn sums_and_packs_are_the_same_on_any_number_of_threads() {
        for len in [0, 1, 1000, PARALLEL_FROM + 77, 200_000] {
            let counts: Vec<u64> = (0..len as u64).map(|i| mix(i) % 5).collect();
            let mut sums = counts.clone();
            assert_eq!(scan(&mut sums), counts.iter().sum());
            assert!(sums.iter().enumerate().all(|(i, &sum)| i == 0 && sum == 0 || sum == sums[i - 1] + counts[i - 1]));
            let packed = pack(len, |i| (counts[i] == 2).then_some(i));
            assert!(packed.into_iter().eq((0..len).filter(|&i| counts[i] == 2)));
        }
    }

    #[test]
    fn distinct_numbers_are_sorted_few_or_many_near_or_far() {
        for (len, step) in
            [(0, 1), (1, 1), (1000, 3), (20_000, 1), (50_000, 2), (300_000, 1), (100_000, 40_000), (20_000, 500)]
        {
            let expected: Vec<u32> = (0..len).map(|i: u32| i * step).collect();
            let mut items = expected.clone();
            items.sort_by_key(|&item| mix(item.into()));
            assert!(
                sorted_distinct(&items, (len * step) as usize).unwrap()[..] == expected,
                "{len} numbers, {step} apart"
            );
        }
    }

    #[test]
    fn radix_sort_is_stable_and_looks_at_no_other_bits() {
        for (len, bits) in [(0, 32), (1, 8), (5000, 17), (100_000, 0), (100_000, 13), (150_000, 64)] {
            let mut items: Vec<[u64; 2]> = (0..len).map(|i| [mix(i) % (1 << 40), i]).collect();
            let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
            let mut expected = items.clone();
            expected.sort_by_key(|item| item[0] & mask);
            radix_sort(&mut items, bits, |item| item[0]);
            assert!(items == expected, "{len} items, {bits} bits");
        }
    }
}
