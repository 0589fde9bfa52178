//! Literals that a text must contain to match a pattern, so that an index can leave out patterns that cannot match.

use regex_syntax::{
    ParserBuilder,
    hir::{Class, Hir, HirKind, Look},
};

/// The literals of a pattern: a text that matches it contains all literals of one of the cases, whatever the case of its
/// letters. A case without literals says nothing about the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literals {
    pub(crate) cases: Vec<Vec<Literal>>,
}

/// A text in lower case, and its place in what matches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Literal {
    pub(crate) text: Box<[u8]>,
    pub(crate) place: LiteralPlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LiteralPlace {
    Whole,
    Start,
    End,
    Anywhere,
}

/// A piece of a pattern.
#[derive(Clone, Debug)]
enum Piece {
    Start,
    End,
    Text(Vec<u8>),
    /// Any text, perhaps none.
    Gap,
}

impl Literals {
    /// Those of a pattern that may match any text.
    #[must_use]
    pub fn none() -> Self {
        Self { cases: vec![Vec::new()] }
    }

    /// Those of a pattern that matches one text, in whatever case.
    pub(crate) fn of_text(text: &[u8]) -> Self {
        Self { cases: vec![literals(&[Piece::Start, Piece::Text(text.to_ascii_lowercase()), Piece::End])] }
    }

    /// Those of a text in which each `*` stands for any text: of the whole path if it contains a slash, and otherwise of
    /// the last name of the path, as in [`Pattern`](serow_message::Pattern).
    #[must_use]
    pub fn of_path_pattern(text: &str) -> Self {
        let mut pieces = Vec::new();
        pieces.push(if text.contains('/') { Piece::Start } else { Piece::Gap });
        for (number, part) in text.split('*').enumerate() {
            if number > 0 {
                pieces.push(Piece::Gap);
            }
            pieces.push(Piece::Text(part.to_ascii_lowercase().into_bytes()));
        }
        pieces.push(Piece::End);
        Self { cases: vec![literals(&pieces)] }
    }

    /// Those of a regular expression, read as [`Expression`](crate::Expression) reads it.
    pub(crate) fn of_expression(text: &str, ignore_case: bool, max_nesting: u32) -> Self {
        let mut parser = ParserBuilder::new();
        parser.unicode(false).utf8(false).dot_matches_new_line(true).case_insensitive(ignore_case);
        let Ok(hir) = parser.nest_limit(max_nesting).build().parse(text) else { return Self::none() };
        Self { cases: sequences(&hir).iter().map(|pieces| literals(pieces)).collect() }
    }

    /// Those of texts that match another pattern as well.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        if self.cases.len() * other.cases.len() > MAX_CASES {
            return self;
        }
        let both =
            |own: &Vec<Literal>| other.cases.iter().map(|theirs| [&own[..], theirs].concat()).collect::<Vec<_>>();
        Self { cases: self.cases.iter().flat_map(both).collect() }
    }

    /// Those of texts that match this pattern or another one.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        self.cases.extend(other.cases);
        self
    }
}

/// The literals of a sequence of pieces: the texts between gaps.
fn literals(pieces: &[Piece]) -> Vec<Literal> {
    let mut found = Vec::new();
    let (mut text, mut is_at_start) = (Vec::new(), false);
    let mut push = |text: &mut Vec<u8>, place| {
        if !text.is_empty() {
            found.push(Literal { text: std::mem::take(text).into(), place });
        }
    };
    let open = |is_at_start| if is_at_start { LiteralPlace::Start } else { LiteralPlace::Anywhere };
    for piece in pieces {
        match piece {
            Piece::Text(more) => text.extend_from_slice(more),
            Piece::Gap => {
                push(&mut text, open(is_at_start));
                is_at_start = false;
            }
            Piece::Start => {
                push(&mut text, open(is_at_start));
                is_at_start = true;
            }
            Piece::End => {
                push(&mut text, if is_at_start { LiteralPlace::Whole } else { LiteralPlace::End });
                is_at_start = false;
            }
        }
    }
    push(&mut text, open(is_at_start));
    found
}

