//! The directives of Cache-Control as text (RFC 9111 §5.2): names, and arguments that are tokens or quoted strings.

use std::borrow::Cow;

use serow_message::{FieldName, Headers, is_token_byte};

/// A directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directive<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) argument: Argument<'a>,
}

/// The argument behind the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Argument<'a> {
    /// Nothing.
    None,
    /// A token, or the content of a quoted string.
    Text(Cow<'a, [u8]>),
    /// Something that breaks the grammar.
    Invalid,
}

impl Directive<'_> {
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }
}

/// The directives of all lines of a field, in order. Text that is not a directive is passed over up to the next comma
/// outside of quotes.
pub(crate) fn directives<N: FieldName>(headers: &Headers, field: N) -> impl Iterator<Item = Directive<'_>> {
    headers.get_all(field).flat_map(|value| Directives { rest: value })
}

struct Directives<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Directives<'a> {
    type Item = Directive<'a>;

    fn next(&mut self) -> Option<Directive<'a>> {
        loop {
            let start = self.rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b','))?;
            self.rest = &self.rest[start..];
            let length = self.rest.iter().position(|byte| !is_token_byte(*byte)).unwrap_or(self.rest.len());
            let name = self.take(length);
            let argument = match self.rest.first() {
                Some(b'=') => {
                    self.take(1);
                    self.argument()
                }
                _ => Argument::None,
            };
            // White space around "=" is not allowed (§5.2), nor is anything behind the argument.
            let is_clean = self.skip_to_comma();
            if name.is_empty() {
                continue;
            }
            let argument = if is_clean { argument } else { Argument::Invalid };
            return Some(Directive { name, argument });
        }
    }
}

impl<'a> Directives<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn argument(&mut self) -> Argument<'a> {
        if self.rest.first() == Some(&b'"') {
            return self.quoted().map_or(Argument::Invalid, Argument::Text);
        }
        let length = self.rest.iter().position(|byte| !is_token_byte(*byte)).unwrap_or(self.rest.len());
        match self.take(length) {
            b"" => Argument::Invalid,
            token => Argument::Text(Cow::Borrowed(token)),
        }
    }

    /// The content of a quoted string (RFC 9110 §5.6.4); `None` if it does not end.
    fn quoted(&mut self) -> Option<Cow<'a, [u8]>> {
        self.take(1);
        let (text, mut content, mut place) = (self.rest, None::<Vec<u8>>, 0);
        loop {
            match text.get(place) {
                None => {
                    self.rest = &[];
                    return None;
                }
                Some(b'"') => break,
                Some(b'\\') => {
                    content.get_or_insert_with(|| text[..place].to_vec()).extend(text.get(place + 1));
                    place += 2;
                }
                Some(byte) => {
                    content.iter_mut().for_each(|content| content.push(*byte));
                    place += 1;
                }
            }
        }
        self.rest = &text[place + 1..];
        Some(content.map_or(Cow::Borrowed(&text[..place]), Cow::Owned))
    }

    /// Goes to the next comma; whether there was only white space before it.
    fn skip_to_comma(&mut self) -> bool {
        let mut is_clean = true;
        loop {
            match self.rest.first() {
                None | Some(b',') => return is_clean,
                Some(b' ' | b'\t') => drop(self.take(1)),
                Some(b'"') => {
                    is_clean = false;
                    self.quoted();
                }
                Some(_) => {
                    is_clean = false;
                    self.take(1);
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::type_complexity, reason = "tables of cases")]
mod tests {
    use super::*;

    fn read(value: &str) -> Vec<(String, Option<String>)> {
        let mut headers = Headers::new();
        headers.append("cache-control", value).unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        directives(&headers, "cache-control")
            .map(|directive| {
                let argument = match &directive.argument {
                    Argument::None => None,
                    Argument::Text(argument) => Some(text(argument)),
                    Argument::Invalid => Some("INVALID".to_owned()),
                };
                (text(directive.name), argument)
            })
            .collect()
    }

    #[test]
    fn values_and_their_directives() {
        let cases: [(&str, &[(&str, Option<&str>)]); 16] = [
            ("", &[]),
            (" , ,", &[]),
            ("no-store", &[("no-store", None)]),
            ("a,b", &[("a", None), ("b", None)]),
            ("max-age=60 , public", &[("max-age", Some("60")), ("public", None)]),
            ("max-age=\"60\"", &[("max-age", Some("60"))]),
            ("no-cache=\"a, b\", c", &[("no-cache", Some("a, b")), ("c", None)]),
            ("x=\"max-age=3600\"", &[("x", Some("max-age=3600"))]),
            ("x=\"a\\\"b, max-age=1\"", &[("x", Some("a\"b, max-age=1"))]),
            ("x=\"never ends, max-age=1", &[("x", Some("INVALID"))]),
            ("max-age =60", &[("max-age", Some("INVALID"))]),
            ("max-age= 60, b", &[("max-age", Some("INVALID")), ("b", None)]),
            ("max-age=60 x, b", &[("max-age", Some("INVALID")), ("b", None)]),
            ("max-age=, b", &[("max-age", Some("INVALID")), ("b", None)]),
            ("=5, b", &[("b", None)]),
            ("\"max-age=1, x\", b", &[("b", None)]),
        ];
        for (value, expected) in cases {
            let expected: Vec<_> =
                expected.iter().map(|(name, argument)| ((*name).to_owned(), argument.map(str::to_owned))).collect();
            assert_eq!(read(value), expected, "{value}");
        }
    }

    #[test]
    fn a_backslash_at_the_end_does_not_end_a_string() {
        assert_eq!(read("x=\"\\"), [("x".to_owned(), Some("INVALID".to_owned()))]);
    }
}
