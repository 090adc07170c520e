//! Who runs: algorithms on devices with numbers of threads, as far as this machine has them.

use kostra::{Device, Error, Result, Run};
use toml::Spanned;

use super::content::{Content, ThreadCount};
use super::expand::expand;
use super::place::Place;
use super::{Baseline, Changes, Contender};

/// What all graphs of a suite share, and what was left out so far.
pub(super) struct Field<'a> {
    pub(super) place: Place<'a>,
    pub(super) content: &'a Content,
    pub(super) changes: &'a Changes,
    cores: usize,
    has_gpu: bool,
    /// Who also runs from the caller's arrays to the forest on a GPU.
    end_to_end: Vec<String>,
    /// The smallest graph there is, to try options on.
    trial: kostra::Graph<'static>,
    /// Numbers of threads beyond the cores.
    beyond: Vec<usize>,
    /// Whoever does not run here, by the reason.
    skipped: Vec<(String, Vec<String>)>,
    pub(super) other_notes: Vec<String>,
}

/// An algorithm with its options, and what it is tied to: `ecl:seed=7@cuda`, `kruskal@cpu:1` for one thread.
pub(super) struct Choice {
    pub(super) text: String,
    device: Option<String>,
    threads: Option<usize>,
    run: Run,
    span: std::ops::Range<usize>,
}

impl<'a> Field<'a> {
    pub(super) fn new(place: Place<'a>, content: &'a Content, changes: &'a Changes) -> Result<Self> {
        if let Some(device) = &changes.device {
            device.parse::<Device>()?;
        }
        Ok(Self {
            place,
            content,
            changes,
            cores: rayon::current_num_threads(),
            has_gpu: kostra::cuda::devices().is_ok(),
            end_to_end: end_to_end(place, content)?,
            trial: kostra::generate("grid:rows=1,cols=2")?,
            beyond: Vec::new(),
            skipped: Vec::new(),
            other_notes: Vec::new(),
        })
    }

    /// Every algorithm on every device with every number of threads that there are; who is named twice runs once.
    pub(super) fn contenders(&mut self, choices: &[Choice], threads: &[ThreadCount]) -> Result<Vec<Contender>> {
        let all_counts = self.thread_counts(threads);
        let mut contenders: Vec<Contender> = Vec::new();
        for choice in choices {
            let counts = match choice.threads {
                Some(threads) => self.thread_counts(&[ThreadCount::from(threads)]),
                None => all_counts.clone(),
            };
            for (name, span) in self.devices_of(choice) {
                let Some(device) = self.device(&name, span)? else { continue };
                if !self.runs(choice, device)? {
                    continue;
                }
                let is_gpu = matches!(device, Device::Cuda(_));
                // A GPU needs no threads but those that copy: all there are, so that it is one contender on all graphs.
                let counts = if is_gpu { &[self.cores][..] } else { &counts[..] };
                let also_end_to_end = is_gpu && self.end_to_end.contains(&choice.text);
                for &threads in counts {
                    for end_to_end in [false, true].into_iter().take(1 + usize::from(also_end_to_end)) {
                        let contender = Contender {
                            algorithm: choice.text.clone(),
                            run: choice.run.clone().on(device),
                            device: self.shown(&name, device, end_to_end),
                            threads,
                            end_to_end,
                            counts: false,
                        };
                        if !contenders.iter().any(|other| is_same(other, &contender)) {
                            contenders.push(contender);
                        }
                    }
                }
            }
        }
        Ok(contenders)
    }

    /// The devices that an algorithm is to run on, and where the suite says so.
    fn devices_of(&self, choice: &Choice) -> Vec<(String, std::ops::Range<usize>)> {
        match (&self.changes.device, &choice.device) {
            (Some(device), _) => vec![(device.clone(), 0..0)],
            (None, Some(device)) => vec![(device.clone(), choice.span.clone())],
            (None, None) => self.content.devices.iter().map(|d| (d.as_ref().clone(), d.span())).collect(),
        }
    }

