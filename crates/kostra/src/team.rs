//! A team: the threads of the caller's pool, kept awake between the stages of one solve.
//!
//! A solver alternates between stages for all threads and short ones for a single thread, some hundred times in a few
//! milliseconds. Rayon's threads fall asleep when there is nothing to do for some 30 us; the system then wakes them one after the
//! other, which takes longer than most stages. The threads of a team look for the next stage until the solve is over.
//!
//! ```text
//! as_team(solve):
//!     ask every thread of the pool to join; solve
//!
//! each(items, act), inside a solve:
//!     publish a stage: as many blocks as there are items, a range of them for every thread
//!     act on blocks of the own range, then of others', until all are claimed; wait until all are done
//!
//! a thread that has joined, until the solve is over:
//!     when there is a new stage: act on blocks as above
//!     else, now and then, do other work of the pool; after a long time without a stage, leave
//! ```
//!
//! - Nobody is waited for but those who act on a block: threads may join late, leave, or be busy elsewhere. So several solves can
//!   share a pool, and a pool with other work to do slows a solve down but never stops it.
//! - A thread begins with the same part of the blocks in every stage: what it wrote in the last one is in its cache.
//! - Elsewhere, and within a stage, [`each`] is a parallel iteration of rayon's.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::hint::spin_loop;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use rayon::prelude::*;

/// How long a thread looks for the next stage before it leaves. Serial stages take less, and who has left must be woken.
const PATIENCE: Duration = Duration::from_millis(1);

/// Looks at the number of the stage between two for other work, which take longer.
const LOOKS: u32 = 64;

/// The lower bits of a claim: the next block. Above them stands the number of the stage.
const BLOCK_BITS: u32 = 24;
const BLOCKS: u64 = (1 << BLOCK_BITS) - 1;

thread_local! {
    /// The team whose solve this thread runs, except within a stage.
    static TEAM: RefCell<Option<Arc<Team>>> = const { RefCell::new(None) };
    /// Whether this thread is in a team, as the one that solves or as another.
    static IS_MEMBER: Cell<bool> = const { Cell::new(false) };
}

/// Threads on one solve.
struct Team {
    /// For every thread, the next block of its range, below the number of the stage.
    claims: Box<[Line<AtomicU64>]>,
    /// The number of the present stage, or of the last.
    number: Line<AtomicU64>,
    /// How many of its blocks are done.
    done: Line<AtomicUsize>,
    /// How many threads have not been asked to join, or have left.
    missing: AtomicUsize,
    is_over: AtomicBool,
    /// The present stage and how many blocks it has.
    stage: AtomicPtr<Stage<'static>>,
    blocks: AtomicUsize,
    /// What the first block died of that did.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// What is done with every block.
struct Stage<'a>(&'a (dyn Fn(usize) + Sync));

/// A value that shares its cache lines with no other; processors fetch them in pairs.
#[repr(align(128))]
#[derive(Default)]
struct Line<T>(T);

/// Runs `solve` in the caller's pool, with all its threads at hand for [`each`].
pub(crate) fn as_team<R: Send>(solve: impl FnOnce() -> R + Send) -> R {
    static CORES: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, NonZero::get));
    match rayon::current_num_threads() {
        1 => solve(),
        // Where threads take turns, those that look for work would keep others from theirs.
        threads if threads > *CORES => rayon::join(solve, || ()).0,
        _ => rayon::join(|| lead(solve), || ()).0,
    }
}

/// Runs `solve` on this thread of a pool, and asks all others to join in.
fn lead<R>(solve: impl FnOnce() -> R) -> R {
    /// What this thread was before, which it will be again whether `solve` returns or panics.
    struct Before {
        team: Option<Arc<Team>>,
        is_member: bool,
    }

    impl Drop for Before {
        fn drop(&mut self) {
            IS_MEMBER.set(self.is_member);
            if let Some(ended) = TEAM.replace(self.team.take()) {
                ended.is_over.store(true, Relaxed);
            }
        }
    }

    let team = Arc::new(Team::new(rayon::current_num_threads()));
    team.ask();
    let _before = Before { team: TEAM.replace(Some(team)), is_member: IS_MEMBER.replace(true) };
    solve()
}

/// Whether this thread has a team at hand.
pub(crate) fn is_in_team() -> bool {
    TEAM.with_borrow(Option::is_some)
}

