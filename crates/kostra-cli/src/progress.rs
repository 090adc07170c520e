//! The progress bar: on standard error, on a terminal, and only for work that takes a while.
//!
//! The work leaves its latest progress in a slot and goes on; a thread of our own looks there ten times a second and
//! draws. So the work never waits for a terminal, and the spinner turns while a long step reports nothing.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kostra::{Progress, Watch};

/// Work that ends sooner than this shows nothing.
const QUIET: Duration = Duration::from_secs(1);

/// Between two drawings.
const FRAME: Duration = Duration::from_millis(100);

/// The phase that counts bytes, whose rate tells more than its percentage.
const STREAM: &str = "stream";

const STREAM_WITH_TOTAL: &str =
    "{prefix:9} {bar:30} {percent:>3} %  {decimal_bytes_per_sec}  {elapsed}  {eta} left  {wide_msg}";
const STREAM_WITHOUT_TOTAL: &str =
    "{prefix:9} {spinner} {decimal_bytes}  {decimal_bytes_per_sec}  {elapsed}  {wide_msg}";
const WITH_TOTAL: &str = "{prefix:9} {bar:30} {percent:>3} %  {elapsed}  {eta} left  {wide_msg}";
const WITHOUT_TOTAL: &str = "{prefix:9} {spinner} {elapsed}  {wide_msg}";

/// Shows how far a command has come, until it is cleared.
pub(crate) struct Bar {
    latest: Arc<Mutex<Option<Progress>>>,
    /// What is being done, in words.
    words: Arc<Mutex<String>>,
    drawing: Mutex<Option<(mpsc::Sender<()>, JoinHandle<()>)>>,
}

impl Bar {
    /// Starts to draw, if standard error is a terminal.
    pub(crate) fn start() -> Self {
        let latest = Arc::new(Mutex::new(None));
        let words = Arc::<Mutex<String>>::default();
        let (slot, said) = (Arc::clone(&latest), Arc::clone(&words));
        let (end, ended) = mpsc::channel();
        let thread = || std::thread::Builder::new().name("progress".into()).spawn(move || draw(&slot, &said, &ended));
        let drawing = io::stderr().is_terminal().then(thread).and_then(Result::ok).map(|thread| (end, thread));
        Self { latest, words, drawing: Mutex::new(drawing) }
    }

    /// The watch, reporting to this bar if it draws.
    pub(crate) fn follow(&self, watch: Watch) -> Watch {
        if lock(&self.drawing).is_none() {
            return watch;
        }
        let latest = Arc::clone(&self.latest);
        watch.report_to(move |progress| {
            // Whoever finds the slot taken goes on without a report: the next one is soon enough.
            if let Ok(mut latest) = latest.try_lock() {
                *latest = Some(progress);
            }
        })
    }

    /// Says what is being done, if the bar draws.
    pub(crate) fn say(&self, text: impl FnOnce() -> String) {
        if lock(&self.drawing).is_some() {
            *lock(&self.words) = crate::human::one_line(&text());
        }
    }

    /// Clears the bar and draws no more.
    pub(crate) fn clear(&self) {
        if let Some((end, thread)) = lock(&self.drawing).take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

/// Draws what lies in the slot until the other end of `ended` is dropped.
fn draw(slot: &Mutex<Option<Progress>>, words: &Mutex<String>, ended: &mpsc::Receiver<()>) {
    let goes_on = |wait| ended.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Timeout);
    if !goes_on(QUIET) {
        return;
    }
    let mut shown = None;
    let mut bar = ProgressBar::hidden();
    loop {
        let progress = lock(slot).unwrap_or(Progress { phase: "working", done: 0, total: 0 });
        let look = (progress.phase, progress.total > 0);
        if shown != Some(look) {
            shown = Some(look);
            bar.finish_and_clear();
            bar = new_bar(progress);
        }
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        bar.set_message(lock(words).clone());
        bar.tick();
        if !goes_on(FRAME) {
            break;
        }
    }
    bar.finish_and_clear();
}

/// A bar for one phase: what it estimates has nothing to do with the phase before.
fn new_bar(progress: Progress) -> ProgressBar {
    let template = match (progress.phase == STREAM, progress.total > 0) {
        (true, true) => STREAM_WITH_TOTAL,
        (true, false) => STREAM_WITHOUT_TOTAL,
        (false, true) => WITH_TOTAL,
        (false, false) => WITHOUT_TOTAL,
    };
    // The templates are constants; were one wrong, the default would do.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(Some(progress.total), ProgressDrawTarget::stderr());
    bar.with_style(style).with_prefix(progress.phase).with_position(progress.done)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
