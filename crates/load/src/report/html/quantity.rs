//! Amounts as people read them: three digits, and a unit that keeps them in front of the decimal point.

use std::time::Duration;

/// A time in nanoseconds: `82.9 µs`, `1.23 ms`, `28.3 min`.
pub(super) fn time(nanoseconds: f64) -> String {
    written(nanoseconds, &TIMES, digits)
}

/// A time in nanoseconds that is round in the decimal system, and so never in minutes: `50 µs`, `1000 s`.
pub(super) fn decimal_time(nanoseconds: f64) -> String {
    written(nanoseconds, &DECIMAL_TIMES, trimmed)
}

/// A duration, as [`time`] does.
pub(super) fn duration(duration: Duration) -> String {
    time(duration.as_secs_f64() * 1e9)
}

/// A duration that is likely to be round: `10 s`, `2.78 h`.
pub(super) fn trimmed_time(duration: Duration) -> String {
    written(duration.as_secs_f64() * 1e9, &TIMES, |number| {
        let digits = digits(number);
        if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.').to_owned() } else { digits }
    })
}

/// A size, in steps of 1024: `13.1 MiB`.
pub(super) fn bytes(bytes: f64) -> String {
    written(bytes, &SIZES, digits)
}

/// A number that is round, short: `500`, `1.5k`, `20M`.
pub(super) fn round_count(count: f64) -> String {
    written(count, &COUNTS, trimmed).replace(SPACE, "")
}

/// A number of things, all its digits: `97,411`.
pub(super) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number of things with their name: `1 error`, `2,000 errors`.
pub(super) fn counted(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", count(number))
}

/// A number of things where there is little room: `97,411`, `92.0M`.
pub(super) fn short_count(number: u64) -> String {
    if number < MANY { count(number) } else { written(number as f64, &COUNTS, digits).replace(SPACE, "") }
}

/// So many each second: `48,633`, `12.3`, `92.0M`.
pub(super) fn rate(rate: f64) -> String {
    if rate >= 99.95 { short_count(rate.round() as u64) } else { digits(rate) }
}

/// A part of a whole: `7.2 %`. A part that is not empty is never written as 0 %, and one that is not the whole never as
/// 100 %.
pub(super) fn share(part: u64, whole: u64) -> String {
    let percent = if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 };
    let number = match percent {
        _ if part == 0 || whole == 0 => "0".into(),
        _ if part >= whole => "100".into(),
        percent if percent > 99.9 => "> 99.9".into(),
        percent if percent < 0.001 => "< 0.001".into(),
        percent if percent < 0.1 => format!("{percent:.3}"),
        percent => format!("{percent:.1}"),
    };
    number + &SPACE.to_string() + "%"
}

/// Percent that are round: `50 %`, `99.99 %`.
pub(super) fn round_percent(percent: f64) -> String {
    format!("{}{SPACE}%", trimmed(percent))
}

