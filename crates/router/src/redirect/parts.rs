//! Reading a destination: its text, and what is filled in where.

use serow_message::authority;
use serow_variables::{Encoding, Name, Part as TextPart, Scope, Text, Variable};

use super::{Destination, InvalidRedirect, Kind};

/// A piece of a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// As it is sent.
    Text(String),
    /// The text that the next star of the path stands for.
    Star(AddressPart),
    /// The host that was asked for.
    Host,
    /// The path that was asked for.
    Path(AddressPart),
    /// The query that was asked for, without its question mark.
    Query,
    /// The same with its question mark, if there was a query.
    KeptQuery,
    /// The value of a variable.
    Variable(Variable, AddressPart),
}

/// Where in an address a piece stands, which decides what must be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressPart {
    /// Before the question mark.
    Path,
    /// Behind it, or in the fragment.
    Query,
}

impl Destination {
    /// Reads a destination without variables.
    pub(super) fn parse(text: &str) -> Result<Self, InvalidRedirect> {
        Self::read(text, text, &[])
    }

    /// Reads a destination with variables. Each is read as one character that no other text may have, so that the
    /// text around it is judged as if there were none.
    pub(super) fn parse_with(text: &str, scope: &Scope) -> Result<Self, InvalidRedirect> {
        if text.contains(|character| place_of(character).is_some()) {
            return Err(InvalidRedirect::Character);
        }
        let (mut skeleton, mut variables) = (String::with_capacity(text.len()), Vec::new());
        for part in Text::parse(text, scope)?.parts() {
            match part {
                TextPart::Text(text) => skeleton.push_str(text),
                TextPart::Variable(Variable::Named(Name::Host)) => skeleton.push_str("{host}"),
                TextPart::Variable(variable) => {
                    let mark = u32::try_from(variables.len()).ok().and_then(|place| char::from_u32(FIRST_MARK + place));
                    skeleton.push(mark.ok_or(InvalidRedirect::Destination)?);
                    variables.push(variable.clone());
                }
            }
        }
        Self::read(text, &skeleton, &variables)
    }

    fn read(written: &str, text: &str, variables: &[Variable]) -> Result<Self, InvalidRedirect> {
        if text.bytes().any(|byte| byte <= b' ' || byte == 0x7f || b"\"<>\\^`|".contains(&byte)) {
            return Err(InvalidRedirect::Character);
        }
        let mut reader = Reader { parts: Vec::new(), literal: String::new(), place: AddressPart::Path, variables };
        let first = reader.variable(text);
        let is_trusted = first.is_some_and(|variable| variable.encoding() == Encoding::Trusted);
        let (kind, rest) = match host_of(text, variables)? {
            Some(host) => {
                reader.read_host(&text[..host])?;
                (Kind::Url, &text[host..])
            }
            // The values of a map in the settings may be whole URLs, with a query.
            None if is_trusted => (Kind::Url, text),
            None => (Kind::Path, text),
        };
        // Behind a host, a path must begin, and not another label of it.
        if reader.variable(rest).is_some_and(|variable| !begins_path(variable)) {
            return Err(InvalidRedirect::VariableHost);
        }
        let (before, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
        // Without a query: a question mark at the end only says so, as in nginx.
        let without_query = before.strip_suffix('?').filter(|path| !path.contains('?'));
        reader.read(without_query.unwrap_or(before))?;
        let has_query = |variable: &Variable| {
            matches!(variable, Variable::Named(Name::RequestUri | Name::Arguments | Name::IsArguments))
        };
        if reader.place == AddressPart::Path
            && without_query.is_none()
            && !is_trusted
            && !variables.iter().any(has_query)
        {
            reader.push(Part::KeptQuery);
        }
        reader.place = AddressPart::Query;
        reader.read_fragment(fragment)?;
        reader.end_literal();
        Ok(Self { text: written.to_owned(), kind, parts: reader.parts })
    }
}

/// Whether the value of a variable begins with a slash, or is one of the settings.
fn begins_path(variable: &Variable) -> bool {
    variable.begins_path() || variable.encoding() == Encoding::Trusted
}

/// The number of the variable that a character stands for.
fn place_of(character: char) -> Option<usize> {
    u32::from(character).checked_sub(FIRST_MARK).and_then(|place| usize::try_from(place).ok())
}

/// Where the host of a whole URL ends; nothing for a path.
fn host_of(text: &str, variables: &[Variable]) -> Result<Option<usize>, InvalidRedirect> {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    };
    let first = text.chars().next().and_then(place_of).and_then(|place| variables.get(place));
    let start = match text.split_once("//") {
        // The client's own scheme.
        Some((scheme, _)) if first == Some(&Variable::Named(Name::Scheme)) && scheme.chars().skip(1).eq([':']) => {
            scheme.len() + 2
        }
        // RFC 3986 §4.2: without a scheme, that of the request.
        Some(("", _)) => 2,
        Some((scheme, _)) if scheme.strip_suffix(':').is_some_and(is_scheme) => scheme.len() + 2,
        _ if text.starts_with('/') || text.starts_with("{path}") => return Ok(None),
        _ if first.is_some_and(begins_path) => return Ok(None),
        _ if first.is_some() => return Err(InvalidRedirect::VariableHost),
        _ => return Err(InvalidRedirect::Destination),
    };
    let rest = &text[start..];
    let mark = rest.find(|character| place_of(character).is_some());
    let end = ["/", "?", "#", "{path}"].into_iter().filter_map(|end| rest.find(end)).chain(mark).min();
    Ok(Some(start + end.unwrap_or(rest.len())))
}

