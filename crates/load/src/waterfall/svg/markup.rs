//! Elements of SVG, as text.

use std::fmt::Write;

/// Where a text is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

pub(super) fn text(drawing: &mut String, class: &str, (x, y): (f64, f64), anchor: Anchor, content: &str) {
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let (x, y, content) = (Number(x), Number(y), escaped(content));
    let _ = writeln!(drawing, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{content}</text>");
}

pub(super) fn rectangle(drawing: &mut String, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
    let [x, y, width, height] = [x, y, width, height].map(Number);
    let _ = writeln!(drawing, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>");
}

/// A line from top to bottom.
pub(super) fn line(drawing: &mut String, class: &str, x: f64, top: f64, bottom: f64) {
    let [x, top, bottom] = [x, top, bottom].map(Number);
    let _ = writeln!(drawing, "<line class=\"{class}\" x1=\"{x}\" x2=\"{x}\" y1=\"{top}\" y2=\"{bottom}\"/>");
}

/// Text as content of an element; control characters, which no XML can hold, as their escapes.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            character if character.is_control() => escaped.extend(character.escape_default()),
            character => escaped.push(character),
        }
    }
    escaped
}

/// A coordinate to a tenth, which is finer than the eye.
pub(super) struct Number(pub(super) f64);

impl std::fmt::Display for Number {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        ((self.0 * 10.0).round() / 10.0).fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_written_stays_text() {
        let mut drawing = String::new();
        text(&mut drawing, "name", (1.04, 2.0), Anchor::End, "/a?b&c=<script>\u{1b}\n");
        let expected =
            "<text class=\"name\" x=\"1\" y=\"2\" text-anchor=\"end\">/a?b&amp;c=&lt;script&gt;\\u{1b}\\n</text>\n";
        assert_eq!(drawing, expected);
    }
}
