//! A message on its way out: the framing of its body, and whether the caller keeps to it.

use alloc::vec::Vec;

use serow_message::{Headers, KnownHeader, StatusCode, UsageError, content::NO_TRAILERS};

/// The progress of a message that is being sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Outgoing {
    /// No head yet.
    #[default]
    Head,
    /// So many bytes of the body are still due.
    Length(u64),
    /// Chunks, until the last one.
    Chunked,
    /// Anything, until the connection closes.
    UntilClose,
    /// All of it.
    Done,
}

impl Outgoing {
    /// Announces that so many bytes of the body follow; in chunks, writes the line before them.
    pub(crate) fn begin_chunk(&mut self, length: u64, output: &mut Vec<u8>) -> Result<(), UsageError> {
        match self {
            Self::Length(left) => {
                *left = left.checked_sub(length).ok_or(UsageError::TooManyBytes)?;
                Ok(())
            }
            // RFC 9112 §7.1: a chunk of size 0 would be the last.
            Self::Chunked if length > 0 => {
                write_hexadecimal(length, output);
                output.extend_from_slice(b"\r\n");
                Ok(())
            }
            Self::Chunked | Self::UntilClose => Ok(()),
            Self::Done if length == 0 => Ok(()),
            Self::Done => Err(UsageError::TooManyBytes),
            Self::Head => Err(UsageError::OutOfTurn),
        }
    }

    /// Writes what stands behind the bytes announced last.
    pub(crate) fn end_chunk(self, length: u64, output: &mut Vec<u8>) {
        if self == Self::Chunked && length > 0 {
            output.extend_from_slice(b"\r\n");
        }
    }

    /// Ends the body.
    pub(crate) fn end(&mut self, trailers: Option<&Headers>, output: &mut Vec<u8>) -> Result<(), UsageError> {
        match self {
            Self::Head => return Err(UsageError::OutOfTurn),
            Self::Length(1..) => return Err(UsageError::TooFewBytes),
            Self::Chunked => {
                output.extend_from_slice(b"0\r\n");
                if let Some(trailers) = trailers {
                    trailers.write_lines(output, &NO_TRAILERS);
                }
                output.extend_from_slice(b"\r\n");
            }
            Self::Length(0) | Self::UntilClose | Self::Done => {}
        }
        *self = Self::Done;
        Ok(())
    }
}

/// Fields that this crate writes itself; what a caller says of them is left out.
pub(crate) const FRAMING: [KnownHeader; 3] =
    [KnownHeader::ContentLength, KnownHeader::TransferEncoding, KnownHeader::Connection];

/// The status line. RFC 9112 §4: the reason may be empty, the space before it may not.
#[inline]
pub(crate) fn write_status(status: StatusCode, output: &mut Vec<u8>) {
    if status == StatusCode::OK {
        output.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        return;
    }
    for part in ["HTTP/1.1 ", status.as_str(), " ", status.canonical_reason().unwrap_or_default(), "\r\n"] {
        output.extend_from_slice(part.as_bytes());
    }
}

/// Writes the `Connection` field with the options that are set, if any is (RFC 9110 §7.6.1).
#[inline]
pub(crate) fn write_connection<const COUNT: usize>(options: [(&str, bool); COUNT], output: &mut Vec<u8>) {
    if options.iter().any(|(_, set)| *set) {
        write_connection_options(&options, output);
    }
}

#[cold]
fn write_connection_options(options: &[(&str, bool)], output: &mut Vec<u8>) {
    let mut before = "connection: ";
    for (option, _) in options.iter().filter(|(_, set)| *set) {
        output.extend_from_slice(before.as_bytes());
        output.extend_from_slice(option.as_bytes());
        before = ", ";
    }
    output.extend_from_slice(b"\r\n");
}

fn write_hexadecimal(number: u64, output: &mut Vec<u8>) {
    let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
    for place in (0..digits).rev() {
        output.push(b"0123456789abcdef"[(number >> (4 * place) & 15) as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for number in [0, 1, 9, 10, 15, 16, 255, 4096, 65_535, u64::MAX] {
            let mut output = Vec::new();
            write_hexadecimal(number, &mut output);
            assert_eq!(output, alloc::format!("{number:x}").as_bytes());
        }
    }

    #[test]
    fn a_caller_that_breaks_its_word_is_told() {
        let mut output = Vec::new();
        let mut outgoing = Outgoing::Length(3);
        assert_eq!(outgoing.begin_chunk(4, &mut output), Err(UsageError::TooManyBytes));
        assert_eq!(outgoing.begin_chunk(2, &mut output), Ok(()));
        assert_eq!(outgoing.end(None, &mut output), Err(UsageError::TooFewBytes));
        assert_eq!(Outgoing::Head.end(None, &mut output), Err(UsageError::OutOfTurn));
        assert_eq!(Outgoing::Done.begin_chunk(1, &mut output), Err(UsageError::TooManyBytes));
        assert!(output.is_empty());
    }
}