/// Collects the parts.
struct Reader<'v> {
    parts: Vec<Part>,
    literal: String,
    place: AddressPart,
    variables: &'v [Variable],
}

impl Reader<'_> {
    /// The variable that a text begins with.
    fn variable(&self, text: &str) -> Option<&Variable> {
        text.chars().next().and_then(place_of).and_then(|place| self.variables.get(place))
    }

    /// Reads scheme and host, in which a client has no say but by `{host}`.
    fn read_host(&mut self, text: &str) -> Result<(), InvalidRedirect> {
        let host = text.split_once("//").map_or("", |(_, host)| host);
        let example = host.replace("{host}", "host");
        if example.is_empty() || example.contains('*') || !authority::is_valid(example.as_bytes()) {
            return Err(InvalidRedirect::Host);
        }
        self.read(text)
    }

    fn read(&mut self, text: &str) -> Result<(), InvalidRedirect> {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let place = self.place;
            match first {
                '*' => self.push(Part::Star(place)),
                '{' | '}' => {
                    let word = rest.split_inclusive('}').next().unwrap_or_default();
                    self.push(match (word, place) {
                        ("{host}", _) => Part::Host,
                        ("{path}", _) => Part::Path(place),
                        ("{query}", AddressPart::Query) => Part::Query,
                        ("{query}", AddressPart::Path) => return Err(InvalidRedirect::Query),
                        _ => return Err(InvalidRedirect::Placeholder),
                    });
                    rest = &rest[word.len()..];
                    continue;
                }
                mark if place_of(mark).is_some() => {
                    if let Some(variable) = self.variable(rest).cloned() {
                        self.push(Part::Variable(variable, place));
                    }
                }
                '?' => {
                    self.place = AddressPart::Query;
                    self.literal.push('?');
                }
                // RFC 3986 §2.5: as the bytes of its UTF-8.
                other if !other.is_ascii() => {
                    let mut bytes = [0; 4];
                    for byte in other.encode_utf8(&mut bytes).bytes() {
                        self.literal.push_str(&format!("%{byte:02X}"));
                    }
                }
                other => self.literal.push(other),
            }
            rest = &rest[first.len_utf8()..];
        }
        Ok(())
    }

    /// Reads `#` and what follows. A query there would not be sent to anybody.
    fn read_fragment(&mut self, text: &str) -> Result<(), InvalidRedirect> {
        if text.contains("{query}") {
            return Err(InvalidRedirect::Query);
        }
        self.read(text)
    }

    fn push(&mut self, part: Part) {
        self.end_literal();
        self.parts.push(part);
    }

    fn end_literal(&mut self) {
        if !self.literal.is_empty() {
            self.parts.push(Part::Text(std::mem::take(&mut self.literal)));
        }
    }
}

/// The first of the characters that stand for variables: the last plane of Unicode, which is for private use.
const FIRST_MARK: u32 = 0x10_0000;
