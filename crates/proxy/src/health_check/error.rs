//! Why a check failed.

use std::{fmt, ops::RangeInclusive, time::Duration};

use serow_client::{ClientError, DialError};
use serow_http2::ErrorCode;
use serow_message::StatusCode;

/// Why a check failed.
#[derive(Debug)]
pub(super) enum CheckError {
    /// No connection could be opened.
    Dial(DialError),
    /// It took too long, all of it.
    TimedOut(Duration),
    /// The connection was of no more use before the response was there.
    Broken(ClientError),
    /// The server cut the exchange off (RFC 9113 §6.4).
    Reset(ErrorCode),
    /// The server takes no requests on a new connection.
    Refused,
    /// The request is invalid: the settings are wrong.
    Unsendable,
    /// The response has another status than it should.
    Status(StatusCode, Vec<RangeInclusive<u16>>),
    /// A field is not there, or has another value.
    Header(String, Option<String>),
    /// A text is not in the body.
    Body(String),
    /// `grpc.health.v1.Health` reports another status than SERVING.
    Grpc(String),
}

impl fmt::Display for CheckError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dial(error) => error.fmt(formatter),
            Self::TimedOut(time) => write!(formatter, "no response within {time:?}"),
            Self::Broken(broken) => broken.fmt(formatter),
            Self::Reset(code) => write!(formatter, "the server reset the stream ({code:?})"),
            Self::Refused => formatter.write_str("the server accepts no requests"),
            Self::Unsendable => {
                formatter.write_str("the request of the check is invalid: correct its path, host or text")
            }
            Self::Status(found, expected) => {
                write!(formatter, "status {} instead of ", found.as_u16())?;
                write_ranges(formatter, expected)
            }
            Self::Header(name, None) => write!(formatter, "the response lacks the header field {name}"),
            Self::Header(name, Some(value)) => write!(formatter, "the response lacks the header field {name}: {value}"),
            Self::Body(text) => write!(formatter, "the body does not contain {text:?}"),
            Self::Grpc(text) => formatter.write_str(text),
        }
    }
}

/// Ranges that touch become one.
fn write_ranges(formatter: &mut fmt::Formatter<'_>, ranges: &[RangeInclusive<u16>]) -> fmt::Result {
    let mut ranges: Vec<_> = ranges.iter().map(|range| (*range.start(), *range.end())).collect();
    ranges.sort_unstable();
    ranges.dedup_by(|next, before| {
        let touches = next.0 <= before.1.saturating_add(1);
        if touches {
            before.1 = before.1.max(next.1);
        }
        touches
    });
    for (place, (first, last)) in ranges.into_iter().enumerate() {
        if place > 0 {
            formatter.write_str(" or ")?;
        }
        if first == last { write!(formatter, "{first}")? } else { write!(formatter, "{first} to {last}")? }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_told_in_short() {
        let cases: [(&[RangeInclusive<u16>], &str); 5] = [
            (&[200..=399], "200 to 399"),
            (&[200..=299, 300..=399], "200 to 399"),
            (&[404..=404, 200..=204], "200 to 204 or 404"),
            (&[200..=299, 250..=260, 302..=302], "200 to 299 or 302"),
            (&[200..=200], "200"),
        ];
        for (expected, text) in cases {
            let failure = CheckError::Status(StatusCode::INTERNAL_SERVER_ERROR, expected.to_vec());
            assert_eq!(failure.to_string(), format!("status 500 instead of {text}"));
        }
    }
}