    /// The device of that name, if this machine has it; an error if no machine has.
    fn device(&mut self, name: &str, span: std::ops::Range<usize>) -> Result<Option<Device>> {
        match name.parse() {
            Ok(device) => Ok(Some(device)),
            Err(Error::Device { what, .. }) if is_gpu(name) => {
                let reason = what.split(';').next().unwrap_or(&what).to_owned();
                self.skip(name, reason);
                Ok(None)
            }
            Err(error) => Err(self.place.error(Some(span), &error.to_string())),
        }
    }

    /// Whether the algorithm runs on the device. Options that it refuses are an error, unless another device than the
    /// suite's was asked for.
    fn runs(&mut self, choice: &Choice, device: Device) -> Result<bool> {
        if matches!(device, Device::Cuda(_)) {
            if !choice.run.algorithm().runs_on_cuda() {
                self.skip(&format!("{} on {device}", choice.text), "it runs on CPUs only".into());
                return Ok(false);
            }
            return Ok(true);
        }
        match kostra::solve(&self.trial, &choice.run.clone().on(Device::Cpu)) {
            Ok(_) => Ok(true),
            Err(error) if self.changes.device.is_some() => {
                let what = match error {
                    Error::Algorithm { what, .. } => what,
                    error => error.to_string(),
                };
                self.skip(&choice.text, what.split(';').next().unwrap_or(&what).to_owned());
                Ok(false)
            }
            Err(error) => Err(self.place.error(Some(choice.span.clone()), &error.to_string())),
        }
    }

    fn shown(&self, name: &str, device: Device, end_to_end: bool) -> String {
        match device {
            Device::Cpu => "cpu".into(),
            Device::Auto if !self.has_gpu => "cpu".into(),
            _ if end_to_end => format!("{name} end-to-end"),
            _ => name.into(),
        }
    }

    /// The numbers of threads that there are cores for, ascending.
    fn thread_counts(&mut self, wanted: &[ThreadCount]) -> Vec<usize> {
        let mut counts: Vec<usize> = wanted.iter().map(|threads| threads.count(self.cores)).collect();
        counts.sort_unstable();
        counts.dedup();
        let (counts, beyond): (Vec<usize>, Vec<usize>) = counts.into_iter().partition(|&count| count <= self.cores);
        self.beyond.extend(beyond);
        counts
    }

    /// Who the others are compared with; it must take part somewhere, on whatever machine.
    pub(super) fn baseline(&self, content: &Content) -> Result<Option<Baseline>> {
        let Some(text) = &content.baseline else {
            return match &content.baseline_threads {
                Some(threads) => {
                    Err(self.place.error(Some(threads.span()), "baseline-threads needs a baseline; name one"))
                }
                None => Ok(None),
            };
        };
        let fail = |what: &str| Err(self.place.error(Some(text.span()), what));
        let [choice] = &choices(self.place, std::slice::from_ref(text))?[..] else {
            return fail("the baseline is one algorithm");
        };
        let mut lists = content.graphs.iter().map(|graph| graph.algorithms.as_ref().unwrap_or(&content.algorithms));
        let takes_part = lists.try_fold(false, |found, list| -> Result<bool> {
            Ok(found || choices(self.place, list)?.iter().any(|other| other.text == choice.text))
        })?;
        if !takes_part {
            return fail(&format!("the baseline {:?} is not among the algorithms", choice.text));
        }
        Ok(Some(Baseline {
            algorithm: choice.text.clone(),
            device: choice.device.as_ref().filter(|_| self.changes.device.is_none()).cloned(),
            threads: choice
                .threads
                .or_else(|| content.baseline_threads.as_ref().map(|threads| threads.as_ref().count(self.cores))),
        }))
    }