/// The number without zeros behind the decimal point.
pub(super) fn trimmed(number: f64) -> String {
    // Seven decimals are a part of a thousand million in per cent; beyond is what adding up left behind.
    let text = format!("{number:.7}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Three digits.
fn digits(number: f64) -> String {
    match number {
        0.0 => "0".into(),
        // From 9.995 on, two decimals would give 10.00, which has four digits.
        ..9.995 => format!("{number:.2}"),
        ..99.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

fn written(amount: f64, units: &[Unit], number: fn(f64) -> String) -> String {
    if amount == 0.0 {
        return "0".into();
    }
    let fitting = units.iter().rev().find(|unit| amount >= unit.from * ALMOST);
    let Some(unit) = fitting.or(units.first()) else { return number(amount) };
    let gap = if unit.name.is_empty() { String::new() } else { SPACE.to_string() };
    format!("{}{gap}{}", number(amount / unit.size), unit.name)
}

struct Unit {
    size: f64,
    /// The smallest amount that is written in it.
    from: f64,
    name: &'static str,
}

impl Unit {
    const fn new(size: f64, name: &'static str) -> Self {
        Self { size, from: size, name }
    }
}

/// Keeps a number and its unit on a line.
const SPACE: char = '\u{a0}';

/// From here on a number has eight digits, too many to read at a glance.
const MANY: u64 = 10_000_000;

/// From here on three digits are rounded to a whole one of the larger unit.
const ALMOST: f64 = 0.9995;

const TIMES: [Unit; 6] = [
    Unit::new(1.0, "ns"),
    Unit::new(1e3, "µs"),
    Unit::new(1e6, "ms"),
    Unit::new(1e9, "s"),
    // 90 s is easier to compare with 60 s than 1.5 min.
    Unit { size: 60e9, from: 120e9, name: "min" },
    Unit { size: 3600e9, from: 7200e9, name: "h" },
];

const DECIMAL_TIMES: [Unit; 4] =
    [Unit::new(1.0, "ns"), Unit::new(1e3, "µs"), Unit::new(1e6, "ms"), Unit::new(1e9, "s")];

const SIZES: [Unit; 6] = [
    Unit::new(1.0, "B"),
    Unit::new(1024.0, "KiB"),
    Unit::new(1_048_576.0, "MiB"),
    Unit::new(1_073_741_824.0, "GiB"),
    Unit::new(1_099_511_627_776.0, "TiB"),
    Unit::new(1_125_899_906_842_624.0, "PiB"),
];

const COUNTS: [Unit; 5] =
    [Unit::new(1.0, ""), Unit::new(1e3, "k"), Unit::new(1e6, "M"), Unit::new(1e9, "G"), Unit::new(1e12, "T")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        for (found, expected) in [
            (time(0.0), "0"),
            (time(1.0), "1.00 ns"),
            (time(82_879.0), "82.9 µs"),
            (time(999_499.0), "999 µs"),
            (time(999_500.0), "1.00 ms"),
            (time(9_994_000.0), "9.99 ms"),
            (time(9_996_000.0), "10.0 ms"),
            (time(99_960_000.0), "100 ms"),
            (time(90e9), "90.0 s"),
            (time(120e9), "2.00 min"),
            (time(86_400e9), "24.0 h"),
            (decimal_time(50_000.0), "50 µs"),
            (decimal_time(1_500_000.0), "1.5 ms"),
            (decimal_time(2000e9), "2000 s"),
            (trimmed_time(Duration::from_secs(60)), "60 s"),
            (trimmed_time(Duration::from_secs(10_000)), "2.78 h"),
            (trimmed_time(Duration::from_secs(200)), "3.33 min"),
            (trimmed_time(Duration::from_secs(6000)), "100 min"),
            (bytes(0.0), "0"),
            (bytes(1.0), "1.00 B"),
            (bytes(1023.9), "1.00 KiB"),
            (bytes(13_734_951.0), "13.1 MiB"),
            (bytes(1e18), "888 PiB"),
            (round_count(0.0), "0"),
            (round_count(0.5), "0.5"),
            (round_count(500.0), "500"),
            (round_count(1500.0), "1.5k"),
            (round_count(3.0 * 0.1), "0.3"),
            (round_count(2e7), "20M"),
            (round_percent(99.99), "99.99 %"),
            (round_percent(100.0 * 0.07), "7 %"),
            (rate(0.0), "0"),
            (rate(12.345), "12.3"),
            (rate(99.97), "100"),
            (rate(48_632.55), "48,633"),
            (rate(9_999_999.0), "9,999,999"),
            (rate(92e6), "92.0M"),
            (short_count(7_948_800_000_000), "7.95T"),
        ] {
            assert_eq!(found.replace(SPACE, " "), expected);
        }
    }

    #[test]
    fn numbers_of_things() {
        for (number, expected) in [
            (0, "0 errors"),
            (1, "1 error"),
            (999, "999 errors"),
            (1000, "1,000 errors"),
            (7_948_800, "7,948,800 errors"),
        ] {
            assert_eq!(counted(number, "error"), expected);
        }
    }

    #[test]
    fn parts() {
        for (part, whole, expected) in [
            (0, 0, "0 %"),
            (0, 5, "0 %"),
            (5, 5, "100 %"),
            (1, 1_000_000, "< 0.001 %"),
            (11, 97_411, "0.011 %"),
            (7000, 97_411, "7.2 %"),
            (999_999, 1_000_000, "> 99.9 %"),
        ] {
            assert_eq!(share(part, whole).replace(SPACE, " "), expected);
        }
    }
}
