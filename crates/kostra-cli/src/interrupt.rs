//! Ctrl-C, and the signals of a closed terminal and of `kill`, which are treated alike.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::progress::Bar;

/// Ctrl-C: the first asks the work to stop, the second ends the process.
pub(crate) struct Interrupt {
    stop: Arc<AtomicBool>,
    at_once: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens from now on; `bar` is cleared before the process ends.
    pub(crate) fn install(bar: Arc<Bar>) -> Self {
        let interrupt = Self { stop: Arc::default(), at_once: Arc::default() };
        let (stop, at_once) = (interrupt.stop(), Arc::clone(&interrupt.at_once));
        // This fails where we are to ignore a signal (in the background of a script, under nohup), and so be it.
        let _ = ctrlc::try_set_handler(move || {
            if stop.swap(true, Relaxed) || at_once.load(Relaxed) {
                bar.clear();
                crate::complain(&kostra::Error::Cancelled);
                std::process::exit(crate::FAILED.into());
            }
        });
        interrupt
    }

    /// The flag that the first Ctrl-C sets.
    pub(crate) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Whether the first Ctrl-C ends the process already.
    pub(crate) fn at_once(&self, at_once: bool) {
        self.at_once.store(at_once, Relaxed);
    }
}
