//! Numbers as people read them.

/// With a comma at each thousand.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes, in powers of 1,024.
pub(crate) fn bytes(number: u64) -> String {
    let mut rest = number as f64;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB"] {
        if rest < 1023.95 {
            return if unit == "B" { format!("{number} B") } else { format!("{rest:.1} {unit}") };
        }
        rest /= 1024.0;
    }
    format!("{rest:.1} PiB")
}

/// Microseconds, as a short time.
pub(crate) fn short_time(microseconds: u64) -> String {
    match microseconds {
        0..1_000 => format!("{microseconds} µs"),
        1_000..9_950 => format!("{:.1} ms", microseconds as f64 / 1e3),
        9_950..999_500 => format!("{:.0} ms", microseconds as f64 / 1e3),
        _ => format!("{:.1} s", microseconds as f64 / 1e6),
    }
}

/// Seconds, as a long time: its two largest units.
pub(crate) fn long_time(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{minutes} min {} s", seconds % 60),
        3_600..86_400 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// Seconds, in the largest unit of which there is one.
pub(crate) fn rough_time(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_get_separators_and_units() {
        let counts = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        counts.iter().for_each(|(number, text)| assert_eq!(count(*number), *text));
        let sizes =
            [(0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (1_048_575, "1.0 MiB"), (u64::MAX, "16384.0 PiB")];
        sizes.iter().for_each(|(number, text)| assert_eq!(bytes(*number), *text));
        let short = [(999, "999 µs"), (1_000, "1.0 ms"), (9_949, "9.9 ms"), (9_950, "10 ms"), (1_000_000, "1.0 s")];
        short.iter().for_each(|(number, text)| assert_eq!(short_time(*number), *text));
        let long = [(59, "59 s"), (61, "1 min 1 s"), (3_660, "1 h 1 min"), (90_000, "1 d 1 h")];
        long.iter().for_each(|(number, text)| assert_eq!(long_time(*number), *text));
        let rough = [(59, "59 s"), (119, "1 min"), (7_199, "1 h"), (90_000, "1 d")];
        rough.iter().for_each(|(number, text)| assert_eq!(rough_time(*number), *text));
    }
}
