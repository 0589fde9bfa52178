//! Texts that match a regular expression.

use regex_syntax::{
    ParserBuilder,
    hir::{Class, Hir, HirKind},
};

/// Up to two texts that match an expression: with as little as possible of what may be repeated, and with one of each. None
/// if it is none that this crate can read.
pub(crate) fn of(pattern: &str, ignores_case: bool) -> Vec<String> {
    let Ok(hir) = ParserBuilder::new().unicode(false).utf8(false).case_insensitive(ignores_case).build().parse(pattern)
    else {
        return Vec::new();
    };
    let mut examples: Vec<String> = Vec::new();
    for style in [Style::Short, Style::Long] {
        let mut text = String::new();
        append(&hir, style, &mut text);
        if !examples.contains(&text) && text.len() <= LONGEST {
            examples.push(text);
        }
    }
    examples
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// The first choice, as few repetitions as possible.
    Short,
    /// The last choice, at least one repetition.
    Long,
}

fn append(hir: &Hir, style: Style, text: &mut String) {
    if text.len() > LONGEST {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.extend(letter(class)),
        HirKind::Repetition(repetition) => {
            let count = match style {
                Style::Short => repetition.min,
                Style::Long => repetition.min.max(1).min(repetition.max.unwrap_or(u32::MAX)),
            };
            for _ in 0..count.min(100) {
                append(&repetition.sub, style, text);
            }
        }
        HirKind::Capture(capture) => append(&capture.sub, style, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| append(part, style, text)),
        HirKind::Alternation(parts) => {
            let part = if style == Style::Short { parts.first() } else { parts.last() };
            part.into_iter().for_each(|part| append(part, style, text));
        }
    }
}

/// A letter of a class: one that stands for itself in a path, if there is one.
fn letter(class: &Class) -> Option<char> {
    let contains = |letter: char| match class {
        Class::Unicode(class) => class.ranges().iter().any(|range| range.start() <= letter && letter <= range.end()),
        Class::Bytes(class) => {
            class.ranges().iter().any(|range| char::from(range.start()) <= letter && letter <= char::from(range.end()))
        }
    };
    let first = || match class {
        Class::Unicode(class) => class.ranges().first().map(|range| range.start()),
        Class::Bytes(class) => class.ranges().first().map(|range| char::from(range.start())),
    };
    USUAL.chars().find(|letter| contains(*letter)).or_else(first)
}

const USUAL: &str = "a1bcdefghijklmnopqrstuvwxyz023456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_./";
const LONGEST: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_match_their_expressions() {
        for pattern in [
            r"\.php$",
            r"^/api/v[0-9]+/(users|posts)/([^/]+)?$",
            r"^/(\d{4})/(?<month>\d{2})/.*\.(jpe?g|png)$",
            r"^(?:/a|/b)*/c",
            r"[^a-z]x",
        ] {
            let expression = regex::bytes::RegexBuilder::new(pattern).unicode(false).build().expect("it is valid");
            let examples = of(pattern, false);
            assert!(!examples.is_empty());
            for example in examples {
                assert!(expression.is_match(example.as_bytes()), "{pattern}: {example}");
            }
        }
    }

    #[test]
    fn an_expression_of_another_dialect_has_no_examples() {
        assert!(of(r"^/(?!admin)", false).is_empty());
    }
}
