//! Times as the API writes them.

/// Nanoseconds since 1970 of a time such as `2026-11-29T21:55:26.002036441Z`; nothing for another text, or a time that is not one,
/// such as that in the year 1 of a container that has never run.
pub(crate) fn nanoseconds(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let numbers = |text: &str, separator: char| -> Option<[u64; 3]> {
        let mut parts = text.split(separator).map(|part| part.parse::<u32>().ok().map(u64::from));
        Some([parts.next()??, parts.next()??, parts.next()??])
    };
    let ([year, month, day], [hour, minute, second]) = (numbers(date, '-')?, numbers(time, ':')?);
    let is_date = (1970..=2500).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days from 1970 to the first of March of the year, whose months from then on have lengths in a row.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let seconds = days.checked_sub(DAYS_TO_1970)? * 86_400 + hour * 3600 + minute * 60 + second;
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    Some(seconds * 1_000_000_000 + digits.parse::<u64>().ok()?)
}

/// From the first of March of the year 0 to the first of January 1970.
const DAYS_TO_1970: u64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_nanoseconds_since_1970() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-03-01T00:00:01.5Z", 5_097_601_500_000_000),
            ("2000-02-29T12:00:00.000000001Z", 951_825_600_000_000_001),
            ("2026-11-29T21:55:26.002036441Z", 1_795_989_326_002_036_441),
            ("2026-11-29T21:55:26.0020364419999Z", 1_795_989_326_002_036_441),
        ] {
            assert_eq!(nanoseconds(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "0001-01-01T00:00:00Z",
            "2026-11-29T21:55:26",
            "2026-13-01T00:00:00Z",
            "x-1-1T0:0:0Z",
            "2026-11-29T21:55:26.xZ",
        ] {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
    }
}
