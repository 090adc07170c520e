//! The `kostra` program: minimum spanning forests from the command line.
//!
//! Each subcommand has a file of its own, does its work with a [`Console`] and returns a [`Summary`]. This file turns
//! the outcome into output and an exit status, and is the only one that does.

mod algorithms;
mod bench;
mod completions;
mod console;
mod convert;
mod devices;
mod failure;
mod r#gen;
mod human;
mod info;
mod input;
mod interrupt;
mod json;
mod prepared;
mod progress;
mod solve;
mod summary;
mod verify;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::console::Console;
use crate::failure::Failure;
use crate::summary::Summary;

/// Exit status: it could not be done. (0 is done; 2 is wrong usage, which clap reports.)
const FAILED: u8 = 1;

const EXAMPLES: &str = "\
Examples:
  kostra solve roads.gr.gz -o roads.forest --verify
  kostra solve rmat:scale=20 --json
  kostra gen grid:rows=100,cols=100 -o grid.mtx.gz
  kostra convert roads.gr.gz roads.csv
  kostra info roads.csv
  kostra verify roads.gr.gz roads.forest
  kostra bench quick

GRAPH is a file, `-` for standard input, or a SPEC such as rmat:scale=20 (see `kostra gen --help`).
Exit status: 0 done; 1 it could not be done; 2 wrong usage.";

/// Minimum spanning forests of any graph: the same forest, edge for edge, wherever it runs
#[derive(Parser)]
#[command(name = "kostra", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Kostra {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Solve(solve::Solve),
    Gen(r#gen::Gen),
    Convert(convert::Convert),
    Info(info::Info),
    Verify(verify::Verify),
    Bench(bench::Bench),
    Algorithms(algorithms::Algorithms),
    Devices(devices::Devices),
    Completions(completions::Completions),
}

impl Command {
    fn run(&self, console: &Console) -> Result<Summary, Failure> {
        match self {
            Command::Solve(command) => command.run(console),
            Command::Gen(command) => command.run(console),
            Command::Convert(command) => command.run(console),
            Command::Info(command) => command.run(console),
            Command::Verify(command) => command.run(console),
            Command::Bench(command) => command.run(console),
            Command::Algorithms(command) => command.run(),
            Command::Devices(command) => command.run(),
            Command::Completions(command) => command.run(),
        }
    }
}

fn main() -> ExitCode {
    let command = Kostra::parse().command;
    let console = Console::start();
    let outcome = command.run(&console);
    console.end();
    match outcome.and_then(|summary| summary.print()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(error)) => error.exit(),
        // Whoever read our output has seen enough, as in `kostra ... | head`.
        Err(Failure::Kostra(kostra::Error::Io { source, .. })) if source.kind() == ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(Failure::Kostra(error)) => {
            complain(&error);
            ExitCode::from(FAILED)
        }
    }
}

/// Says what is wrong, in one line on standard error.
fn complain(error: &kostra::Error) {
    // When standard error is closed too, there is nobody left to tell.
    let _ = writeln!(std::io::stderr().lock(), "kostra: {}", human::one_line(&error.to_string()));
}
