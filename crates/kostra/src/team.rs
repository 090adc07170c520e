//! A team: the threads of the caller's pool, kept awake between the stages of one solve.
//!
//! A solver alternates between stages for all threads and short ones for a single thread, some two hundred times in a few
//! milliseconds. Rayon's threads fall asleep when there is nothing to do for some 30 us; the system then wakes them one after the
//! other, which takes longer than most stages. The threads of a team look for the next stage until the solve is over.
//!
//! ```text
//! as_team(solve):
//!     invite every thread of the pool; solve
//!
//! each(items, act), inside a solve:
//!     publish a stage: as many blocks as there are items, a range of them for every thread
//!     act on blocks of the own range, then of others', until all are claimed; wait until all are done
//!
//! a thread that is invited, for a turn:
//!     when there is a new stage: act on blocks as above
//!     else, now and then, do other work of the pool; after a long time without a stage, leave
//! after its turn: do what the pool wants most, which may be another turn
//! ```
//!
//! - Nobody is waited for but those who act on a block: threads may join late, leave, or be busy elsewhere. So several solves can
//!   share a pool, with each other and with other work. Whoever leaves or does not come is invited again.
//! - A thread begins with the same part of the blocks in every stage: what it wrote in the last one is in its cache.
//! - Outside of a solve, and within a stage, [`each`] is an iteration of rayon's.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::hint::spin_loop;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use rayon::prelude::*;

/// Threads for each core above which there is no team: those that look for work would keep others from theirs. With two, nothing is
/// lost on an idle machine; with eight, roads took 6 % longer.
const CROWDED: usize = 2;

/// How long a thread looks for the next stage before it leaves, longer than what one thread does alone; and how long until threads
/// are invited again.
const PATIENCE: Duration = Duration::from_millis(1);

/// How long a thread stays before it looks whether something that it waits for, further down its stack, has been done.
const TURN: Duration = Duration::from_micros(500);

/// Looks for a stage, some 50 ns each, between two for other work, which takes a microsecond.
const LOOKS: u32 = 64;

/// The lower bits of a claim: the next block. Above them stands the number of the stage.
const BLOCK_BITS: u32 = 24;
const BLOCKS: u64 = (1 << BLOCK_BITS) - 1;

/// The number of the stage after the last.
const OVER: u64 = u64::MAX;

thread_local! {
    /// The team whose solve this thread runs, except within a stage.
    static TEAM: RefCell<Option<Arc<Team>>> = const { RefCell::new(None) };
    /// The team in which this thread is, as the one that solves or as another; null if in none.
    static MEMBER_OF: Cell<*const Team> = const { Cell::new(ptr::null()) };
    /// Whether solves of this thread's pool are beside the work of another.
    static IS_ASIDE: Cell<bool> = const { Cell::new(false) };
}

/// Threads on one solve.
struct Team {
    /// For every thread, the next block of its range, below the number of the stage.
    claims: Box<[Apart<AtomicU64>]>,
    /// The number of the present stage, or of the last.
    number: Apart<AtomicU64>,
    /// How many of its blocks are done.
    done: Apart<AtomicUsize>,
    /// The present stage and how many blocks it has.
    stage: AtomicPtr<Stage<'static>>,
    blocks: AtomicUsize,
    /// About how many threads have not been invited, have left, or could not come.
    missing: AtomicUsize,
    /// When the team was made, and how many microseconds later threads may be invited again.
    made: Instant,
    next_invitation: AtomicU64,
    /// What the first block died of that did.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// What is done with every block.
struct Stage<'a>(&'a (dyn Fn(usize) + Sync));

/// A value that shares its cache lines with no other; processors fetch them in pairs.
#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

/// Runs `solve` with all threads of the caller's pool at hand for [`each`].
pub(crate) fn as_team<R: Send>(solve: impl FnOnce() -> R + Send) -> R {
    /// As the first caller sees them.
    static CORES: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, NonZero::get));
    match rayon::current_num_threads() {
        1 => solve(),
        threads if threads > CROWDED * *CORES => rayon::join(solve, || ()).0,
        _ => rayon::join(|| if is_aside() { solve() } else { lead(solve) }, || ()).0,
    }
}

/// Says that this thread's pool works beside another, on the same cores: its solves are to keep no thread awake.
pub(crate) fn stay_aside() {
    IS_ASIDE.set(true);
}

