//! Where the lines of a text begin.

use std::ops::Range;

/// Where the lines of a text begin: a file of thousands of sites asks for thousands of positions, and each of them
/// would count its lines.
#[derive(Debug)]
pub(crate) struct Lines {
    /// The offset of the first byte of each line, in ascending order; the first line begins at 0.
    starts: Vec<usize>,
}

/// A line of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// From 1.
    pub(crate) number: usize,
    /// With its line feed.
    pub(crate) range: Range<usize>,
}

/// A position in a text as people count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// From 1.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
}

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        let behind_line_feeds = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(end, _)| end + 1);
        Self { starts: std::iter::once(0).chain(behind_line_feeds).collect() }
    }

    /// The line of the byte at an offset; behind the end of the text, its last line.
    pub(crate) fn line(&self, text: &str, offset: usize) -> Line {
        let number = self.starts.partition_point(|start| *start <= offset);
        let start = number.checked_sub(1).and_then(|index| self.starts.get(index)).copied().unwrap_or(0);
        let end = self.starts.get(number).copied().unwrap_or(text.len());
        Line { number, range: start..end }
    }

    /// The position of the byte at an offset; behind the end of the text, that of its end.
    pub(crate) fn position(&self, text: &str, offset: usize) -> Position {
        let offset = boundary(text, offset);
        let line = self.line(text, offset);
        Position { line: line.number, column: text[line.range.start..offset].chars().count() + 1 }
    }
}

/// The offset, or that of the character it is within; of one behind the end, the end.
pub(crate) fn boundary(text: &str, offset: usize) -> usize {
    (0..=offset.min(text.len())).rev().find(|offset| text.is_char_boundary(*offset)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters() {
        let text = "ab\nc\u{e4}d\r\n\u{1f43b}";
        let lines = Lines::of(text);
        for (offset, line, column) in [(0, 1, 1), (2, 1, 3), (3, 2, 1), (5, 2, 2), (6, 2, 3), (9, 3, 1), (99, 3, 2)] {
            assert_eq!(lines.position(text, offset), Position { line, column }, "{offset}");
        }
    }

    #[test]
    fn lines_have_their_line_feeds() {
        let text = "a\n\nb";
        let lines = Lines::of(text);
        let expected = [(0, 1, 0..2), (1, 1, 0..2), (2, 2, 2..3), (3, 3, 3..4), (4, 3, 3..4), (9, 3, 3..4)];
        for (offset, number, range) in expected {
            assert_eq!(lines.line(text, offset), Line { number, range }, "{offset}");
        }
    }
}
