//! The texts of single tables of a list, such as `[[site]]`: to find out which of them have changed, without reading the others.

use std::ops::Range;

use toml_parser::{
    Source,
    lexer::{Token, TokenKind},
};

/// Where in a text the tables of a list stand, and what stands around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableTexts {
    parts: Vec<TextPart>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPart {
    /// Its bytes.
    pub range: Range<usize>,
    /// The kind of its content.
    pub kind: TextKind,
}

/// The kind of a part's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// A table of the list, with the tables inside of it.
    Table,
    /// Other keys and tables.
    Other,
    /// Comments and blank lines.
    Blank,
}

impl TableTexts {
    /// The tables of this list in a text; nothing where they are written in another way than with a header for each, such as an
    /// array of inline tables.
    ///
    /// The text may be no TOML: the parts of it are none either, then.
    #[must_use]
    pub fn of(text: &str, list: &str) -> Option<Self> {
        let mut parts = Self::default();
        let (mut lexer, mut depth) = (Source::new(text).lex().peekable(), 0_usize);
        let (mut is_line_start, mut part) = (true, TextPart { range: 0..0, kind: TextKind::Blank });
        while let Some(token) = lexer.next() {
            let is_header = is_line_start && depth == 0 && token.kind() == TokenKind::LeftSquareBracket;
            if is_header {
                let line: Vec<Token> =
                    std::iter::from_fn(|| lexer.next_if(|token| token.kind() != TokenKind::Newline)).collect();
                let kind = kind_of_header(text, &line, list, part.kind)?;
                if kind != HeaderKind::Inside {
                    let start = token.span().start();
                    let next = if kind == HeaderKind::Table { TextKind::Table } else { TextKind::Other };
                    parts.push(std::mem::replace(&mut part, TextPart { range: start..start, kind: next }), start);
                }
                continue;
            }
            match token.kind() {
                TokenKind::Newline if depth == 0 => {
                    is_line_start = true;
                    continue;
                }
                TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => depth += 1,
                TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => depth = depth.saturating_sub(1),
                TokenKind::Whitespace | TokenKind::Comment | TokenKind::Newline | TokenKind::Eof => continue,
                // A key of the root.
                _ if is_line_start
                    && part.kind != TextKind::Table
                    && likeness(text, &token, list) != Likeness::Other =>
                {
                    return None;
                }
                _ => {}
            }
            is_line_start = false;
            if part.kind == TextKind::Blank {
                part.kind = TextKind::Other;
            }
        }
        parts.push(part, text.len());
        Some(parts)
    }

    /// The parts in their order; they cover the text.
    #[must_use]
    pub fn parts(&self) -> &[TextPart] {
        &self.parts
    }

    /// Adds a part that ends here.
    fn push(&mut self, part: TextPart, end: usize) {
        let range = part.range.start..end;
        if !range.is_empty() {
            self.parts.push(TextPart { range, ..part });
        }
    }
}

/// The meaning of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeaderKind {
    /// A table of the list begins.
    Table,
    /// A table inside of the one before it begins.
    Inside,
    /// Something else begins.
    Other,
}

/// The meaning of a header behind a part of this kind, by its tokens behind the first bracket; nothing where it may be of the
/// list or not.
fn kind_of_header(text: &str, tokens: &[Token], list: &str, before: TextKind) -> Option<HeaderKind> {
    let mut tokens = tokens.iter().filter(|token| token.kind() != TokenKind::Whitespace).peekable();
    let is_array = tokens.next_if(|token| token.kind() == TokenKind::LeftSquareBracket).is_some();
    let key = tokens.next()?;
    match likeness(text, key, list) {
        Likeness::Same => {}
        Likeness::Other => return Some(HeaderKind::Other),
        Likeness::Unknown => return None,
    }
    match tokens.next()?.kind() {
        TokenKind::RightSquareBracket if is_array => Some(HeaderKind::Table),
        // The table that it is inside of stands elsewhere otherwise.
        TokenKind::Dot if before == TextKind::Table => Some(HeaderKind::Inside),
        _ => None,
    }
}

/// Whether a key is the name of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    Same,
    Other,
    /// It is in quotes, where escapes may write any name.
    Unknown,
}

