//! Reading a destination: its text, and what is filled in where.

use serow_message::authority;

use super::{Destination, InvalidRedirect, Kind};

/// A piece of a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// As it is sent.
    Text(String),
    /// What the next star of the path stands for.
    Star(Place),
    /// The host that was asked for.
    Host,
    /// The path that was asked for.
    Path(Place),
    /// The query that was asked for, without its question mark.
    Query,
    /// The same with its question mark, if there was a query.
    KeptQuery,
}

/// Where in an address a piece stands, which decides what must be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the question mark.
    Path,
    /// Behind it, or in the fragment.
    Query,
}

impl Destination {
    pub(super) fn parse(text: &str) -> Result<Self, InvalidRedirect> {
        if text.bytes().any(|byte| byte <= b' ' || byte == 0x7f || b"\"<>\\^`|".contains(&byte)) {
            return Err(InvalidRedirect::Character);
        }
        let mut reader = Reader { parts: Vec::new(), literal: String::new(), place: Place::Path };
        let (kind, rest) = match host_of(text)? {
            Some(host) => {
                reader.read_host(&text[..host])?;
                (Kind::Url, &text[host..])
            }
            None => (Kind::Path, text),
        };
        let (before, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
        reader.read(before)?;
        if reader.place == Place::Path {
            reader.push(Part::KeptQuery);
        }
        reader.place = Place::Query;
        reader.read_fragment(fragment)?;
        reader.end_literal();
        Ok(Self { text: text.to_owned(), kind, parts: reader.parts })
    }
}

/// Where the host of a whole URL ends; nothing for a path.
fn host_of(text: &str) -> Result<Option<usize>, InvalidRedirect> {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    };
    let start = match text.split_once("//") {
        // RFC 3986 §4.2: without a scheme, that of the request.
        Some(("", _)) => 2,
        Some((scheme, _)) if scheme.strip_suffix(':').is_some_and(is_scheme) => scheme.len() + 2,
        _ if text.starts_with('/') || text.starts_with("{path}") => return Ok(None),
        _ => return Err(InvalidRedirect::Destination),
    };
    let rest = &text[start..];
    let end = ["/", "?", "#", "{path}"].into_iter().filter_map(|end| rest.find(end)).min();
    Ok(Some(start + end.unwrap_or(rest.len())))
}

/// Collects the parts.
struct Reader {
    parts: Vec<Part>,
    literal: String,
    place: Place,
}

impl Reader {
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
                        ("{query}", Place::Query) => Part::Query,
                        ("{query}", Place::Path) => return Err(InvalidRedirect::Query),
                        _ => return Err(InvalidRedirect::Placeholder),
                    });
                    rest = &rest[word.len()..];
                    continue;
                }
                '?' => {
                    self.place = Place::Query;
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
