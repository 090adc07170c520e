//! The kernels as they are shipped, and what of a module the driver is given to compile.

/// Kernels that are loaded together.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Module {
    Graph,
    Ecl,
    KostraU32,
    KostraU64,
    Contract,
    Vineet,
    Uminho,
    Strut,
    Pma,
}

impl Module {
    /// As `scripts/ptx` makes it from the sources.
    pub(super) fn code(self) -> Code {
        macro_rules! code {
            ($name:literal) => {
                Code {
                    ptx: include_str!(concat!("../../kernels/", $name, ".ptx")),
                    machine: include_bytes!(concat!("../../kernels/", $name, ".fatbin")),
                }
            };
        }
        match self {
            Module::Graph => code!("graph"),
            Module::Ecl => code!("ecl"),
            Module::KostraU32 => code!("kostra-u32"),
            Module::KostraU64 => code!("kostra-u64"),
            Module::Contract => code!("contract"),
            Module::Vineet => code!("vineet"),
            Module::Uminho => code!("uminho"),
            Module::Strut => code!("strut"),
            Module::Pma => code!("pma"),
        }
    }

    /// How many arguments a kernel takes.
    pub(super) fn parameters(self, name: &str) -> usize {
        let declared = self.code().ptx.split_once(&format!("{KERNEL}{name}(\n"));
        declared.map_or(0, |(_, parameters)| parameters.lines().take_while(|line| *line != ")").count())
    }

    /// The kernels that are compiled from PTX together with that of a name, as a solve that needs it first needs them all. The
    /// driver takes 10 to 40 ms more for each compilation, but no time for kernels that other algorithms, options or shapes of
    /// graphs need.
    pub(super) fn group(self, name: &str) -> Vec<&str> {
        const ROUNDS: [&str; 4] = ["join_vertices", "build_all", "rounds", "held_rounds"];
        const STRAYS: [&str; 2] = ["find_strays", "list_strays"];
        const HEAVY: [&str; 2] = ["label", "build_heavy"];
        const OFFERS: [&str; 2] = ["offer_edges", "look_up_edges"];
        let of_kostra = || match name {
            // Graphs of that many edges are filtered.
            "search_groups" => [&[name, "build_light"], &ROUNDS[..], &STRAYS].concat(),
            "search_rows" => [&[name], &ROUNDS[..]].concat(),
            _ => match [&ROUNDS[..], &STRAYS, &HEAVY, &OFFERS].into_iter().find(|group| group.contains(&name)) {
                Some(group) => group.to_vec(),
                None => vec![name],
            },
        };
        match self {
            Module::Graph => kernels_in(self.code().ptx).collect(),
            Module::KostraU32 | Module::KostraU64 => of_kostra(),
            _ => vec![name],
        }
    }
}

/// The kernels of a module in two forms.
pub(super) struct Code {
    /// Text that any supported driver compiles for its GPU, which takes a second for some.
    pub(super) ptx: &'static str,
    /// What a driver of [`MACHINE_CODE_FROM`] would make of it, for several chips; its end says of what text it was made.
    pub(super) machine: &'static [u8],
}

/// The oldest driver that can load the machine code.
pub(super) const MACHINE_CODE_FROM: (u32, u32) = (13, 0);

/// What declares a kernel in PTX, up to its name.
const KERNEL: &str = ".visible .entry ";

/// The names of all kernels in PTX.
fn kernels_in(ptx: &str) -> impl Iterator<Item = &str> {
    ptx.lines().filter_map(|line| line.strip_prefix(KERNEL)?.strip_suffix('('))
}

/// What declares a function that kernels call.
const FUNCTION: &str = ".func ";

/// PTX without all kernels but those of some names, and without functions that none of these calls: the driver would compile them.
pub(super) fn only(ptx: &str, names: &[&str]) -> String {
    // Kernels and functions with their names, and what is between them without. Functions come before those that call them.
    let mut parts: Vec<(Option<&str>, Vec<&str>)> = vec![(None, Vec::new())];
    let mut is_inside = false;
    for line in ptx.lines() {
        let declared = line.strip_prefix(KERNEL).or(line.strip_prefix(FUNCTION));
        if let Some(name) = declared.and_then(|rest| rest.strip_suffix('(')?.rsplit(' ').next()) {
            parts.push((Some(name), Vec::new()));
            is_inside = true;
        } else if !is_inside && parts.last().is_some_and(|(name, _)| name.is_some()) {
            parts.push((None, Vec::new()));
        }
        if let Some((_, lines)) = parts.last_mut() {
            lines.push(line);
        }
        is_inside &= line != "}";
    }
    let mut kept: Vec<&str> = Vec::new();
    for (name, lines) in parts.into_iter().rev() {
        let is_called = |name: &str| kept.iter().any(|line| line.contains(name));
        if name.is_none_or(|name| names.contains(&name) || (lines[0].starts_with(FUNCTION) && is_called(name))) {
            // A name alone, in a comment, declares a kernel as well.
            kept.extend(lines.into_iter().rev().filter(|line| !line.contains("// .globl")));
        }
    }
    kept.reverse();
    kept.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_of_some_kernels_has_these_and_all_that_is_declared() {
        let papers = [Module::Ecl, Module::Contract, Module::Vineet, Module::Uminho, Module::Strut, Module::Pma];
        for module in [Module::Graph, Module::KostraU32, Module::KostraU64].into_iter().chain(papers) {
            let ptx = module.code().ptx;
            // Kernels and limits of their threads are declared as well, and functions that some call.
            let declared = |text: &str| {
                let own = [KERNEL, FUNCTION, ".max", ".min"];
                let is_kernels = |line: &&str| !own.iter().any(|start| line.starts_with(start));
                text.lines().filter(|line| line.starts_with('.')).filter(is_kernels).count()
            };
            assert!(kernels_in(ptx).count() > 1);
            for name in kernels_in(ptx) {
                let mut group = module.group(name);
                let text = only(ptx, &group);
                let mut left: Vec<&str> = kernels_in(&text).collect();
                assert!(left.contains(&name), "{name}");
                left.sort_unstable();
                group.sort_unstable();
                assert_eq!(left, group, "{name}");
                assert_eq!(declared(&text), declared(ptx), "{name}");
                for function in ptx.lines().filter_map(|line| line.strip_prefix(FUNCTION)?.strip_suffix('(')) {
                    let function = function.rsplit(' ').next().unwrap();
                    let count = |what: &str| text.matches(what).count();
                    let (calls, is_there) = (count(&format!("\t{function}, ")), count(&format!("{function}(")));
                    assert_eq!(is_there, usize::from(calls > 0), "{function} in {name}");
                }
                let braces = |brace| text.matches(brace).count();
                assert_eq!(braces('{'), braces('}'), "{name}");
            }
        }
    }
}