/// What `act` makes of every item and its number, on all threads. Of few items, each should be much work.
pub(crate) fn each<T: Send, R: Send>(items: impl IntoIterator<Item = T>, act: impl Fn(usize, T) -> R + Sync) -> Vec<R> {
    let items: Vec<T> = items.into_iter().collect();
    // Taken out, so that within the stage there is no team.
    let team = if items.len() > 1 { TEAM.take() } else { None };
    let Some(team) = team else {
        if items.len() <= 1 || rayon::current_num_threads() == 1 {
            return items.into_iter().enumerate().map(|(number, item)| act(number, item)).collect();
        }
        return items.into_par_iter().enumerate().map(|(number, item)| act(number, item)).collect();
    };
    enum Place<T, R> {
        Item(T),
        Result(R),
        Taken,
    }
    let places: Vec<Mutex<Place<T, R>>> = items.into_iter().map(|item| Mutex::new(Place::Item(item))).collect();
    let on_block = |number: usize| {
        // Nobody waits for these locks: every block is claimed once.
        let mut place = places[number].lock().unwrap_or_else(PoisonError::into_inner);
        if let Place::Item(item) = std::mem::replace(&mut *place, Place::Taken) {
            *place = Place::Result(act(number, item));
        }
    };
    let panic = team.run(places.len(), &on_block);
    TEAM.set(Some(team));
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
    let result = |place: Mutex<Place<T, R>>| match place.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Place::Result(result) => result,
        _ => unreachable!("all blocks are done"),
    };
    places.into_iter().map(result).collect()
}

impl Team {
    fn new(threads: usize) -> Self {
        Self {
            claims: (0..threads).map(|_| Line::default()).collect(),
            number: Line::default(),
            done: Line::default(),
            missing: AtomicUsize::new(threads - 1),
            is_over: AtomicBool::new(false),
            stage: AtomicPtr::new(ptr::null_mut()),
            blocks: AtomicUsize::new(0),
            panic: Mutex::new(None),
        }
    }

    /// The first block of a thread's range; the next thread's ends it.
    fn start(&self, thread: usize, blocks: usize) -> usize {
        blocks * thread / self.claims.len()
    }

    /// Lets `act` loose on all blocks, and returns when they are done. Only the thread that solves calls this.
    #[allow(unsafe_code)]
    fn run(self: &Arc<Self>, blocks: usize, act: &(dyn Fn(usize) + Sync)) -> Option<Box<dyn Any + Send>> {
        assert!(blocks as u64 <= BLOCKS);
        self.ask();
        let mut stage = Stage(act);
        let number = self.number.0.load(Relaxed) + 1;
        // Who still looks at the last stage must not take its claims for open because this one has more blocks: whoever sees
        // anything of this stage has to see these claims.
        for (thread, claim) in self.claims.iter().enumerate() {
            claim.0.store(number << BLOCK_BITS | self.start(thread, blocks) as u64, Relaxed);
        }
        self.done.0.store(0, Relaxed);
        self.blocks.store(blocks, Release);
        self.stage.store(ptr::from_mut(&mut stage).cast(), Release);
        self.number.0.store(number, Release);
        let mine = rayon::current_thread_index().unwrap_or(0);
        self.work(mine, number);
        let mut looks = 0;
        while self.done.0.load(Acquire) < blocks {
            pause(&mut looks);
        }
        // Taken before `stage` is gone, which nobody can reach any more.
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Claims blocks of a stage and acts on them until all are claimed.
    #[allow(unsafe_code)]
    fn work(&self, mine: usize, number: u64) {
        let (threads, stage, blocks) = (self.claims.len(), self.stage.load(Acquire), self.blocks.load(Acquire));
        for thread in (mine..threads).chain(0..mine) {
            let (claim, end) = (&self.claims[thread].0, self.start(thread + 1, blocks) as u64);
            let (mut seen, mut done) = (claim.load(Relaxed), 0);
            while seen >> BLOCK_BITS == number && seen & BLOCKS < end {
                if let Err(other) = claim.compare_exchange_weak(seen, seen + 1, Relaxed, Relaxed) {
                    seen = other;
                    continue;
                }
                // SAFETY: this thread alone has claimed this block of stage `number`, which is not done, so `run` has not
                // returned and what it borrows lives. It is that stage: older ones were gone when `number` was seen, and with a
                // newer one its claims would have been seen.
                let Stage(act) = unsafe { &*stage };
                let block = (seen & BLOCKS) as usize;
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| act(block))) {
                    self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
                }
                done += 1;
                seen = claim.load(Relaxed);
            }
            if done > 0 {
                self.done.0.fetch_add(done, Release);
            }
        }
    }

    /// Asks the threads to join that have not been asked or have left. Another thread does that, as it takes a while.
    fn ask(self: &Arc<Self>) {
        if self.missing.load(Relaxed) > 0 && self.missing.swap(0, Relaxed) > 0 {
            let team = Arc::clone(self);
            rayon::spawn(move || {
                if !team.is_over.load(Relaxed) {
                    rayon::spawn_broadcast(move |context| team.join(context.index()));
                }
            });
        }
    }

    /// Joins the team, unless this thread is in one already, and stays until the solve is over or there is nothing to do.
    fn join(&self, mine: usize) {
        if IS_MEMBER.replace(true) {
            return;
        }
        // A stage that began before is looked at once.
        let (mut number, mut looks, mut idle) = (0, 0, Instant::now());
        while !self.is_over.load(Relaxed) {
            let present = self.number.0.load(Acquire);
            if present != number {
                number = present;
                self.work(mine, number);
                (looks, idle) = (0, Instant::now());
                continue;
            }
            pause(&mut looks);
            if looks.is_multiple_of(LOOKS) {
                if matches!(rayon::yield_now(), Some(rayon::Yield::Executed)) {
                    idle = Instant::now();
                } else if idle.elapsed() > PATIENCE {
                    self.missing.fetch_add(1, Relaxed);
                    break;
                }
            }
        }
        IS_MEMBER.set(false);
    }
}

