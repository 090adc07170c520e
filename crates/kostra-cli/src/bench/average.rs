//! What is said of many times: their middle, how far they lie apart, and the mean of ratios.

use std::time::Duration;

/// The middle time, or the mean of the two in the middle; zero of none.
pub(super) fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    match sorted.len() {
        0 => Duration::ZERO,
        count => (sorted[(count - 1) / 2] + sorted[count / 2]) / 2,
    }
}

/// How far the times lie apart, as a part of their median.
pub(super) fn spread(times: &[Duration]) -> f64 {
    let range = times.iter().max().zip(times.iter().min()).map_or(Duration::ZERO, |(max, min)| *max - *min);
    quotient(range, median(times)).unwrap_or(0.0)
}

/// One time in units of another, unless that is zero.
pub(super) fn quotient(time: Duration, unit: Duration) -> Option<f64> {
    (!unit.is_zero()).then(|| time.as_secs_f64() / unit.as_secs_f64())
}

/// The geometric mean, which alone gives the same verdict whichever side of a ratio is the unit; none of nothing.
pub(super) fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (logarithms / ratios.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(times: &[u64]) -> Vec<Duration> {
        times.iter().map(|&ms| Duration::from_millis(ms)).collect()
    }

    #[test]
    fn the_median_is_the_middle_in_any_order() {
        let median = |times: &[u64]| median(&ms(times)).as_micros();
        assert_eq!(median(&[]), 0);
        assert_eq!(median(&[7]), 7000);
        assert_eq!(median(&[9, 6]), 7500);
        assert_eq!(median(&[30, 7, 9]), 9000);
        assert_eq!(median(&[4, 1, 3, 2]), 2500);
    }

    #[test]
    fn the_spread_is_relative_to_the_median() {
        assert_eq!(spread(&ms(&[])), 0.0);
        assert_eq!(spread(&ms(&[0, 0])), 0.0);
        assert_eq!(spread(&ms(&[10])), 0.0);
        assert_eq!(spread(&ms(&[10, 12, 8])), 0.4);
    }

    #[test]
    fn the_geometric_mean_does_not_favour_a_side() {
        let close = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
        assert!(close(geometric_mean(&[2.0, 8.0]), 4.0));
        assert!(close(geometric_mean(&[0.5, 0.125]), 0.25));
        assert_eq!(quotient(Duration::from_secs(3), Duration::from_secs(2)), Some(1.5));
        assert_eq!(quotient(Duration::from_secs(3), Duration::ZERO), None);
    }
}
