//! The line of a settings file that a problem is about, with a mark below it, as compilers show them.

use std::{fmt::Write, ops::Range};

use crate::lines::{Lines, boundary};

/// The line where a span begins, and a mark below what of the span is on it.
pub(crate) fn excerpt(text: &str, lines: &Lines, span: &Range<usize>) -> String {
    let start = boundary(text, span.start);
    let end = boundary(text, span.end).max(start);
    let line = lines.line(text, start);
    let shown_line = text[line.range.clone()].trim_end_matches(['\r', '\n']);
    let within = |offset: usize| (offset - line.range.start).min(shown_line.len());
    let shown = Shown::new(shown_line, within(start)..within(end));
    let number = line.number.to_string();
    let margin = " ".repeat(number.len());
    let mut excerpt = String::new();
    // A String takes everything.
    let _ = write!(
        excerpt,
        "{margin} |\n{number} | {}\n{margin} | {}{}",
        shown.text,
        " ".repeat(shown.before),
        "^".repeat(shown.marked.max(1))
    );
    excerpt
}

/// A line as it is shown, and what of it is marked, in columns of a terminal.
struct Shown {
    text: String,
    before: usize,
    marked: usize,
}

impl Shown {
    fn new(line: &str, marked: Range<usize>) -> Self {
        let window = window(line, &marked);
        let (cut_before, cut_behind) = (window.start > 0, window.end < line.len());
        let part = |range: Range<usize>| shown(&line[range.start.max(window.start)..range.end.min(window.end)]);
        let (before, inside) = (part(window.start..marked.start), part(marked.start..marked.end.min(window.end)));
        let behind = part(marked.end.min(window.end)..window.end);
        let mark = |is_cut: bool| if is_cut { CUT } else { "" };
        Self {
            before: width(mark(cut_before)) + width(&before),
            marked: width(&inside),
            text: format!("{}{before}{inside}{behind}{}", mark(cut_before), mark(cut_behind)).trim_end().to_owned(),
        }
    }
}

/// The part of a long line that is shown: some characters before the mark, and as many behind it as fit.
fn window(line: &str, marked: &Range<usize>) -> Range<usize> {
    if line.chars().count() <= MAX_LINE {
        return 0..line.len();
    }
    let before = line[..marked.start].char_indices().rev().nth(MAX_LINE / 3).map_or(0, |(offset, _)| offset);
    let end = line[before..].char_indices().nth(MAX_LINE).map_or(line.len(), |(offset, _)| before + offset);
    before..end
}

/// Text as a terminal can show it: tabs as spaces, control characters as what stands for them.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => shown.push_str("    "),
            character if character.is_control() => shown.push('\u{fffd}'),
            character => shown.push(character),
        }
    }
    shown
}

/// How many columns of a terminal a text takes, for what is common: combining marks take none, East Asian letters and
/// pictures two.
fn width(text: &str) -> usize {
    let of_character = |character: char| match u32::from(character) {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe4f => 2,
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    };
    text.chars().map(of_character).sum()
}

/// Longer ones are cut: three of them fit a small screen.
const MAX_LINE: usize = 120;

/// Where a line is cut.
const CUT: &str = "…";

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, span: Range<usize>) -> Vec<String> {
        excerpt(text, &Lines::of(text), &span).lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_excerpt_marks_the_span() {
        let cases: [(&str, Range<usize>, [&str; 3]); 9] = [
            ("a = 5", 4..5, ["  |", "1 | a = 5", "  |     ^"]),
            ("\n\na = 5\nb", 2..3, ["  |", "3 | a = 5", "  | ^"]),
            ("\ta = 5", 5..6, ["  |", "1 |     a = 5", "  |         ^"]),
            ("\"\u{e4}\u{6f22}e\u{301}\" = 5", 13..14, ["  |", "1 | \"\u{e4}\u{6f22}e\u{301}\" = 5", "  |          ^"]),
            ("a = [\n5\n]", 4..9, ["  |", "1 | a = [", "  |     ^"]),
            ("a = 5\r\nb", 4..6, ["  |", "1 | a = 5", "  |     ^"]),
            ("a = 5", 5..5, ["  |", "1 | a = 5", "  |      ^"]),
            ("", 0..0, ["  |", "1 | ", "  | ^"]),
            ("a = \u{1b}5", 4..5, ["  |", "1 | a = \u{fffd}5", "  |     ^"]),
        ];
        for (text, span, expected) in cases {
            assert_eq!(lines(text, span), expected, "{text:?}");
        }
    }

    #[test]
    fn long_lines_are_cut_around_the_mark() {
        let text = format!("{} = 5 # {}", "a".repeat(300), "b".repeat(300));
        let [_, line, mark] = &lines(&text, 303..304)[..] else { panic!("three lines") };
        assert!(line.starts_with("1 | …aaa") && line.ends_with("bbb…"), "{line}");
        assert_eq!(line.chars().count(), 4 + MAX_LINE + 2);
        assert_eq!(line.chars().position(|character| character == '5'), mark.chars().position(|mark| mark == '^'));
        // A span that is longer than a line is marked as far as it is shown.
        let [_, line, mark] = &lines(&text, 0..300)[..] else { panic!("three lines") };
        assert_eq!(line.chars().count() - 1, mark.chars().count());
    }

    #[test]
    fn any_span_of_any_text() {
        let text = "a\t= \"\u{e4}\u{1f43b}\"\r\n\n[b]\r\nc = [\n]\u{0}";
        let lines = Lines::of(text);
        for start in 0..text.len() + 2 {
            for end in 0..text.len() + 3 {
                assert_eq!(excerpt(text, &lines, &(start..end)).matches('\n').count(), 2);
            }
        }
    }
}
