//! A moment as a date and time of day, UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// As RFC 3339 has it, to the second: `2026-01-02T03:04:05Z`. Moments before 1970 are written as its beginning.
pub(super) fn rfc_3339(moment: SystemTime) -> String {
    let seconds = moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, second) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date so many days after 1 January 1970. Years are counted from 1 March here, so that the day that some of them
/// do not have is the last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_BEFORE_1970;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // From March on, five months at a time have 153 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    (era * 400 + year, month, day)
}

const DAY: u64 = 24 * 60 * 60;

/// From 1 March of the year 0, as the Gregorian calendar counts backwards.
const DAYS_BEFORE_1970: u64 = 719_468;

const DAYS_OF_400_YEARS: u64 = 146_097;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// As `date -u -d @… +%FT%TZ` says it.
    #[test]
    fn dates() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (1_767_323_045, "2026-01-02T03:04:05Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_800, "10000-01-01T00:00:00Z"),
        ] {
            assert_eq!(rfc_3339(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
        assert_eq!(rfc_3339(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
    }
}
