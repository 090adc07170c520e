//! Why a command did not do its work.

use clap::CommandFactory;
use clap::error::ErrorKind;

/// Why a command did not do its work: wrong usage (status 2), or it could not be done (status 1).
pub(crate) enum Failure {
    /// The arguments contradict each other.
    Usage(clap::Error),
    /// The library, or writing the output, failed.
    Kostra(kostra::Error),
}

impl Failure {
    /// Two arguments of a subcommand that cannot stand together, or one that needs another.
    pub(crate) fn usage(subcommand: &str, message: &str) -> Self {
        let mut kostra = crate::Kostra::command();
        kostra.build();
        let command = kostra.find_subcommand(subcommand).cloned();
        Failure::Usage(command.unwrap_or(kostra).error(ErrorKind::ArgumentConflict, message))
    }
}

impl From<kostra::Error> for Failure {
    fn from(error: kostra::Error) -> Self {
        Failure::Kostra(error)
    }
}
