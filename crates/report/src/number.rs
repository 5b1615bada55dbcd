//! Numbers as people read them. NaN, which means "not known", is a dash.

const UNKNOWN: &str = "–";

/// What to write for a number that has no digits.
fn special(x: f64) -> Option<String> {
    if x.is_nan() {
        Some(UNKNOWN.to_owned())
    } else if x.is_infinite() {
        Some(if x > 0.0 { "inf" } else { "-inf" }.to_owned())
    } else {
        None
    }
}

/// The power of ten of the first digit, once rounded to `digits`.
pub(crate) fn exponent(x: f64, digits: usize) -> i32 {
    let text = format!("{x:.*e}", digits.max(1) - 1);
    let power = text.split('e').nth(1).and_then(|power| power.parse().ok());
    power.expect("a finite number in scientific notation has an exponent")
}

/// With so many significant digits, trailing zeros kept; all digits before the point are shown
/// up to 999 999.
pub fn significant(x: f64, digits: usize) -> String {
    if let Some(text) = special(x) {
        return text;
    }
    if x == 0.0 {
        return "0".to_owned();
    }
    let power = exponent(x, digits);
    if (-4..6).contains(&power) {
        fixed(x, (digits as i32 - 1 - power).max(0) as usize)
    } else {
        format!("{x:.*e}", digits.max(1) - 1)
    }
}

/// Down to the second digit of its error, if that is known, but with at least `least` significant
/// digits and at most 10.
pub fn with_error(x: f64, error: f64, least: usize) -> String {
    if !x.is_finite() || x == 0.0 || !error.is_finite() || error <= 0.0 {
        return significant(x, least);
    }
    let wanted = exponent(x, least) - exponent(error, 2) + 2;
    significant(x, wanted.clamp(least as i32, 10) as usize)
}

/// With so many decimals.
pub fn fixed(x: f64, decimals: usize) -> String {
    special(x).unwrap_or_else(|| without_lonely_sign(format!("{x:.decimals$}")))
}

/// With so many decimals and always a sign.
pub fn signed(x: f64, decimals: usize) -> String {
    let text = fixed(x, decimals);
    let zero = !text.contains(|c: char| ('1'..='9').contains(&c));
    if x > 0.0 && (x.is_infinite() || !zero) { format!("+{text}") } else { text }
}

/// A zero that is only rounded to has no sign to show.
fn without_lonely_sign(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if !rest.contains(|c| ('1'..='9').contains(&c)) => rest.to_owned(),
        _ => text,
    }
}

/// A fraction as a percentage with two significant digits, more between 10 % and 100 %.
pub fn percent(fraction: f64) -> String {
    let x = 100.0 * fraction;
    match special(x) {
        Some(text) if x.is_nan() => text,
        Some(text) => text + "%",
        None if x == 0.0 || x == 100.0 => format!("{x:.0}%"),
        None if x.abs() < 0.01 => format!("{}%", significant(x, 1)),
        None if x.abs() < 1.0 => format!("{}%", fixed(x, 2)),
        // 99.97 % is not 100 %.
        None if x > 99.9 && x < 100.0 => format!("{}%", fixed(x.min(99.99), 2)),
        None => format!("{}%", fixed(x, 1)),
    }
}

/// A probability value of a test.
pub fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { fixed(p, 3) }
}

/// A number of things, in groups of three digits from 10,000 on.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A mean number of things: few digits, and a whole number when it is large.
pub fn amount(x: f64) -> String {
    if x.is_finite() && (1000.0..1e15).contains(&x) {
        count(x.round() as u64)
    } else {
        significant(x, 3)
    }
}

/// How many times as much.
pub fn times(ratio: f64) -> String {
    if ratio >= 1000.0 { amount(ratio) } else { significant(ratio, 2) }
}

/// A duration.
pub fn seconds(s: f64) -> String {
    if s.is_nan() {
        return UNKNOWN.to_owned();
    }
    if s.is_finite() && s < 0.1 {
        format!("{} ms", significant(s * 1000.0, 2))
    } else if s.is_finite() && s >= 120.0 {
        format!("{} min {} s", (s / 60.0).floor(), (s % 60.0).floor())
    } else {
        format!("{} s", significant(s, 3))
    }
}

/// "1 chain", "4 chains".
pub fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_digits() {
        for (x, text) in [
            (0.0, "0"),
            (1.23456, "1.23"),
            (9.999, "10.0"),
            (-0.000123456, "-0.000123"),
            (123456.0, "123456"),
            (1234567.0, "1.23e6"),
            (1.5e-9, "1.50e-9"),
            (f64::NAN, "–"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(significant(x, 3), text);
        }
    }

    #[test]
    fn digits_follow_the_error() {
        for (x, error, text) in [
            (1.23456, 0.1, "1.23"),
            (1.23456, 0.0012, "1.2346"),
            (123456.789, 0.5, "123456.79"),
            (1.23456, f64::NAN, "1.23"),
            (0.0, 0.1, "0"),
            (f64::INFINITY, 0.1, "inf"),
        ] {
            assert_eq!(with_error(x, error, 3), text);
        }
    }

    #[test]
    fn signs() {
        assert_eq!(fixed(-0.0004, 3), "0.000");
        assert_eq!(signed(0.0004, 3), "0.000");
        assert_eq!(signed(0.5, 2), "+0.50");
        assert_eq!(signed(-0.5, 2), "-0.50");
        assert_eq!(signed(f64::INFINITY, 2), "+inf");
        assert_eq!(signed(f64::NAN, 2), "–");
    }

    #[test]
    fn percentages_counts_and_durations() {
        for (x, text) in
            [(0.0, "0%"), (0.0123, "1.2%"), (0.00123, "0.12%"), (1.0, "100%"), (0.99999, "99.99%")]
        {
            assert_eq!(percent(x), text);
        }
        assert_eq!(percent(0.00001), "0.001%");
        assert_eq!(count(9999), "9999");
        assert_eq!(count(1234567), "1,234,567");
        assert_eq!(amount(12345.6), "12,346");
        assert_eq!(p_value(1e-9), "<0.001");
        assert_eq!(p_value(f64::NAN), "–");
        assert_eq!(times(0.5), "0.50");
        assert_eq!(seconds(0.0123), "12 ms");
        assert_eq!(seconds(125.0), "2 min 5 s");
        assert_eq!(plural(1, "chain"), "1 chain");
    }
}
