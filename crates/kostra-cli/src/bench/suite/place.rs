//! The text of a suite, to say where in it something is wrong.

use std::ops::Range;
use std::str::FromStr;

use kostra::{Error, Result};
use toml::Spanned;

/// A suite and its text.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl Place<'_> {
    /// The line of a part of the text, counted from 1.
    pub(super) fn line(&self, span: Range<usize>) -> u64 {
        let before = self.text.as_bytes().iter().take(span.start);
        before.filter(|&&byte| byte == b'\n').count() as u64 + 1
    }

    /// What is wrong, and where.
    pub(super) fn error(&self, span: Option<Range<usize>>, what: &str) -> Error {
        let (file, what) = (self.file.to_owned(), what.replace('\n', "; "));
        match span {
            Some(span) => Error::Line { file, line: self.line(span), what },
            None => Error::File { file, what },
        }
    }

    /// The value that a string stands for.
    pub(super) fn parse<T: FromStr<Err: ToString>>(&self, text: &Spanned<String>) -> Result<T> {
        text.as_ref().parse().map_err(|error: T::Err| self.error(Some(text.span()), &error.to_string()))
    }
}
