//! A variable: a name, or one with a part of its own.

use std::sync::Arc;

use serow_message::Headers;

use crate::{
    map::Map,
    name::{Name, NameFamily},
    response_name::ResponseName,
    source::Source,
    values,
};

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variable {
    /// One with a name of its own.
    Named(Name),
    /// `$http_NAME`: a field of the request, by its name in lower case.
    Field(Box<str>),
    /// `$cookie_NAME`: a cookie.
    Cookie(Box<str>),
    /// `$arg_NAME`: an argument of the query, as it was written.
    Argument(Box<str>),
    /// `$jwt_claim_NAME`: a claim of the client's token.
    Claim(Box<str>),
    /// `$1`, or the name of a group: what a star or group of the route's path matched; counted from 0.
    Capture(usize),
    /// The text that a map has for the value of another one.
    Map(Arc<Map>),
    /// A value of the response, for fields of that; a request has none.
    Response(ResponseName),
}

/// How a value was written, which decides how it becomes a part of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As any text.
    Plain,
    /// Percent-encoded by the client: a part of a URL already.
    Encoded,
    /// As the settings have it: a part of a URL that no client has a say in.
    Trusted,
}

impl Variable {
    /// The variable of a request with this name, which stood behind a `$`; captures and maps are the
    /// [`Scope`](crate::Scope)'s.
    #[must_use]
    pub fn find(written: &str) -> Option<Self> {
        let name = written.to_ascii_lowercase();
        if let Some(name) = Name::find(&name) {
            return Some(Self::Named(name));
        }
        let (family, part) = NameFamily::split(&name)?;
        Some(match family {
            NameFamily::Field => Self::Field(part.replace('_', "-").into()),
            NameFamily::Cookie => Self::Cookie(part.into()),
            NameFamily::Argument => Self::Argument(part.into()),
            NameFamily::Claim => Self::Claim(part.into()),
        })
    }

    /// Appends the value as it came, without any escaping; `false` if there is none.
    pub fn append(&self, source: &Source<'_>, output: &mut Vec<u8>) -> bool {
        let mut text = |text: Option<&[u8]>| {
            output.extend_from_slice(text.unwrap_or_default());
            text.is_some()
        };
        match self {
            Self::Named(name) => name.append(source, output),
            Self::Field(name) => append_field(source.headers, name, output),
            Self::Cookie(name) => text(values::cookies(source.headers, name, true).next()),
            Self::Argument(name) => {
                text(source.query.and_then(|query| values::argument(query, name)).map(str::as_bytes))
            }
            Self::Claim(name) => source.claims.is_some_and(|claims| claims.0.append(name, output)),
            Self::Capture(number) => text(source.captures.get(*number).copied()),
            Self::Map(map) => map.append(source, output),
            Self::Response(_) => false,
        }
    }

    /// How its value is written.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        match self {
            Self::Named(Name::RequestUri | Name::Arguments | Name::IsArguments) | Self::Argument(_) => {
                Encoding::Encoded
            }
            Self::Map(map) if map.is_constant() => Encoding::Trusted,
            _ => Encoding::Plain,
        }
    }

    /// Whether its value begins with a slash, or is empty, whatever a client sends.
    #[must_use]
    pub fn begins_path(&self) -> bool {
        match self {
            Self::Named(name) => matches!(name, Name::Uri | Name::RequestUri),
            Self::Map(map) => map.begins_path(),
            _ => false,
        }
    }

    /// Whether it is known only when the client has been identified.
    #[must_use]
    pub fn is_claim(&self) -> bool {
        matches!(self, Self::Claim(_))
    }

    /// Whether it is what the route's path matched.
    #[must_use]
    pub fn is_capture(&self) -> bool {
        matches!(self, Self::Capture(_))
    }

    /// Whether two requests that differ in their paths alone may have different values.
    #[must_use]
    pub fn depends_on_path(&self) -> bool {
        match self {
            Self::Named(name) => matches!(name, Name::Request | Name::RequestUri | Name::Uri),
            Self::Capture(_) => true,
            Self::Map(map) => map.depends_on_path(),
            Self::Field(_) | Self::Cookie(_) | Self::Argument(_) | Self::Claim(_) | Self::Response(_) => false,
        }
    }
}

/// Appends the values of a field; several lines are one, as in RFC 9110 §5.3.
fn append_field(headers: &Headers, name: &str, output: &mut Vec<u8>) -> bool {
    let mut is_first = true;
    for value in headers.get_all(name) {
        if !is_first {
            output.extend_from_slice(b", ");
        }
        output.extend_from_slice(value);
        is_first = false;
    }
    !is_first
}