/// The sequences of which a text that matches has one.
fn sequences(hir: &Hir) -> Vec<Vec<Piece>> {
    let one = |piece| vec![vec![piece]];
    match hir.kind() {
        HirKind::Literal(literal) => one(Piece::Text(literal.0.to_ascii_lowercase())),
        HirKind::Class(class) => one(letter(class).map_or(Piece::Gap, |letter| Piece::Text(vec![letter]))),
        HirKind::Look(Look::Start) => one(Piece::Start),
        HirKind::Look(Look::End) => one(Piece::End),
        // They match no text, so what stands on either side is adjacent.
        HirKind::Empty | HirKind::Look(_) => vec![Vec::new()],
        HirKind::Capture(capture) => sequences(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min == 0 => one(Piece::Gap),
        HirKind::Repetition(repetition) => {
            let mut repeated = sequences(&repetition.sub);
            repeated.iter_mut().for_each(|pieces| pieces.push(Piece::Gap));
            repeated
        }
        HirKind::Concat(parts) => parts.iter().fold(vec![Vec::new()], |before, part| joined(before, &sequences(part))),
        HirKind::Alternation(choices) => {
            let all: Vec<_> = choices.iter().flat_map(sequences).collect();
            if all.len() > MAX_CASES { one(Piece::Gap) } else { all }
        }
    }
}

/// Each sequence followed by each of the others; by a gap, if these are too many.
fn joined(mut before: Vec<Vec<Piece>>, behind: &[Vec<Piece>]) -> Vec<Vec<Piece>> {
    if before.len() * behind.len() > MAX_CASES {
        before.iter_mut().for_each(|pieces| pieces.push(Piece::Gap));
        return before;
    }
    before.iter().flat_map(|first| behind.iter().map(|second| [&first[..], second].concat())).collect()
}

/// The letter, in lower case, of a class that is this letter in either case.
fn letter(class: &Class) -> Option<u8> {
    let ranges: Vec<(u8, u8)> = match class {
        Class::Bytes(class) => class.ranges().iter().map(|range| (range.start(), range.end())).collect(),
        Class::Unicode(class) => {
            let ascii = |end: char| u8::try_from(end).ok().filter(u8::is_ascii);
            let range =
                |range: &regex_syntax::hir::ClassUnicodeRange| Some((ascii(range.start())?, ascii(range.end())?));
            class.ranges().iter().map(range).collect::<Option<_>>()?
        }
    };
    match *ranges {
        [(upper, first), (lower, last)] if upper == first && lower == last => {
            (upper.to_ascii_lowercase() == lower).then_some(lower)
        }
        _ => None,
    }
}

/// Cases of one pattern at most: a pattern with more of them is one that says less about its texts.
const MAX_CASES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases as texts: `^` and `$` stand for the places.
    fn written(literals: &Literals) -> String {
        let literal = |literal: &Literal| {
            let (before, behind) = match literal.place {
                LiteralPlace::Whole => ("^", "$"),
                LiteralPlace::Start => ("^", ""),
                LiteralPlace::End => ("", "$"),
                LiteralPlace::Anywhere => ("", ""),
            };
            format!("{before}{}{behind}", literal.text.escape_ascii())
        };
        let case = |case: &Vec<Literal>| case.iter().map(literal).collect::<Vec<_>>().join(" ");
        literals.cases.iter().map(case).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn literals_of_path_patterns() {
        for (pattern, expected) in [
            ("/a", "^/a$"),
            ("/", "^/$"),
            ("/A/*", "^/a/"),
            ("/*", "^/"),
            ("*", ""),
            ("*.css", ".css$"),
            ("*/ws", "/ws$"),
            ("/u/*/p/*.jpg", "^/u/ /p/ .jpg$"),
            ("index.html", "index.html$"),
            ("x*y*.z", "x y .z$"),
        ] {
            assert_eq!(written(&Literals::of_path_pattern(pattern)), expected, "{pattern}");
        }
    }

    #[test]
    fn literals_of_expressions() {
        for (expression, expected) in [
            ("^/users/(?<id>[0-9]+)$", "^/users/"),
            ("^/a$", "^/a$"),
            ("^/a", "^/a"),
            ("/a", "/a"),
            (r"\.php$", ".php$"),
            ("(?i)^/Shop7/", "^/shop7/"),
            ("^/Shop7/", "^/shop7/"),
            ("^/[a-z]+/item7/(.*)$", "^/ /item7/"),
            ("^/(en|de)/page7$", "^/en/page7$ | ^/de/page7$"),
            ("^/a/|^/b/", "^/a/ | ^/b/"),
            ("^/a|", "^/a | "),
            ("^/a(/.*)?$", "^/a"),
            ("^/(ab)+$", "^/ab"),
            ("^/(ab|c){2}d$", "^/ab d$ | ^/c d$"),
            ("(?m)^a$", "a"),
            (r"a\bb", "ab"),
            ("[ab]c", "c"),
            ("[Aa]c", "ac"),
            ("a.b", "a b"),
            ("a$b^c", "a$ b ^c"),
            ("^$", ""),
            ("", ""),
        ] {
            assert_eq!(written(&Literals::of_expression(expression, false, 50)), expected, "{expression}");
        }
        assert_eq!(written(&Literals::of_expression("^/Kiosk", true, 50)), "^/kiosk");
    }

    #[test]
    fn cases_are_limited() {
        let choices = "(aa|bb|cc|dd)".repeat(4);
        let literals = Literals::of_expression(&format!("^{choices}x$"), false, 50);
        assert_eq!(literals.cases.len(), MAX_CASES);
        assert_eq!(written(&Literals { cases: literals.cases[..1].into() }), "^aaaaaa x$");
        let many: Vec<String> = (0..100).map(|number| format!("a{number}")).collect();
        assert_eq!(written(&Literals::of_expression(&format!("^/({})/x$", many.join("|")), false, 50)), "^/ /x$");
    }

    #[test]
    fn literals_of_two_patterns() {
        let (one, other) = (Literals::of_path_pattern("/a/*"), Literals::of_expression("(x|yz)$", false, 50));
        assert_eq!(written(&one.clone().and(&other)), "^/a/ x$ | ^/a/ yz$");
        assert_eq!(written(&one.clone().or(other)), "^/a/ | x$ | yz$");
        assert_eq!(written(&one.and(&Literals::none())), "^/a/");
    }
}
