//! Rates, times, sizes and shares as people write them.

use std::time::Duration;

/// Bits per second: `128kbit`, `2.5mbit`, `1gbit`, `64000`.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    let units = [("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3), ("bit", 1.0), ("", 1.0)];
    match scaled(text, &units) {
        Some(rate) if rate >= 1.0 => Ok(rate as u64),
        _ => Err("is not a rate; write 128kbit, 10mbit or 1gbit".to_owned()),
    }
}

/// A time: `300ms`, `0.3s`, `50us`.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let seconds = scaled(text, &units).ok_or("is not a time; write 300ms or 2s")?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "is too long".to_owned())
}

/// Bytes: `262144`, `64k`, `2m`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let units = [("k", 1024.0), ("m", 1024.0 * 1024.0), ("", 1.0)];
    scaled(text, &units).map(|bytes| bytes as u64).ok_or_else(|| "is not a size; write 262144, 64k or 2m".to_owned())
}

/// Per cent, as a share from 0 to 1: `0.1`, `2%`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    match scaled(text, &[("%", 0.01), ("", 0.01)]) {
        Some(share) if share <= 1.0 => Ok(share),
        _ => Err("is not a percentage; write per cent from 0 to 100".to_owned()),
    }
}

/// The number before the first unit that fits, times what that unit stands for.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (digits, factor) = units.iter().find_map(|(unit, factor)| {
        let digits = text.strip_suffix(unit)?;
        digits.ends_with(|last: char| last.is_ascii_digit()).then_some((digits, factor))
    })?;
    // `inf`, `1e9` and signs are numbers to Rust only.
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_plain.then(|| digits.parse::<f64>().ok().map(|number| number * factor)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        for (text, bits) in [("128kbit", 128_000), ("2.5mbit", 2_500_000), ("1gbit", 1_000_000_000), ("9600", 9_600)] {
            assert_eq!(rate(text), Ok(bits), "{text}");
        }
        for text in ["", "kbit", "0", "-1", "1e9", "inf", "5 mbit", "1mb", "1.2.3kbit"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times() {
        for (text, microseconds) in [("300ms", 300_000), ("0.3s", 300_000), ("50us", 50), ("0s", 0)] {
            assert_eq!(time(text), Ok(Duration::from_micros(microseconds)), "{text}");
        }
        for text in ["", "300", "ms", "-1s", "1m"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_and_shares() {
        assert_eq!((size("64k"), size("2m"), size("1500")), (Ok(65_536), Ok(2_097_152), Ok(1_500)));
        assert_eq!((share("2%"), share("50"), share("0")), (Ok(0.02), Ok(0.5), Ok(0.0)));
        assert!(share("101").is_err() && share("x").is_err() && size("1g").is_err());
    }
}
