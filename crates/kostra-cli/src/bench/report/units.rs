//! Numbers in a unit that suits them, for tables and axes.

use crate::bench::suite::Metric;

/// What values are divided by, and what that makes them.
#[derive(Clone, Copy)]
pub(super) struct Unit {
    pub(super) size: f64,
    pub(super) name: &'static str,
}

impl Unit {
    /// The unit for all values of a metric.
    pub(super) fn of(metric: &Metric, values: impl Iterator<Item = f64>) -> Self {
        let unit = |size, name| Self { size, name };
        match metric {
            Metric::Throughput => unit(1e6, "million edges/s"),
            Metric::Efficiency => unit(0.01, "%"),
            Metric::Statistic(name) if name == "imbalance" || name == "off target" => unit(0.01, "%"),
            Metric::Time => {
                let mut values: Vec<f64> = values.filter(|value| *value > 0.0).collect();
                values.sort_by(f64::total_cmp);
                match values.get(values.len() / 2).copied().unwrap_or(1.0) {
                    middle if middle < 1e-3 => unit(1e-6, "µs"),
                    middle if middle < 1.0 => unit(1e-3, "ms"),
                    _ => unit(1.0, "s"),
                }
            }
            _ => unit(1.0, ""),
        }
    }

    /// A value in this unit.
    pub(super) fn show(self, value: f64) -> String {
        number(value / self.size)
    }

    /// A heading with this unit.
    pub(super) fn heading(self, name: &str) -> String {
        if self.name.is_empty() { name.into() } else { format!("{name}, {}", self.name) }
    }
}

/// Three digits that matter; whole numbers whole, in groups of three.
pub(super) fn number(value: f64) -> String {
    // Seconds in another unit carry the last bits of floats.
    if (value - value.round()).abs() <= value.abs() * 1e-12 || value.abs() >= 999.5 {
        return grouped(value.round());
    }
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        size if size >= 0.09995 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

/// Narrow blanks between thousands.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut shown = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 && digits.len() > 4 {
            shown.push('\u{202f}');
        }
        shown.push(digit);
    }
    if value < 0.0 { format!("-{shown}") } else { shown }
}

/// A number on an axis: `20 k`, `0.5`.
pub(super) fn tick(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, " G"),
        size if size >= 1e6 => (value / 1e6, " M"),
        size if size >= 1e4 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    // Sums of steps carry the last bits of floats.
    let rounded = (scaled * 1e6).round() / 1e6;
    format!("{rounded}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_groups() {
        let shown: Vec<String> = [0.0, 3.0, 0.01234, 0.5, 2.34567, 23.4567, 234.567, 12345.6].map(number).into();
        assert_eq!(shown, ["0", "3", "0.0123", "0.500", "2.35", "23.5", "235", "12\u{202f}346"]);
        assert_eq!(number(0.051 / 1e-3), "51");
        assert_eq!([0.5, 2000.0, 20000.0, 5e6].map(tick), ["0.5", "2000", "20 k", "5 M"]);
    }

    #[test]
    fn the_unit_suits_most_values() {
        assert_eq!(Unit::of(&Metric::Time, [0.002, 0.5, 30.0].into_iter()).name, "ms");
        assert_eq!(Unit::of(&Metric::Time, [2.0, 30.0].into_iter()).name, "s");
        assert_eq!(Unit::of(&Metric::Time, [0.002].into_iter()).heading("time"), "time, ms");
    }
}
