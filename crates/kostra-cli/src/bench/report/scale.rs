//! From values to places on an axis, and the ticks between.

/// An axis from its smallest to its largest value, at pixels `from` to `to`.
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

/// A line across the plot, with a number unless there would be too many.
#[derive(Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) labelled: bool,
}

impl Scale {
    /// An axis for these values. A logarithmic one is for positive values; a linear one begins at zero.
    pub(super) fn new(values: &[f64], log: bool, from: f64, to: f64) -> Self {
        let positive = || values.iter().copied().filter(|value| *value > 0.0);
        let log = log && positive().next().is_some();
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if log {
            let low = positive().fold(f64::INFINITY, f64::min);
            // A little room, so that no mark stands on the frame.
            let room = (high / low).powf(0.04).max(1.05);
            return Self { low: low / room, high: high * room, log, from, to };
        }
        let low = values.iter().copied().fold(0.0, f64::min);
        let high = if high > low { high + (high - low) * 0.05 } else { low + 1.0 };
        Self { low, high, log, from, to }
    }

    /// The same with another first value.
    pub(super) fn beginning_at(self, low: f64) -> Self {
        Self { low, ..self }
    }

    /// Where a value stands.
    pub(super) fn at(&self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + part * (self.to - self.from)
    }

    /// Where bars begin.
    pub(super) fn floor(&self) -> f64 {
        self.at(if self.log { self.low } else { self.low.max(0.0) })
    }

    /// The ticks: at 1, 2 and 5 times powers of ten, or at equal steps.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        if self.log { self.log_ticks() } else { self.linear_ticks() }
    }

    fn log_ticks(&self) -> Vec<Tick> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let decades = (self.high / self.low).log10();
        let mut ticks = Vec::new();
        for power in first..=last {
            for digit in [1.0, 2.0, 5.0] {
                let value = digit * 10f64.powi(power);
                // Numbers of at most six or seven ticks can be read.
                let labelled = decades < 2.3 || digit == 1.0 && (decades < 7.0 || power % 2 == 0);
                let wanted = decades < 4.5 || digit == 1.0;
                if wanted && (self.low..=self.high).contains(&value) {
                    ticks.push(Tick { value, labelled });
                }
            }
        }
        // A narrow range may hold no such number.
        if ticks.iter().filter(|tick| tick.labelled).count() < 2 {
            return self.linear_ticks().into_iter().filter(|tick| tick.value >= self.low && tick.value > 0.0).collect();
        }
        ticks
    }

    fn linear_ticks(&self) -> Vec<Tick> {
        let rough = (self.high - self.low) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let digits = [1.0, 2.0, 5.0, 10.0];
        let step = digits.into_iter().map(|digit| digit * power).find(|step| *step >= rough).unwrap_or(10.0 * power);
        let first = (self.low / step).ceil() as i64;
        let ticks = (first..).map(|i| i as f64 * step).take_while(|value| *value <= self.high);
        ticks.map(|value| Tick { value, labelled: true }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labelled(values: &[f64], log: bool) -> Vec<f64> {
        let ticks = Scale::new(values, log, 0.0, 100.0).ticks();
        ticks.into_iter().filter(|tick| tick.labelled).map(|tick| tick.value).collect()
    }

    #[test]
    fn ticks_are_at_round_numbers() {
        assert_eq!(labelled(&[3.0, 80.0], true), [5.0, 10.0, 20.0, 50.0]);
        assert_eq!(labelled(&[1.0, 5000.0], true), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(labelled(&[0.0, 9.0], false), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert!(labelled(&[7.0, 7.0], true).len() >= 2);
        assert!(!labelled(&[], false).is_empty() && !labelled(&[0.0], true).is_empty());
    }

    #[test]
    fn values_stand_between_the_ends() {
        let scale = Scale::new(&[1.0, 100.0], true, 300.0, 0.0);
        assert!((scale.at(10.0) - 150.0).abs() < 1e-9);
        assert!(scale.at(100.0) > 0.0 && scale.at(1.0) < 300.0);
        assert_eq!(Scale::new(&[1.0, 2.0], false, 300.0, 0.0).floor(), 300.0);
    }
}