/// Whether this thread's pool works beside another.
pub(crate) fn is_aside() -> bool {
    IS_ASIDE.get()
}

/// Runs `solve` on this thread of a pool, and invites all others.
fn lead<R>(solve: impl FnOnce() -> R) -> R {
    /// What this thread was before, which it will be again whether `solve` returns or panics.
    struct Before {
        team: Option<Arc<Team>>,
        member_of: *const Team,
    }

    impl Drop for Before {
        fn drop(&mut self) {
            MEMBER_OF.set(self.member_of);
            if let Some(ended) = TEAM.replace(self.team.take()) {
                ended.number.0.store(OVER, Relaxed);
            }
        }
    }

    let team = Arc::new(Team::new(rayon::current_num_threads()));
    team.invite();
    let member_of = MEMBER_OF.replace(Arc::as_ptr(&team));
    let _before = Before { team: TEAM.replace(Some(team)), member_of };
    solve()
}

/// Whether this thread has a team at hand.
pub(crate) fn is_in_team() -> bool {
    TEAM.with_borrow(Option::is_some)
}

/// What `act` makes of every item and its number, on all threads. Of few items, each should be much work.
pub(crate) fn each<T: Send, R: Send>(items: impl IntoIterator<Item = T>, act: impl Fn(usize, T) -> R + Sync) -> Vec<R> {
    let mut items = items.into_iter();
    let Some(first) = items.next() else { return Vec::new() };
    let Some(second) = items.next() else { return vec![act(0, first)] };
    let items: Vec<T> = [first, second].into_iter().chain(items).collect();
    // Taken out, so that within the stage there is no team.
    let Some(team) = TEAM.take() else {
        if rayon::current_num_threads() == 1 {
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
            claims: (0..threads).map(|_| Apart::default()).collect(),
            number: Apart::default(),
            done: Apart::default(),
            stage: AtomicPtr::new(ptr::null_mut()),
            blocks: AtomicUsize::new(0),
            missing: AtomicUsize::new(threads - 1),
            made: Instant::now(),
            next_invitation: AtomicU64::new(0),
            panic: Mutex::new(None),
        }
    }

    /// The first block of a thread's range; the next thread's ends it.
    fn start(&self, thread: usize, blocks: usize) -> usize {
        blocks * thread / self.claims.len()
    }

    /// Lets `act` loose on all blocks, and returns when they are done, with what one of them died of. Only the thread that solves
    /// calls this.
    fn run(self: &Arc<Self>, blocks: usize, act: &(dyn Fn(usize) + Sync)) -> Option<Box<dyn Any + Send>> {
        assert!(blocks as u64 <= BLOCKS);
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
        self.number.0.store(number, SeqCst);
        self.invite();
        self.work(rayon::current_thread_index().unwrap_or(0), number);
        let mut looks = 0;
        while self.done.0.load(Acquire) < blocks {
            pause(&mut looks);
        }
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
                    self.keep(panic);
                }
                done += 1;
                seen = claim.load(Relaxed);
            }
            if done > 0 {
                self.done.0.fetch_add(done, Release);
            }
        }
    }

    /// Keeps the first panic for the caller. Others are forgotten, not dropped: that might panic, and this thread must go on.
    fn keep(&self, panic: Box<dyn Any + Send>) {
        let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        match *first {
            None => *first = Some(panic),
            Some(_) => std::mem::forget(panic),
        }
    }

    /// Invites all threads where some are missing, but not again and again. Another thread hands the invitations out, as that takes
    /// a while.
    fn invite(self: &Arc<Self>) {
        // In one order with what those do who leave: either they see the new stage, or they are missed here.
        if self.missing.load(SeqCst) == 0 {
            return;
        }
        let now = self.made.elapsed().as_micros() as u64;
        if now < self.next_invitation.load(Relaxed) {
            return;
        }
        self.next_invitation.store(now + PATIENCE.as_micros() as u64, Relaxed);
        self.missing.store(0, Relaxed);
        let team = Arc::downgrade(self);
        rayon::spawn(move || {
            if team.strong_count() > 0 {
                rayon::spawn_broadcast(move |_| join(&team, false));
            }
        });
    }

    /// Works for the team for a turn. Returns whether there may be more to do.
    fn help(&self) -> bool {
        let mine = rayon::current_thread_index().unwrap_or(0);
        // A stage that began before is looked at once.
        let (mut number, mut looks) = (0, 0);
        let began = Instant::now();
        let mut idle_since = began;
        loop {
            let present = self.number.0.load(Acquire);
            if present == OVER {
                return false;
            }
            if present != number {
                number = present;
                self.work(mine, number);
                (looks, idle_since) = (0, Instant::now());
                if idle_since - began > TURN {
                    return true;
                }
                continue;
            }
            pause(&mut looks);
            if !looks.is_multiple_of(LOOKS) {
                continue;
            }
            if matches!(rayon::yield_now(), Some(rayon::Yield::Executed)) {
                idle_since = Instant::now();
            } else if idle_since.elapsed() > PATIENCE {
                self.missing.fetch_add(1, SeqCst);
                if self.number.0.load(SeqCst) == number {
                    return false;
                }
            }
            if began.elapsed() > TURN {
                return true;
            }
        }
    }
}

