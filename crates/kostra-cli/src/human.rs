//! Numbers and tables for a person.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::path::Path;
use std::time::Duration;

/// From here on a count is followed by its size in words.
const LARGE: u64 = 1_000_000;

/// A count, exactly, and readable where it is large: `1048576 (1.05 M)`.
pub(crate) fn count(count: usize) -> String {
    let count = count as u64;
    if count < LARGE { count.to_string() } else { format!("{count} ({})", scaled(count as f64, &["", "k", "M", "G"])) }
}

/// A count with its noun: `1 edge`, `2 edges`.
pub(crate) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A size of a file or of memory: `85.1 kB`.
pub(crate) fn bytes(bytes: u64) -> String {
    scaled(bytes as f64, &["B", "kB", "MB", "GB", "TB"])
}

/// A time in the unit that suits it: `8.12 ms`.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 0.000_999_5 {
        format!("{} µs", significant(seconds * 1e6))
    } else if seconds < 0.999_5 {
        format!("{} ms", significant(seconds * 1e3))
    } else if seconds < 99.95 {
        format!("{} s", significant(seconds))
    } else {
        let seconds = seconds.round() as u64;
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

/// A file and its size; devices and pipes have none.
pub(crate) fn file(path: &Path) -> String {
    match path.metadata() {
        Ok(meta) if meta.is_file() => format!("{}, {}", path.display(), bytes(meta.len())),
        _ => path.display().to_string(),
    }
}

/// The same text without line breaks and other control characters.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

fn scaled(mut value: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 { format!("{value:.0}") } else { significant(value) };
    format!("{digits} {}", units[unit]).trim_end().into()
}

/// Three digits that matter.
fn significant(value: f64) -> String {
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$}")
}

/// Lines of a label and a value each, the values aligned.
#[derive(Default)]
pub(crate) struct Lines(Vec<(Cow<'static, str>, String)>);

impl Lines {
    /// Adds a line.
    pub(crate) fn add(&mut self, label: impl Into<Cow<'static, str>>, value: impl Display) {
        self.0.push((label.into(), one_line(&value.to_string())));
    }
}

impl Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
        self.0.iter().try_for_each(|(label, value)| writeln!(f, "{label:width$}  {value}"))
    }
}

/// A table with right-aligned columns under their headings.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([headings[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let cells = cells.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    let body = rows.iter().map(|row| line(row.iter().map(String::as_str).collect()));
    std::iter::once(line(headings.to_vec())).chain(body).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_three_digits_in_every_unit() {
        let shown = |nanos| time(Duration::from_nanos(nanos));
        assert_eq!(shown(0), "0.00 µs");
        assert_eq!(shown(812_345), "812 µs");
        assert_eq!(shown(999_999), "1.00 ms");
        assert_eq!(shown(8_120_000), "8.12 ms");
        assert_eq!(shown(999_900_000), "1.00 s");
        assert_eq!(shown(31_400_000_000), "31.4 s");
        assert_eq!(shown(125_000_000_000), "2 min 05 s");
    }

    #[test]
    fn counts_and_sizes_read_well() {
        assert_eq!(count(999_999), "999999");
        assert_eq!(count(1_048_576), "1048576 (1.05 M)");
        assert_eq!(count(999_999_999), "999999999 (1.00 G)");
        assert_eq!(counted(1, "tree", "trees"), "1 tree");
        assert_eq!(bytes(17), "17 B");
        assert_eq!(bytes(85_123), "85.1 kB");
    }

    #[test]
    fn control_characters_cannot_break_a_line() {
        assert_eq!(one_line("a\nb\u{1b}[31mř"), "a\\nb\\u{1b}[31mř");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["1".into(), "2".into()], vec!["333".into(), "4".into()]];
        assert_eq!(table(&["a", "bb"], &rows), "  a  bb\n  1   2\n333   4\n");
    }
}
