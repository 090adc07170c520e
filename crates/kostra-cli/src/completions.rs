//! `kostra completions`: what a shell needs to complete our arguments.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::summary::Summary;

const EXAMPLES: &str = "\
Examples:
  kostra completions bash > ~/.local/share/bash-completion/completions/kostra
  kostra completions fish > ~/.config/fish/completions/kostra.fish
  kostra completions zsh > ~/.zfunc/_kostra";

/// Print the completions for a shell
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    /// Prints them.
    pub(crate) fn run(&self) -> Result<Summary, Failure> {
        // Into memory first: the generator panics where it cannot write.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Kostra::command(), "kostra", &mut script);
        Ok(Summary::new(String::from_utf8_lossy(&script)))
    }
}
