//! The machine that measures: what it is, and how much memory this process takes. Only Linux tells; elsewhere these
//! are left out.

use std::fmt;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::human;

/// The machine, for whoever compares two files of results.
#[derive(Serialize, Deserialize)]
pub(super) struct Machine {
    /// The model of its processor.
    cpu: Option<String>,
    /// Cores that this process may use.
    cores: usize,
    /// All its memory, in bytes.
    memory: Option<u64>,
    system: String,
    /// Its GPUs, with what the driver brings.
    #[serde(default)]
    gpus: Vec<String>,
}

impl Machine {
    /// This machine.
    pub(super) fn this() -> Self {
        Self {
            cpu: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory: field("/proc/meminfo", "MemTotal").and_then(|text| kilobytes(&text)),
            system: std::env::consts::OS.into(),
            gpus: kostra::cuda::devices().unwrap_or_default().iter().map(gpu).collect(),
        }
    }

    /// Whether times of both may stand in one table. Memory is told a little differently after every start.
    pub(super) fn is_like(&self, other: &Machine) -> bool {
        (&self.cpu, self.cores, &self.system, &self.gpus) == (&other.cpu, other.cores, &other.system, &other.gpus)
    }

    /// What there is to say of it, by its names.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("processor", self.cpu.clone().unwrap_or_else(|| "unknown".into()))];
        facts.push(("cores", self.cores.to_string()));
        facts.extend(self.memory.map(|memory| ("memory", human::bytes(memory))));
        facts.extend(self.gpus.iter().map(|gpu| ("GPU", gpu.clone())));
        facts.push(("system", self.system.clone()));
        facts
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpu = self.cpu.as_deref().unwrap_or("a processor");
        write!(f, "{cpu} with {}", human::counted(self.cores, "core", "cores"))?;
        self.gpus.iter().try_for_each(|gpu| write!(f, ", {gpu}"))
    }
}

fn gpu(info: &kostra::cuda::Info) -> String {
    let ((major, minor), memory) = (info.driver, human::bytes(info.memory));
    format!("{} ({memory}, driver for CUDA {major}.{minor})", info.name)
}

/// Runs `work` and tells by how much the memory of this process grew at its peak, in bytes.
pub(super) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
    kostra::release_memory();
    give_back_free_memory();
    // 5 sets the peak back to what is in use now.
    let reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = reset.then(|| memory("VmRSS")).flatten();
    let result = work();
    let peak = before.and_then(|before| Some(memory("VmHWM")?.saturating_sub(before)));
    (result, peak)
}

/// Has the allocator give back what it keeps from earlier work. What it hands out again would not grow the process, so
/// without this a second contender seems to take nothing.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn give_back_free_memory() {
    // SAFETY: may be called at any time from any thread; it touches only free memory.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators keep little, or cannot be asked.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back_free_memory() {}

/// Memory of this process, in bytes.
fn memory(kind: &str) -> Option<u64> {
    kilobytes(&field("/proc/self/status", kind)?)
}

/// The value of the first line `key: value`.
fn field(file: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(key, value)| (key.trim(), value.trim())).find(|(found, _)| *found == key).map(|(_, value)| value.into())
}

/// `123 kB`, as Linux writes it, in bytes.
fn kilobytes(text: &str) -> Option<u64> {
    Some(text.strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_kilobytes() {
        assert_eq!(kilobytes("24 kB"), Some(24 << 10));
        assert_eq!(kilobytes("24"), None);
    }

    #[test]
    fn a_large_array_shows_in_the_peak_where_the_system_tells() {
        let size = 64 << 20;
        let (array, peak) = peak_of(|| vec![1u8; size]);
        assert_eq!(array.len(), size);
        // Other tests of this process may let go of memory meanwhile.
        assert!(peak.is_none_or(|peak| peak > size as u64 / 2), "{peak:?}");
    }
}
