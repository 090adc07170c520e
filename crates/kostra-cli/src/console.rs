//! What every command works under: progress on the terminal, and Ctrl-C.

use std::path::Path;
use std::sync::Arc;

use kostra::Watch;

use crate::interrupt::Interrupt;
use crate::progress::Bar;

/// Progress and Ctrl-C for the one command of this process.
pub(crate) struct Console {
    bar: Arc<Bar>,
    interrupt: Interrupt,
    watch: Watch,
}

impl Console {
    /// Starts watching.
    pub(crate) fn start() -> Self {
        let bar = Arc::new(Bar::start());
        let interrupt = Interrupt::install(Arc::clone(&bar));
        let watch = bar.follow(Watch::new().stop_when(interrupt.stop()));
        Self { bar, interrupt, watch }
    }

    /// The watch to hand to the library.
    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// A watch that stops the work but reports nothing: for work whose steps would hide how far the whole has come.
    pub(crate) fn quiet(&self) -> Watch {
        Watch::new().stop_when(self.interrupt.stop())
    }

    /// Says beside the bar what is being done, if it is drawn.
    pub(crate) fn say(&self, text: impl FnOnce() -> String) {
        self.bar.say(text);
    }

    /// Reads from `path`. Where that can block (standard input, a pipe), Ctrl-C does not wait for the next byte:
    /// nothing has been written yet, so there is nothing to undo.
    pub(crate) fn reading<T>(&self, path: &Path, read: impl FnOnce() -> T) -> T {
        let may_block = is_dash(path) || path.metadata().is_ok_and(|meta| !meta.is_file());
        self.interrupt.at_once(may_block);
        let result = read();
        self.interrupt.at_once(false);
        result
    }

    /// Writes to `path`; the bar must not stand in the data where that is standard output.
    pub(crate) fn writing<T>(&self, path: &Path, write: impl FnOnce() -> T) -> T {
        if is_dash(path) {
            self.bar.clear();
        }
        write()
    }

    /// Clears the bar.
    pub(crate) fn end(self) {
        self.bar.clear();
    }
}

/// Whether one output would replace the other; devices and pipes take both.
pub(crate) fn collide(one: &Path, other: &Path) -> bool {
    // Where a file will be, as its folder is; it may not be there yet.
    let place = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let whole = folder.canonicalize().ok().zip(path.file_name()).map(|(folder, name)| folder.join(name));
        path.canonicalize().ok().or(whole).unwrap_or(path.into())
    };
    place(one) == place(other) && !one.metadata().is_ok_and(|meta| !meta.is_file())
}

/// Whether `path` is `-`: standard input or output.
pub(crate) fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}
