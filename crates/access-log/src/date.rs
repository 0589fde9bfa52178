//! The second of a request as it stands in the log, made once for all requests of that second.

use std::{
    io::Write,
    time::{Duration, SystemTime},
};

use httpdate::HttpDate;

/// A second, written in the two ways of the logs, in UTC.
pub(super) struct Date {
    second: u64,
    /// `06/Nov/1994:08:49:37 +0000`.
    common: [u8; 26],
    /// `1994-11-06T08:49:37`.
    rfc_3339: [u8; 19],
}

impl Date {
    /// The second 0, for a start.
    pub(super) fn new() -> Self {
        let mut date = Self { second: 0, common: *b"00/Jan/1970:00:00:00 +0000", rfc_3339: *b"1970-01-00T00:00:00" };
        date.write(0);
        date
    }

    /// A time as the combined format has it.
    #[inline]
    pub(super) fn common(&mut self, time: SystemTime) -> &[u8; 26] {
        self.update(time);
        &self.common
    }

    /// A time as RFC 3339 has it, without its fraction and zone, and its milliseconds.
    #[inline]
    pub(super) fn rfc_3339(&mut self, time: SystemTime) -> (&[u8; 19], u32) {
        let milliseconds = self.update(time).subsec_millis();
        (&self.rfc_3339, milliseconds)
    }

    /// Seconds since 1970, and milliseconds.
    #[inline]
    pub(super) fn unix(&mut self, time: SystemTime) -> (u64, u32) {
        let milliseconds = self.update(time).subsec_millis();
        (self.second, milliseconds)
    }

    /// A time as syslog(3) writes it (RFC 3164 §4.1.2), `Nov  6 08:49:37`.
    pub(super) fn rfc_3164(&mut self, time: SystemTime) -> [u8; 15] {
        self.update(time);
        let mut text = *b"Nov  6 08:49:37";
        text[..3].copy_from_slice(&self.common[3..6]);
        text[4] = if self.common[0] == b'0' { b' ' } else { self.common[0] };
        text[5] = self.common[1];
        text[7..].copy_from_slice(&self.common[12..20]);
        text
    }

    #[inline]
    fn update(&mut self, time: SystemTime) -> Duration {
        let since_1970 = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        if since_1970.as_secs() != self.second {
            self.write(since_1970.as_secs());
        }
        since_1970
    }

    /// Takes the calendar from `Sun, 06 Nov 1994 08:49:37 GMT`.
    fn write(&mut self, second: u64) {
        self.second = second;
        let mut text = [0; 29];
        let date = HttpDate::from(SystemTime::UNIX_EPOCH + Duration::from_secs(second.min(LAST_SECOND)));
        // An IMF-fixdate always has 29 bytes (RFC 9110 §5.6.7), so it fits.
        let _ = write!(&mut text[..], "{date}");
        let (day, month, year, time) = (&text[5..7], &text[8..11], &text[12..16], &text[17..25]);
        self.common[..2].copy_from_slice(day);
        self.common[3..6].copy_from_slice(month);
        self.common[7..11].copy_from_slice(year);
        self.common[12..20].copy_from_slice(time);
        let number = MONTHS.iter().position(|name| &name[..] == month).map_or(0, |place| place as u8 + 1);
        self.rfc_3339[..4].copy_from_slice(year);
        self.rfc_3339[5..7].copy_from_slice(&[b'0' + number / 10, b'0' + number % 10]);
        self.rfc_3339[8..10].copy_from_slice(day);
        self.rfc_3339[11..19].copy_from_slice(time);
    }
}

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// The last second of the year 9999, the last that four digits of a year can say.
const LAST_SECOND: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_in_all_formats() {
        let cases = [
            (0, "01/Jan/1970:00:00:00 +0000", "1970-01-01T00:00:00"),
            (784_111_777, "06/Nov/1994:08:49:37 +0000", "1994-11-06T08:49:37"),
            (951_827_696, "29/Feb/2000:12:34:56 +0000", "2000-02-29T12:34:56"),
            (1_798_761_599, "31/Dec/2026:23:59:59 +0000", "2026-12-31T23:59:59"),
            (LAST_SECOND, "31/Dec/9999:23:59:59 +0000", "9999-12-31T23:59:59"),
            (LAST_SECOND + 5, "31/Dec/9999:23:59:59 +0000", "9999-12-31T23:59:59"),
        ];
        let mut date = Date::new();
        for (second, common, rfc_3339) in cases {
            let time = SystemTime::UNIX_EPOCH + Duration::from_millis(second * 1000 + 42);
            assert_eq!(std::str::from_utf8(date.common(time)), Ok(common));
            assert_eq!(date.rfc_3339(time), (rfc_3339.as_bytes().try_into().unwrap(), 42));
            assert_eq!(date.unix(time), (second, 42));
        }
        let day = |second| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        assert_eq!(&date.rfc_3164(day(784_111_777)), b"Nov  6 08:49:37");
        assert_eq!(&date.rfc_3164(day(1_798_761_599)), b"Dec 31 23:59:59");
        let before_1970 = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(date.common(before_1970), b"01/Jan/1970:00:00:00 +0000");
    }
}