/// Waits a moment: now and then so that others can use the core.
fn pause(looks: &mut u32) {
    *looks += 1;
    if looks.is_multiple_of(LOOKS) { std::thread::yield_now() } else { spin_loop() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    /// Numbers doubled in stages of different lengths, with work of one thread in between.
    fn doubled(stages: usize) -> Vec<u64> {
        let mut numbers: Vec<u64> = (0..1000).collect();
        for stage in 0..stages {
            let block = 1 + stage % 97;
            let sums = each(numbers.chunks_mut(block), |number, part| {
                part.iter_mut().for_each(|item| *item = item.wrapping_mul(2));
                (number, part.iter().fold(0u64, |sum, &item| sum.wrapping_add(item)))
            });
            assert!(sums.iter().map(|&(number, _)| number).eq(0..1000usize.div_ceil(block)));
            let all = numbers.iter().fold(0u64, |sum, &item| sum.wrapping_add(item));
            assert_eq!(sums.iter().fold(0u64, |sum, &(_, part)| sum.wrapping_add(part)), all);
        }
        numbers
    }

    #[test]
    fn every_item_is_taken_once_and_results_are_in_order() {
        let expected: Vec<u64> = (0..1000).map(|item: u64| item << 10).collect();
        assert_eq!(doubled(10), expected);
        for threads in [1, 2, 3, 8, 33] {
            // A pool's second team finds threads of the first one awake, asleep, or still on their way.
            for _ in 0..20 {
                assert_eq!(pool(threads).install(|| lead(|| doubled(10))), expected, "{threads} threads");
            }
            assert_eq!(pool(threads).install(|| lead(|| doubled(5000))), vec![0; 1000], "{threads} threads");
        }
        assert_eq!(as_team(|| doubled(10)), expected, "from outside of any pool");
        assert!(each(Vec::<u8>::new(), |_, item| item).is_empty());
    }

    #[test]
    fn threads_that_left_come_back() {
        let pool = pool(4);
        pool.install(|| {
            lead(|| {
                for _ in 0..3 {
                    std::thread::sleep(3 * PATIENCE);
                    assert_eq!(doubled(10)[1], 1 << 10);
                    // Blocks that wait for each other need all threads.
                    let here = AtomicUsize::new(0);
                    each(0..4, |_, _| {
                        here.fetch_add(1, Relaxed);
                        while here.load(Relaxed) < 4 {
                            std::thread::yield_now();
                        }
                    });
                }
            });
        });
    }

    #[test]
    fn teams_share_a_pool_with_each_other_and_with_other_work() {
        let pool = pool(3);
        for _ in 0..20 {
            pool.install(|| {
                rayon::scope(|scope| {
                    for _ in 0..5 {
                        scope.spawn(|_| assert_eq!(lead(|| doubled(200)), doubled(200)));
                        scope.spawn(|_| assert_eq!((0..100_000u64).into_par_iter().sum::<u64>(), 4_999_950_000));
                    }
                });
                // A team within a team, and rayon's own iterations within a stage.
                lead(|| {
                    each(0..7, |_, _| assert_eq!(lead(|| doubled(20)), doubled(20)));
                    assert_eq!(lead(|| doubled(20)), doubled(20));
                    assert_eq!(doubled(20)[1], 1 << 20);
                });
            });
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_team_goes_on() {
        let pool = pool(3);
        pool.install(|| {
            lead(|| {
                for bad in 0..20 {
                    let stage = || each(0..20, |_, item| assert!(item != bad, "item {item}"));
                    let panic = catch_unwind(AssertUnwindSafe(stage)).unwrap_err();
                    assert_eq!(*panic.downcast_ref::<String>().unwrap(), format!("item {bad}"));
                    assert_eq!(doubled(10)[1], 1 << 10);
                }
            });
            // The team ends with the solve that panics.
            assert!(catch_unwind(|| lead(|| panic!("ended"))).is_err());
            assert!(!is_in_team());
        });
    }
}