/// What a thread does that is invited to a team, or goes on after a turn there.
fn join(team: &Weak<Team>, goes_on: bool) {
    let Some(present) = team.upgrade() else { return };
    let this = Arc::as_ptr(&present);
    let member_of = MEMBER_OF.get();
    if !member_of.is_null() {
        // The team is one short if this thread is busy with another, or has got what another thread was to go on with.
        if member_of != this || goes_on {
            present.missing.fetch_add(1, SeqCst);
        }
        return;
    }
    MEMBER_OF.set(this);
    let is_more = present.help();
    MEMBER_OF.set(ptr::null());
    if is_more {
        let team = Weak::clone(team);
        rayon::spawn(move || join(&team, true));
    }
}

/// Waits a moment: now and then so that others can use the core.
fn pause(looks: &mut u32) {
    *looks = looks.wrapping_add(1);
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

    /// Goes through stages until every thread of the pool has had a block.
    fn wait_for_all(threads: usize) {
        let seen: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
        let began = Instant::now();
        while seen.iter().any(|seen| seen.load(Relaxed) == 0) {
            assert!(began.elapsed() < Duration::from_secs(60), "some thread never came: {seen:?}");
            each(0..threads, |_, _| {
                seen[rayon::current_thread_index().unwrap()].fetch_add(1, Relaxed);
                std::thread::sleep(PATIENCE / 10);
            });
        }
    }

    #[test]
    fn threads_that_left_come_back() {
        let pool = pool(4);
        pool.install(|| {
            lead(|| {
                for _ in 0..3 {
                    std::thread::sleep(3 * PATIENCE);
                    assert_eq!(doubled(10)[1], 1 << 10);
                    wait_for_all(4);
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

    /// A solve that goes through stages until `end`, on a thread of its own. Returns when it has begun, or the work that comes next
    /// in the pool might wait below it on one stack.
    fn long_solve<'a>(scope: &'a std::thread::Scope<'a, '_>, pool: &'a rayon::ThreadPool, end: &'a AtomicU64) {
        let begun = Arc::new(AtomicU64::new(0));
        let here = Arc::clone(&begun);
        scope.spawn(move || {
            pool.install(|| {
                lead(|| {
                    wait_for_all(pool.current_num_threads());
                    begun.store(1, Relaxed);
                    while end.load(Relaxed) == 0 {
                        doubled(10);
                    }
                });
            });
        });
        while here.load(Relaxed) == 0 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn threads_of_a_team_that_ends_come_to_another() {
        let (pool, end) = (pool(4), AtomicU64::new(0));
        std::thread::scope(|scope| {
            long_solve(scope, &pool, &end);
            pool.install(|| {
                lead(|| {
                    for _ in 0..100 {
                        doubled(10);
                    }
                    end.store(1, Relaxed);
                    wait_for_all(4);
                });
            });
        });
    }

    #[test]
    fn other_work_of_the_pool_goes_on_beside_a_long_solve() {
        let (pool, end) = (pool(3), AtomicU64::new(0));
        std::thread::scope(|scope| {
            long_solve(scope, &pool, &end);
            for _ in 0..50 {
                let sum = || (0..1000u32).into_par_iter().with_max_len(10).sum::<u32>();
                assert_eq!(pool.install(sum), 499_500);
            }
            end.store(1, Relaxed);
        });
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
