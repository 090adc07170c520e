//! What a command says at its end.

use std::io::{self, Write};

use crate::failure::Failure;

/// What a command says at its end, and where.
pub(crate) struct Summary {
    text: String,
    beside: bool,
}

impl Summary {
    /// Text for standard output.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), beside: false }
    }

    /// Nothing to say.
    pub(crate) fn nothing() -> Self {
        Self::new("")
    }

    /// The same text for standard error if `beside`: then standard output holds data.
    pub(crate) fn beside_data(self, beside: bool) -> Self {
        Self { beside, ..self }
    }

    /// Prints it.
    pub(crate) fn print(&self) -> Result<(), Failure> {
        fn put(mut stream: impl Write, text: &str) -> io::Result<()> {
            stream.write_all(text.as_bytes())?;
            stream.flush()
        }
        let (file, written) = match self.beside {
            false => ("standard output", put(io::stdout().lock(), &self.text)),
            true => ("standard error", put(io::stderr().lock(), &self.text)),
        };
        written.map_err(|source| kostra::Error::Io { file: file.into(), source }.into())
    }
}
