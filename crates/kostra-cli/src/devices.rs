//! `kostra devices`: what `--device` takes.

use clap::Args;
use kostra::cuda::{self, Info};
use serde::Serialize;

use crate::failure::Failure;
use crate::human::{self, Lines};
use crate::json;
use crate::summary::Summary;

/// List the devices that can solve
#[derive(Args)]
pub(crate) struct Devices {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// The CPU has threads; GPUs have the rest.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry {
    Cpu { device: &'static str, threads: usize },
    Cuda { device: String, name: String, memory: u64, compute_capability: String, driver: String },
}

impl From<Info> for Entry {
    fn from(info: Info) -> Self {
        let dotted = |(major, minor)| format!("{major}.{minor}");
        Entry::Cuda {
            device: format!("cuda:{}", info.number),
            name: info.name,
            memory: info.memory,
            compute_capability: dotted(info.compute_capability),
            driver: dotted(info.driver),
        }
    }
}

impl Devices {
    /// Lists them. That there is no GPU is not an error, but the reason is told.
    pub(crate) fn run(&self) -> Result<Summary, Failure> {
        let cpu = Entry::Cpu { device: "cpu", threads: rayon::current_num_threads() };
        let (gpus, reason) = match cuda::devices() {
            Ok(gpus) => (gpus, None),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        let entries: Vec<Entry> = std::iter::once(cpu).chain(gpus.into_iter().map(Entry::from)).collect();
        if self.json {
            return Ok(Summary::new(json::line(&entries)?));
        }
        let mut lines = Lines::default();
        for entry in entries {
            match entry {
                Entry::Cpu { device, threads } => lines.add(device, human::counted(threads, "thread", "threads")),
                Entry::Cuda { device, name, memory, compute_capability, driver } => {
                    let memory = human::bytes(memory);
                    let about =
                        format!("{name}, {memory}, compute capability {compute_capability}, driver for CUDA {driver}");
                    lines.add(device, about);
                }
            }
        }
        let mut text = lines.to_string();
        if let Some(kostra::Error::Device { what, .. }) = reason {
            text += &format!("\nno cuda: {what}\n");
        }
        Ok(Summary::new(text))
    }
}