fn likeness(text: &str, key: &Token, list: &str) -> Likeness {
    let written = text.get(key.span().start()..key.span().end()).unwrap_or_default();
    match key.kind() {
        TokenKind::Atom if written == list => Likeness::Same,
        TokenKind::LiteralString | TokenKind::BasicString if written.contains('\\') || written.contains(list) => {
            Likeness::Unknown
        }
        _ => Likeness::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, Format, Sources};

    fn parts(text: &str) -> Option<Vec<(TextKind, &str)>> {
        let texts = TableTexts::of(text, "site")?;
        Some(texts.parts().iter().map(|part| (part.kind, &text[part.range.clone()])).collect())
    }

    #[test]
    fn tables_begin_with_their_header_and_end_before_another() {
        use TextKind::{Blank, Other, Table};
        let text = "# A\na = 1\n[[site]] # B\nx = [\n  [1],\n]\n[[site.route]]\npath = \"[[site]]\"\n[site.route.when]\n\n [[ site ]]\n\
                    y = '''\n[[site]]\n'''\n[[map]]\nz = { a = [\n1,\n], b = 1 }\n[[site]]\n";
        let expected = [
            (Other, "# A\na = 1\n"),
            (Table, "[[site]] # B\nx = [\n  [1],\n]\n[[site.route]]\npath = \"[[site]]\"\n[site.route.when]\n\n "),
            (Table, "[[ site ]]\ny = '''\n[[site]]\n'''\n"),
            (Other, "[[map]]\nz = { a = [\n1,\n], b = 1 }\n"),
            (Table, "[[site]]\n"),
        ];
        assert_eq!(parts(text).unwrap(), expected);
        assert_eq!(parts("# a\n\n[[site]]\n").unwrap(), [(Blank, "# a\n\n"), (Table, "[[site]]\n")]);
        assert_eq!(parts("").unwrap(), []);
        assert_eq!(parts("\u{feff}[[site]]").unwrap(), [(Blank, "\u{feff}"), (Table, "[[site]]")]);
    }

    #[test]
    fn lists_that_are_written_in_another_way_are_not_taken_apart() {
        for text in [
            "site = [{ a = 1 }]\n",
            "a = 1\nsite = []\n",
            "[[\"site\"]]\n",
            "[[\"\\u0073ite\"]]\n",
            "[['site']]\n",
            "[site]\n",
            "[[site.route]]\n",
            "[[site]]\n[[map]]\n[[site.route]]\n",
            "site.a = 1\n",
            "[[site",
        ] {
            assert_eq!(parts(text), None, "{text}");
        }
    }

    /// The tree of the whole text is that of its parts put together, in whatever way bytes of it are changed.
    #[test]
    fn parts_mean_the_same_as_the_whole() {
        let format = Format { included_tables: &["site", "map"], has_variables: |_| false };
        let text = "a = 1\nb = \"[[site]]\"\n[[site]]\nx = [\n[1], # ]\n]\n[[site.route]]\ny = \"\"\"\n[[site]]\"\"\"\n[[map]]\nz = {a=1}\n\
                    [[site]]\nx = 2\n[site.when]\nq = '[map]'\n[[site]]\nx = 3\n";
        let tree = |sources: &Sources| {
            let document = Document::of(sources, &format).ok()?;
            Some(crate::SettingsValues::without(&document, &[]))
        };
        let mut same = 0;
        for place in 0..text.len() {
            for byte in ["", "\n", "[", "]", "\"", "'", "#", "=", "[[site]]\n", "]]\n", "{", "}", "x", ".", "\"\"\""] {
                let changed = [&text[..place], byte, &text[place + usize::from(byte.is_empty())..]].concat();
                let (Some(whole), Some(texts)) =
                    (tree(&Sources::of("a", changed.clone())), TableTexts::of(&changed, "site"))
                else {
                    continue;
                };
                let of = |is_wanted: fn(TextKind) -> bool| {
                    let wanted = texts.parts().iter().filter(|part| is_wanted(part.kind));
                    wanted.map(|part| &changed[part.range.clone()]).collect::<Vec<_>>()
                };
                let mut sources = Sources::of("a", of(|kind| kind != TextKind::Table).concat());
                for table in of(|kind| kind == TextKind::Table) {
                    sources.add("b", table.to_owned());
                }
                assert_eq!(tree(&sources).as_ref(), Some(&whole), "{changed}");
                same += 1;
            }
        }
        assert!(same > 400, "{same}");
    }
}
