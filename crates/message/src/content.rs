//! The framing fields of a message (RFC 9110 §6.4, §8.6), in any version of HTTP.

use core::fmt;

use http::StatusCode;

use crate::{Headers, KnownHeader};

/// The length of a body to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// This many bytes.
    Known(u64),
    /// Not known before the end.
    Unknown,
}

/// `Content-Length` is not a number, or is repeated (RFC 9112 §6.3, RFC 9113 §8.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidLength;

/// Parses `Content-Length` (RFC 9112 §6.3, rule 5): one field, one number of decimal digits. The RFC allows equal
/// repetitions; they are refused here, since no client sends them and proxies disagree about them. So is more than
/// [`MOST`].
///
/// # Errors
///
/// Anything else.
pub fn length(headers: &Headers) -> Result<Option<u64>, InvalidLength> {
    let mut values = headers.get_all(KnownHeader::ContentLength);
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(InvalidLength);
    }
    parse_length(value).map(Some)
}

/// Parses the value of one `Content-Length`.
///
/// # Errors
///
/// Anything but decimal digits, and more than [`MOST`].
#[inline]
pub fn parse_length(value: &[u8]) -> Result<u64, InvalidLength> {
    if value.is_empty() {
        return Err(InvalidLength);
    }
    value
        .iter()
        .try_fold(0u64, |sum, byte| {
            let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
            sum.checked_mul(10)?.checked_add(digit)
        })
        .filter(|&length| length <= MOST)
        .ok_or(InvalidLength)
}

/// The maximum length of a body, in bytes: 8 EiB less one. A server behind a proxy that counts with a sign would take
/// more for a negative number, and the body for the next request.
pub const MOST: u64 = i64::MAX as u64;

/// RFC 9110 §6.4.1: whether a response with this status may have content.
#[must_use]
pub fn is_possible(status: StatusCode) -> bool {
    !status.is_informational() && status != StatusCode::NO_CONTENT && status != StatusCode::NOT_MODIFIED
}

/// Fields that must not be trailers (RFC 9110 §6.5.1): they frame or route a message, concern the connection, or
/// authenticate the client. A recipient that merges trailers into the header fields would mistake them for checked
/// ones.
pub const NO_TRAILERS: [KnownHeader; 14] = [
    KnownHeader::ContentLength,
    KnownHeader::TransferEncoding,
    KnownHeader::Host,
    KnownHeader::Connection,
    KnownHeader::Trailer,
    KnownHeader::Te,
    KnownHeader::Authorization,
    KnownHeader::ProxyAuthorization,
    KnownHeader::Cookie,
    KnownHeader::Forwarded,
    KnownHeader::XForwardedFor,
    KnownHeader::XForwardedHost,
    KnownHeader::XForwardedProto,
    KnownHeader::MaxForwards,
];

/// Writes a number in decimal digits.
#[inline]
pub fn write_decimal(number: u64, output: &mut alloc::vec::Vec<u8>) {
    match number {
        // Small bodies are the ones whose cost shows.
        10..=99 => output.extend_from_slice(&[b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]),
        number => write_any_decimal(number, output),
    }
}

fn write_any_decimal(number: u64, output: &mut alloc::vec::Vec<u8>) {
    output.extend_from_slice(decimal(number, &mut [0; 20]));
}

/// The decimal digits of a number; they stand at the end of the array, which has room for the largest.
#[must_use]
pub fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    &digits[start..]
}

impl fmt::Display for InvalidLength {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Content-Length is malformed or repeated")
    }
}

impl core::error::Error for InvalidLength {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_and_nothing_else() {
        for (values, expected) in [
            (&[][..], Ok(None)),
            (&["0"], Ok(Some(0))),
            (&["9223372036854775807"], Ok(Some(MOST))),
            (&["9223372036854775808"], Err(InvalidLength)),
            (&["18446744073709551615"], Err(InvalidLength)),
            (&["18446744073709551616"], Err(InvalidLength)),
            (&[""], Err(InvalidLength)),
            (&["+1"], Err(InvalidLength)),
            (&["1, 1"], Err(InvalidLength)),
            (&["1", "1"], Err(InvalidLength)),
        ] {
            let mut headers = Headers::new();
            for value in values {
                headers.append(KnownHeader::ContentLength, value).unwrap();
            }
            assert_eq!(length(&headers), expected, "{values:?}");
        }
    }

    #[test]
    fn decimals() {
        for number in [0, 1, 9, 10, 15, 99, 100, 4096, 65_535, u64::MAX] {
            let mut output = alloc::vec::Vec::new();
            write_decimal(number, &mut output);
            assert_eq!(output, alloc::format!("{number}").as_bytes());
        }
    }
}
