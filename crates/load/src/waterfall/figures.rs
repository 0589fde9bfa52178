//! Times, lengths and rates with three digits and the unit that fits.

use std::time::Duration;

/// `834 µs`, `4.52 ms`, `12.3 s`, `734 s`.
pub(super) fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        0.0 => "0 s".to_owned(),
        ..0.999_5e-3 => format!("{} µs", digits(seconds * 1e6)),
        ..0.999_5 => format!("{} ms", digits(seconds * 1e3)),
        _ => format!("{} s", digits(seconds)),
    }
}

/// `17 B`, `1.50 KB`, `700 KB`; a kilobyte has 1000.
pub(super) fn bytes(bytes: u64) -> String {
    if bytes < 1000 { format!("{bytes} B") } else { scaled(bytes as f64, ["B", "KB", "MB", "GB"]) }
}

/// Of bytes each second: `121 kbit/s`.
pub(super) fn rate(bytes: f64) -> String {
    scaled(bytes * 8.0, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"])
}

fn scaled(amount: f64, units: [&str; 4]) -> String {
    let (mut amount, mut unit) = (amount, units[0]);
    for larger in &units[1..] {
        if amount < 999.5 {
            break;
        }
        amount /= 1000.0;
        unit = larger;
    }
    format!("{} {unit}", digits(amount))
}

/// Three digits, as far as they say anything: those before the point always stand.
fn digits(number: f64) -> String {
    match number {
        ..9.995 => format!("{number:.2}"),
        ..99.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        for (nanoseconds, expected) in [
            (0, "0 s"),
            (1, "0.00 µs"),
            (12_345, "12.3 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (4_520_000, "4.52 ms"),
            (452_000_000, "452 ms"),
            (999_500_000, "1.00 s"),
            (9_994_000_000, "9.99 s"),
            (9_995_000_000, "10.0 s"),
            (46_949_000_000, "46.9 s"),
            (734_400_000_000, "734 s"),
        ] {
            assert_eq!(time(Duration::from_nanos(nanoseconds)), expected);
        }
        for (amount, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1500, "1.50 KB"),
            (700_000, "700 KB"),
            (1_400_000, "1.40 MB"),
            (999_999, "1.00 MB"),
            (5_000_000_000_000, "5000 GB"),
        ] {
            assert_eq!(bytes(amount), expected);
        }
        for (amount, expected) in [(15_130.0, "121 kbit/s"), (1.25, "10.0 bit/s"), (1.2e9, "9.60 Gbit/s")] {
            assert_eq!(rate(amount), expected);
        }
    }
}
