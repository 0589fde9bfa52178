//! A decoder as the tests look at it.

use std::{fmt, ops::ControlFlow};

use serow_http2::hpack::{DecodeError, Decoder};

/// A decoded field.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) name: Vec<u8>,
    pub(crate) value: Vec<u8>,
    never_indexed: bool,
}

impl Line {
    pub(crate) fn name(&self) -> String {
        self.name.escape_ascii().to_string()
    }

    pub(crate) fn value(&self) -> String {
        self.value.escape_ascii().to_string()
    }

    pub(crate) fn note(&self) -> &'static str {
        if self.never_indexed { " (never indexed)" } else { "" }
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}{}", self.name(), self.value(), self.note())
    }
}

pub(crate) fn line(name: &str, value: &str) -> Line {
    Line { name: name.into(), value: value.into(), never_indexed: false }
}

/// All fields of a block.
pub(crate) fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<Line>, DecodeError> {
    let mut lines = Vec::new();
    decoder.decode(block, |field| {
        lines.push(Line { name: field.name.into(), value: field.value.into(), never_indexed: field.never_indexed });
        ControlFlow::Continue(())
    })?;
    Ok(lines)
}

/// The entries of the dynamic table, newest first, read with one block for each index, which does not change it.
pub(crate) fn table(decoder: &mut Decoder) -> Vec<Line> {
    let mut lines = Vec::new();
    for index in 62_usize.. {
        let block = match index {
            ..127 => vec![0x80 | index as u8],
            _ => vec![0xff, 0x80 | (index - 127) as u8, ((index - 127) >> 7) as u8],
        };
        match decode(decoder, &block) {
            Ok(entry) => lines.extend(entry),
            Err(error) => {
                assert_eq!(error, DecodeError::Index);
                break;
            }
        }
    }
    lines
}
