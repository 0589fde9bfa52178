//! A limit on log lines about one subject: a server that fails thousands of times a second needs no line for each
//! failure.

use std::fmt;

use serow_message::{Method, Target};
use serow_net::{Clock, Moment};

/// Ten lines of one kind are written in each second; the others are counted. Shared by threads, without a lock.
#[derive(Debug)]
pub struct LogLimit(serow_message::LogLimit);

impl LogLimit {
    /// A limit for a subject that is not behind any other.
    #[must_use]
    pub const fn new() -> Self {
        Self(serow_message::LogLimit::new(LINES_PER_SECOND))
    }

    /// As [`Self::admit`], where no clock is at hand; it reads the time itself.
    pub fn admit_now(&self) -> Option<Suppressed> {
        self.admit(Clock::new().now())
    }

    /// Whether a line may be written now; reports how many lines were suppressed before it.
    pub fn admit(&self, now: Moment) -> Option<Suppressed> {
        self.0.admit(second(now)).map(Suppressed)
    }

    /// The number of suppressed lines, once their second is over.
    pub fn take_suppressed(&self, now: Moment) -> Option<Suppressed> {
        self.0.take_suppressed(second(now)).map(Suppressed)
    }
}

impl Default for LogLimit {
    fn default() -> Self {
        Self::new()
    }
}

fn second(now: Moment) -> u64 {
    now.milliseconds() / 1000
}

/// Lines that were left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suppressed(pub u64);

impl fmt::Display for Suppressed {
    /// With commas, as in 1,234.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                formatter.write_str(",")?;
            }
            write!(formatter, "{digit}")?;
        }
        Ok(())
    }
}

/// A request, as the log names it: method and path. The query may have secrets in it.
#[derive(Clone, Debug)]
pub struct RequestSummary {
    /// The method.
    pub method: Method,
    /// The target, whose query is not shown.
    pub target: Target,
}

impl fmt::Display for RequestSummary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (text, most) in [(self.method.as_str(), MAX_METHOD_LENGTH), (self.target.path(), MAX_PATH_LENGTH)] {
            let space = if most == MAX_PATH_LENGTH { " " } else { "" };
            let shown = text.as_bytes().get(..most);
            let more = if shown.is_some_and(|shown| shown.len() < text.len()) { "…" } else { "" };
            write!(formatter, "{space}{}{more}", shown.unwrap_or(text.as_bytes()).escape_ascii())?;
        }
        Ok(())
    }
}

/// Enough to see the cause; each line costs disk space and readers' time.
const LINES_PER_SECOND: u32 = 10;

/// A client chooses both texts, and not how long the lines of the log are.
const MAX_METHOD_LENGTH: usize = 32;
const MAX_PATH_LENGTH: usize = 200;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn at(milliseconds: u64) -> Moment {
        Moment::from_milliseconds(milliseconds)
    }

    #[test]
    fn ten_lines_per_second_are_written_and_others_counted() {
        for start in [5_000, 6_000, 60_000] {
            let limit = LogLimit::default();
            let written = (0..1_244).filter(|number| limit.admit(at(start + number % 1000)).is_some()).count();
            assert_eq!(written, 10, "{start}");
            assert_eq!(limit.take_suppressed(at(start + 999)), None);
            assert_eq!(limit.admit(at(start + 999)), None);
            if start == 5_000 {
                // The first line of the next second reports it, or a sweep if there is no such line.
                assert_eq!(limit.admit(at(6_000)), Some(Suppressed(1_235)));
            } else {
                assert_eq!(limit.take_suppressed(at(start + 1_000)), Some(Suppressed(1_235)));
            }
            assert_eq!(limit.take_suppressed(at(start + 2_000)), None);
        }
    }

    #[test]
    fn numbers_have_commas() {
        let cases = [(1, "1"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(Suppressed(number).to_string(), text);
        }
    }

    #[test]
    fn requests_are_escaped_and_cut_off_and_show_no_query() {
        let asked = |method: &str, target: String| {
            let target = Target::parse(Bytes::from(target), false).unwrap();
            RequestSummary { method: Method::from_bytes(method.as_bytes()).unwrap(), target }.to_string()
        };
        assert_eq!(asked("GET", "/a/b?token=secret".to_owned()), "GET /a/b");
        assert_eq!(asked("POST", "/%1b[31m\"x\"".to_owned()), "POST /%1b[31m\\\"x\\\"");
        let long = asked(&"M".repeat(40), format!("/{}", "x".repeat(300)));
        assert_eq!(long, format!("{}… /{}…", "M".repeat(32), "x".repeat(199)));
    }
}