    pub(super) fn skip(&mut self, whom: &str, reason: String) {
        let place = self.skipped.iter().position(|(other, _)| *other == reason).unwrap_or_else(|| {
            self.skipped.push((reason, Vec::new()));
            self.skipped.len() - 1
        });
        let names = &mut self.skipped[place].1;
        if !names.iter().any(|name| name == whom) {
            names.push(whom.into());
        }
    }

    /// What does not run here, and why: a line for each reason.
    pub(super) fn notes(&mut self) -> Vec<String> {
        self.beyond.sort_unstable();
        self.beyond.dedup();
        let mut notes = Vec::new();
        if !self.beyond.is_empty() {
            let counts = self.beyond.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            notes.push(format!("skipped {counts} threads: there are {} here", self.cores));
        }
        notes.extend(self.skipped.iter().map(|(reason, names)| format!("skipped {}: {reason}", names.join(", "))));
        notes.append(&mut self.other_notes);
        notes
    }
}

/// The algorithms that `end-to-end` names, each of which must be meant to run on a GPU, on whatever machine.
pub(super) fn end_to_end(place: Place, content: &Content) -> Result<Vec<String>> {
    let mut known = Vec::new();
    for graph in &content.graphs {
        known.extend(choices(place, graph.algorithms.as_ref().unwrap_or(&content.algorithms))?);
    }
    let on_gpu = |device: &str| device == "auto" || is_gpu(device);
    let mut names = Vec::new();
    for wanted in choices(place, &content.end_to_end)? {
        let fail = |what: String| Err(place.error(Some(wanted.span.clone()), &what));
        let Choice { text, device, run, .. } = &wanted;
        if device.is_some() {
            return fail(format!("end-to-end means GPUs; name {text:?} without a device"));
        }
        if !run.algorithm().runs_on_cuda() {
            return fail(format!("{text:?} runs on CPUs only; end-to-end is for algorithms on GPUs"));
        }
        let mut same = known.iter().filter(|choice| choice.text == *text).peekable();
        if same.peek().is_none() {
            return fail(format!("{text:?} is not among the algorithms, options and all"));
        }
        let is_on_gpu = |choice: &Choice| match &choice.device {
            Some(device) => on_gpu(device),
            None => content.devices.iter().any(|device| on_gpu(device.as_ref())),
        };
        if !same.any(is_on_gpu) {
            return fail(format!("{text:?} runs on no GPU in this suite; write {text}@cuda or devices = [\"cuda\"]"));
        }
        names.push(wanted.text);
    }
    Ok(names)
}

/// The algorithms that a list names.
pub(super) fn choices(place: Place, list: &[Spanned<String>]) -> Result<Vec<Choice>> {
    let mut choices = Vec::new();
    for entry in list {
        let fail = |what: String| place.error(Some(entry.span()), &what);
        let (text, device, threads) = split_device(entry.as_ref());
        let device = device.map(str::to_owned);
        for expanded in expand(text).map_err(fail)? {
            let run = Run::new(&expanded.text).map_err(|error| fail(error.to_string()))?;
            choices.push(Choice { text: expanded.text, device: device.clone(), threads, run, span: entry.span() });
        }
    }
    Ok(choices)
}

/// An algorithm, the device behind the `@`, and the number of threads behind `cpu:`.
pub(super) fn split_device(text: &str) -> (&str, Option<&str>, Option<usize>) {
    let Some((text, device)) = text.split_once('@') else { return (text, None, None) };
    match device.strip_prefix("cpu:").and_then(|threads| threads.parse().ok()) {
        Some(threads) => (text, Some("cpu"), Some(threads)),
        None => (text, Some(device), None),
    }
}

fn is_same(a: &Contender, b: &Contender) -> bool {
    a.algorithm == b.algorithm && a.device == b.device && a.threads == b.threads
}

/// Whether a name is that of a GPU, here or elsewhere.
fn is_gpu(name: &str) -> bool {
    name == "cuda" || name.strip_prefix("cuda:").is_some_and(|number| number.parse::<u32>().is_ok())
}
