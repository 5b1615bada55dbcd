//! From numbers to places on an axis, and the numbers worth marking on it.
//!
//! Ticks are multiples of a "nice" step (1, 2 or 5 times a power of ten), on a logarithmic axis
//! powers of ten, or 1, 2, 5 times them when there are few. Labels carry as many decimals as the
//! step needs. How many ticks there are is decided by whether their labels fit.

use smidgen_value::math::{ln, pow};

use crate::number;

/// Numbers beyond this are not drawn: their squares and differences must stay finite.
const LARGEST: f64 = 1e100;

/// Whether a number has a place on a plot.
pub fn drawable(x: f64) -> bool {
    x.abs() <= LARGEST
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Kind {
    #[default]
    Linear,
    /// As linear, with ticks at whole numbers only.
    Whole,
    /// Positive numbers only.
    Log,
    /// The k-th category lies at the number k.
    Categories(Vec<String>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    pub at: f64,
    pub label: String,
}

/// An axis with its range of numbers and its range of places.
#[derive(Clone, Debug)]
pub struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
    /// Where `low` and `high` are drawn.
    places: (f64, f64),
}

impl Scale {
    /// The range may be anything; it is made drawable, and positive if it must be.
    pub fn new(kind: Kind, range: (f64, f64), places: (f64, f64)) -> Scale {
        let (low, high) = match &kind {
            Kind::Linear | Kind::Whole => widened(range),
            Kind::Log => widened_log(range),
            Kind::Categories(names) => (-0.5, names.len().max(1) as f64 - 0.5),
        };
        Scale { kind, low, high, places }
    }

    pub fn range(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Where a number is drawn, if it can be; outside of the range it is outside of the places.
    pub fn place(&self, x: f64) -> Option<f64> {
        let share = match self.kind {
            _ if !drawable(x) => return None,
            Kind::Log if x < 1e-300 => return None,
            Kind::Log => ln(x / self.low) / ln(self.high / self.low),
            _ => (x - self.low) / (self.high - self.low),
        };
        Some(self.places.0 + share * (self.places.1 - self.places.0))
    }

    /// Where the end of an interval is drawn: at the edge if it is out of range or infinite.
    pub fn place_within(&self, x: f64) -> Option<f64> {
        if x.is_nan() { None } else { self.place(x.clamp(self.low, self.high)) }
    }

    /// At most so many ticks, for labels that `fit`.
    pub fn ticks(&self, most: usize, fit: impl Fn(&[Tick]) -> bool) -> Vec<Tick> {
        if let Kind::Categories(names) = &self.kind {
            let tick = |(k, name): (usize, &String)| Tick { at: k as f64, label: name.clone() };
            return names.iter().enumerate().map(tick).collect();
        }
        let mut ticks = Vec::new();
        for most in (1..=most).rev() {
            ticks = match self.kind {
                Kind::Log => log_ticks(self.low, self.high, most),
                Kind::Whole => whole_ticks(self.low, self.high, most),
                _ => linear_ticks(self.low, self.high, most),
            };
            if fit(&ticks) {
                break;
            }
        }
        ticks
    }
}

/// A range with an inside: a single number gets room on both sides.
fn widened((low, high): (f64, f64)) -> (f64, f64) {
    if !drawable(low) || !drawable(high) {
        return (0.0, 1.0);
    }
    let (low, high) = (low.min(high), low.max(high));
    let size = low.abs().max(high.abs());
    if high - low > 1e-9 * size && high - low > 1e-300 {
        return (low, high);
    }
    let room = if size > 1e-290 { 0.1 * size } else { 0.5 };
    (low - room, high + room)
}

fn widened_log((low, high): (f64, f64)) -> (f64, f64) {
    if !drawable(low) || !drawable(high) || low.max(high) < 1e-290 {
        return (1.0, 10.0);
    }
    let (low, high) = (low.min(high), low.max(high));
    let low = if low < 1e-290 { high / 1000.0 } else { low };
    if high / low > 1.01 { (low, high) } else { (low / 2.0, high * 2.0) }
}

fn power_of_ten(k: i32) -> f64 {
    pow(10.0, f64::from(k))
}

/// Multiples of a nice step within the range: at most `most` + 1.
pub fn linear_ticks(low: f64, high: f64, most: usize) -> Vec<Tick> {
    let span = high - low;
    if !span.is_finite() || span <= 0.0 {
        return Vec::new();
    }
    let rough = span / most.max(1) as f64;
    let power = number::exponent(rough, 15);
    let unit = power_of_ten(power);
    let (mantissa, power) = match rough / unit {
        r if r <= 1.0 + 1e-9 => (1.0, power),
        r if r <= 2.0 + 1e-9 => (2.0, power),
        r if r <= 5.0 + 1e-9 => (5.0, power),
        _ => (1.0, power + 1),
    };
    // A division keeps 0.3 from becoming 0.30000000000000004.
    let multiple = |i: f64| match power {
        ..0 => i * mantissa / power_of_ten(-power),
        _ => i * mantissa * power_of_ten(power),
    };
    let step = multiple(1.0);
    let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    let largest = multiple(first).abs().max(multiple(last).abs());
    let tick = |k: usize| {
        let at = multiple(first + k as f64);
        Tick { at, label: label(at, power, largest) }
    };
    let count = (last - first + 1.0).max(0.0) as usize;
    (0..count).map(tick).collect()
}

/// As on a linear axis, but for what lies between whole numbers.
pub fn whole_ticks(low: f64, high: f64, most: usize) -> Vec<Tick> {
    let mut ticks = linear_ticks(low, high, most);
    ticks.retain(|tick| tick.at.fract() == 0.0);
    let largest = ticks.iter().map(|tick| tick.at.abs()).fold(0.0, f64::max);
    if largest < 1e6 {
        ticks.iter_mut().for_each(|tick| tick.label = label(tick.at, 0, largest));
    }
    ticks
}

/// A tick with as many decimals as a step of 10^power needs.
fn label(at: f64, power: i32, largest: f64) -> String {
    if at == 0.0 {
        return "0".to_owned();
    }
    if largest >= 1e6 || power < -5 {
        let digits = (number::exponent(at, 15) - power).clamp(0, 12) as usize;
        return format!("{at:.digits$e}");
    }
    match power {
        ..0 => number::fixed(at, -power as usize),
        _ if at < 0.0 => format!("-{}", number::count(-at.round() as u64)),
        _ => number::count(at.round() as u64),
    }
}

/// Powers of ten within the range, every so many if there are more than `most`; with 2 and 5 times
/// them where there is room; a narrow range has ticks as on a linear axis.
pub fn log_ticks(low: f64, high: f64, most: usize) -> Vec<Tick> {
    let (first, last) = (number::exponent(low, 15), number::exponent(high, 15));
    let within = |mantissas: &[f64], stride: i32| {
        let mut ticks = Vec::new();
        for k in (first..=last).filter(|k| k.rem_euclid(stride) == 0) {
            for &mantissa in mantissas {
                let at = mantissa * power_of_ten(k);
                if at >= low * (1.0 - 1e-9) && at <= high * (1.0 + 1e-9) {
                    ticks.push(Tick { at, label: log_label(at, k) });
                }
            }
        }
        ticks
    };
    for mantissas in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]] {
        let ticks = within(mantissas, 1);
        if ticks.len() == 1 && last - first < 1 {
            break;
        }
        if (2..=most.max(2)).contains(&ticks.len()) {
            return ticks;
        }
    }
    if last - first <= 1 {
        return linear_ticks(low, high, most);
    }
    let stride = ((last - first) as usize).div_ceil(most.max(1)).max(1);
    within(&[1.0], stride as i32)
}

