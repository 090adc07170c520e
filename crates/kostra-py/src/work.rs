//! Long work: on a pool of threads, without the GIL, stopped by Ctrl-C, watched by a callback.
//!
//! The work is done by the pool. The thread that called waits for it, and wakes up now and then to let Python handle
//! signals and to call the callback: both must happen on that thread, and neither may slow the work down.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kostra::{Progress, Watch};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::to_python;

/// How often signals are handled and progress is reported.
const LOOK: Duration = Duration::from_millis(50);

/// More threads than the largest machines have cores are a slip of the finger.
const MOST_THREADS: usize = 1024;

type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

/// Pools by process and number of threads (0: one per core). A forked child has none of its parent's threads, so it must not
/// use its parent's pools.
static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

/// What the worker leaves for the caller.
struct Mailbox<T> {
    letter: Mutex<Option<T>>,
    arrived: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does the work on that many threads and returns what it returns.
///
/// `progress` is called as `progress(phase, done, total)`. Whatever it raises, and whatever a signal raises, stops the work.
pub(crate) fn work<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
    job: impl FnOnce(&Watch) -> kostra::Result<T> + Send + 'static,
) -> PyResult<T> {
    let pool = pool(threads)?;
    let stop = Arc::new(AtomicBool::new(false));
    let latest = Arc::new(Mutex::new(None::<Progress>));
    let mut watch = Watch::new().stop_when(stop.clone());
    if progress.is_some() {
        let latest = latest.clone();
        watch = watch.report_to(move |progress| *lock(&latest) = Some(progress));
    }
    let mailbox = Arc::new(Mailbox { letter: Mutex::new(None), arrived: Condvar::new() });
    let sender = mailbox.clone();
    pool.spawn(move || {
        // The job, and with it all that it holds, is gone before its result is there.
        let outcome = catch_unwind(AssertUnwindSafe(move || job(&watch)));
        *lock(&sender.letter) = Some(outcome);
        sender.arrived.notify_one();
    });

    let report = || match (progress, lock(&latest).take()) {
        (Some(callback), Some(Progress { phase, done, total })) => callback.call1((phase, done, total)).map(drop),
        _ => Ok(()),
    };
    let mut raised = None;
    loop {
        let outcome = py.detach(|| {
            let letter = lock(&mailbox.letter);
            let wait = mailbox.arrived.wait_timeout_while(letter, LOOK, |letter| letter.is_none());
            wait.unwrap_or_else(PoisonError::into_inner).0.take()
        });
        if raised.is_none()
            && let Err(error) = py.check_signals().and_then(|()| report())
        {
            // Relaxed: the flag orders nothing but itself.
            stop.store(true, Ordering::Relaxed);
            raised = Some(error);
        }
        if let Some(outcome) = outcome {
            return match (raised, outcome) {
                (Some(error), _) => Err(error),
                (None, Ok(result)) => result.map_err(to_python),
                (None, Err(panic)) => Err(PyRuntimeError::new_err(text_of(&*panic))),
            };
        }
    }
}

/// The pool of that many threads, made on first use.
fn pool(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    if let Some(threads) = threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
        return Err(PyValueError::new_err(format!(
            "threads must be 1 to {MOST_THREADS}, or None for all, not {threads}"
        )));
    }
    let key = (std::process::id(), threads.unwrap_or(0));
    let mut pools = lock(&POOLS);
    let pools = pools.get_or_insert_default();
    if let Some(pool) = pools.get(&key) {
        return Ok(pool.clone());
    }
    let builder = ThreadPoolBuilder::new().num_threads(key.1).thread_name(|number| format!("kostra-{number}"));
    let pool = Arc::new(
        builder
            .build()
            .map_err(|error| PyRuntimeError::new_err(format!("the threads did not start ({error}); try threads=1")))?,
    );
    // Pools of a parent process cannot be ended from here: their threads do not exist.
    pools.insert(key, pool.clone());
    Ok(pool)
}

/// What a panic said. One means a bug, or arrays that were changed while they were in use.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let said = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text.as_str(),
        _ => "no reason given",
    };
    format!(
        "the solver failed ({said}); unless the graph's arrays were changed meanwhile this is a bug, please report it"
    )
}