fn log_label(at: f64, power: i32) -> String {
    match power {
        0..6 => number::count(at.round() as u64),
        -3..0 => number::fixed(at, -power as usize),
        _ => format!("{at:.0e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn linear_ticks_are_nice() {
        for (low, high, most, want) in [
            (0.0, 1.0, 5, vec!["0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (-0.13, 0.41, 4, vec!["0", "0.2", "0.4"]),
            (-7.0, 12.0, 4, vec!["-5", "0", "5", "10"]),
            (0.0, 3.1e7, 3, vec!["0", "2e7"]),
            (0.0, 2.0e-7, 4, vec!["0", "5e-8", "1.0e-7", "1.5e-7", "2.0e-7"]),
            (100000.11, 100000.19, 2, vec!["100000.15"]),
        ] {
            let ticks = linear_ticks(low, high, most);
            assert_eq!(labels(&ticks), want, "{low} {high}");
        }
    }

    #[test]
    fn whole_ticks_are_whole() {
        assert_eq!(labels(&whole_ticks(-0.4, 1.4, 6)), ["0", "1"]);
        assert_eq!(labels(&whole_ticks(0.0, 20000.0, 2)), ["0", "10,000", "20,000"]);
        assert_eq!(labels(&whole_ticks(0.0, 4e6, 2)), ["0", "2e6", "4e6"]);
    }

    #[test]
    fn linear_ticks_lie_within_and_are_few() {
        for low in [-1e9, -3.7, 0.0, 1e-12, 0.123, 99.9, 1e6, 1e90] {
            for span in [1e-6, 0.01, 1.0, 7.3, 1e4, 1e12] {
                let (low, high) = widened((low, low + span));
                for most in 1..9 {
                    let ticks = linear_ticks(low, high, most);
                    assert!(ticks.len() <= most + 1, "{low} {high} {most}: {ticks:?}");
                    let room = 1e-6 * (high - low);
                    assert!(ticks.iter().all(|t| t.at >= low - room && t.at <= high + room));
                    assert!(most < 4 || ticks.len() >= 2, "{low} {high} {most}: {ticks:?}");
                    let mut distinct = labels(&ticks);
                    distinct.dedup();
                    assert_eq!(distinct.len(), ticks.len(), "{ticks:?}");
                }
            }
        }
    }

    #[test]
    fn log_ticks_are_powers_of_ten() {
        for (low, high, most, want) in [
            (1.0, 1000.0, 4, vec!["1", "10", "100", "1000"]),
            (80.0, 12000.0, 5, vec!["100", "300", "1000", "3000", "10,000"]),
            (1.0, 1e9, 4, vec!["1", "1000", "1e6", "1e9"]),
            (0.004, 0.3, 4, vec!["0.01", "0.03", "0.1", "0.3"]),
            (20.0, 40.0, 4, vec!["20", "25", "30", "35", "40"]),
        ] {
            assert_eq!(labels(&log_ticks(low, high, most)), want, "{low} {high}");
        }
    }

    #[test]
    fn every_number_has_a_place_or_none() {
        for kind in [Kind::Linear, Kind::Whole, Kind::Log, Kind::Categories(vec![])] {
            for range in [(0.0, 0.0), (f64::NAN, 1.0), (-1e308, 1e308), (5.0, 5.0), (1.0, 1e-320)] {
                let scale = Scale::new(kind.clone(), range, (0.0, 100.0));
                assert!(scale.ticks(5, |_| true).len() < 20);
                for x in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-310, f64::MAX, 5.0] {
                    assert!(scale.place(x).is_none_or(f64::is_finite), "{kind:?} {range:?} {x}");
                    let within = scale.place_within(x);
                    assert!(
                        within.is_none_or(|p| (-1e-6..=100.0 + 1e-6).contains(&p)),
                        "{kind:?} {range:?} {x} {within:?}"
                    );
                }
            }
        }
        let scale = Scale::new(Kind::Log, (1.0, 100.0), (0.0, 100.0));
        assert!((scale.place(10.0).unwrap() - 50.0).abs() < 1e-9);
        assert_eq!(scale.place(0.0), None);
        assert_eq!(scale.place_within(0.0), Some(0.0));
    }
}
