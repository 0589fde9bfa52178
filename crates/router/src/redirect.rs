//! Sending a client elsewhere.

mod destination;
mod parts;

use std::{error::Error, fmt};

use serow_message::{KnownHeader, Request, Response, StatusCode, Target};
use serow_variables::{
    Scope, Source, VariableError,
    clean_path::{self, Room},
};

use self::parts::Part;
use crate::{host_name, host_pattern::MAX_NAME_LENGTH};

/// Sends a client elsewhere: to another path of the same host, or to another host.
///
/// In the destination, each `*` is filled with what the `*` of the route's path stood for, in order; `{host}` with the
/// host that was asked for, without its port; `{path}` with the whole path; and `{query}`, behind a `?`, with the
/// query. Paths are filled in decoded, cleaned (see [the crate](crate#paths)) and encoded again. The query of the
/// request is kept, unless the destination has a `?` of its own; a `?` at its end leaves the query out.
///
/// ```
/// use serow_router::Redirect;
///
/// Redirect::new("/new/*", 301)?;
/// Redirect::new("https://www.example.com{path}", 308)?;
/// Redirect::new("/search?name=*&{query}", 302)?;
/// # Ok::<(), serow_router::InvalidRedirect>(())
/// ```
///
/// Nothing that a client asks for leads to another host than the destination says: a path never begins with two
/// slashes, which would be a host (RFC 3986 §4.2), and no star can be part of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    status: StatusCode,
    destination: Destination,
}

/// Where a client is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Destination {
    text: String,
    kind: Kind,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// On the host that was asked for.
    Path,
    /// With a host, and mostly a scheme; or what the settings have, from a map.
    Url,
}

impl Redirect {
    /// Sends to a path, which begins with a slash, or to a whole URL.
    ///
    /// # Errors
    ///
    /// A status that is none of 301, 302, 303, 307 and 308, and a destination that is neither.
    pub fn new(to: &str, status: u16) -> Result<Self, InvalidRedirect> {
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return Err(InvalidRedirect::Status);
        }
        let status = StatusCode::from_u16(status).map_err(|_| InvalidRedirect::Status)?;
        Ok(Self { status, destination: Destination::parse(to)? })
    }

    /// As [`Self::new`], with variables in the destination: `https://$host$request_uri`, `/users?id=$1`. Their values are
    /// encoded as the path or the query demands. Only `$host` and `$scheme` can stand for host and scheme. With `$args`
    /// or `$request_uri` in the destination, the query is not appended once more.
    ///
    /// # Errors
    ///
    /// As [`Self::new`], and unknown variables.
    pub fn with_variables(to: &str, status: u16, scope: &Scope) -> Result<Self, InvalidRedirect> {
        let destination = Destination::parse_with(to, scope)?;
        Ok(Self { destination, ..Self::new("/", status)? })
    }

    /// The destination, as it was written.
    #[must_use]
    pub fn to(&self) -> &str {
        &self.destination.text
    }

    /// Sends the client of this request elsewhere.
    pub(crate) fn response(&self, source: &Source<'_>) -> Response {
        let mut room = [0; MAX_NAME_LENGTH];
        let authority = source.target.authority().or_else(|| source.headers.get_str(KnownHeader::Host));
        let host = authority.and_then(|host| host_name::of(host, &mut room));
        // A client that does not name the host cannot be redirected to it.
        let Some(location) = self.destination.fill(source, host) else { return StatusCode::BAD_REQUEST.into() };
        let mut response = Response::plain_status(self.status);
        match response.headers.insert(KnownHeader::Location, location) {
            Ok(()) => response,
            Err(_) => StatusCode::BAD_REQUEST.into(),
        }
    }

    pub(crate) fn has_variables(&self) -> bool {
        self.destination.parts.iter().any(|part| matches!(part, Part::Variable(..)))
    }

    /// Whether it contains captures of the route's path.
    pub(crate) fn has_captures(&self) -> bool {
        let is_capture = |part: &Part| match part {
            Part::Star(_) => true,
            Part::Variable(variable, _) => variable.is_capture(),
            _ => false,
        };
        self.destination.parts.iter().any(is_capture)
    }

    pub(crate) fn stars(&self) -> usize {
        self.destination.parts.iter().filter(|part| matches!(part, Part::Star(_))).count()
    }

    /// The clean path that a client of this path asks for next, if that is one of the same host.
    pub(crate) fn next_path(&self, path: &[u8], captures: &[&[u8]]) -> Option<Vec<u8>> {
        if self.destination.kind == Kind::Url {
            return None;
        }
        let request = Request::default();
        let address = self.destination.fill(&Source { captures, ..Source::of(&request, path) }, None)?;
        let end = address.iter().position(|&byte| byte == b'#').unwrap_or(address.len());
        let target = Target::parse(address.get(..end)?.to_vec().into(), false).ok()?;
        clean_path::of(&target, &mut Room::new()).ok().map(<[u8]>::to_vec)
    }
}

/// Why there is no such redirect. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidRedirect {
    /// The status is none of a redirect.
    Status,
    /// The destination is neither a path nor a whole URL.
    Destination,
    /// The destination holds what an address may not hold.
    Character,
    /// Braces around a word that stands for nothing, or without a partner.
    Placeholder,
    /// A star, a query, or another invalid text in place of the host.
    Host,
    /// `{query}` where no query can be.
    Query,
    /// A variable is none.
    Variable(VariableError),
    /// A variable where the host would be the client's to say.
    VariableHost,
}

impl From<VariableError> for InvalidRedirect {
    fn from(error: VariableError) -> Self {
        Self::Variable(error)
    }
}

impl fmt::Display for InvalidRedirect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Status => "not the status of a redirect: write 301, 302, 303, 307 or 308",
            Self::Destination => {
                "not a destination: write a path as in /new/*, or a whole URL as in https://example.com/*"
            }
            Self::Character => {
                "an address holds no space, control character, backslash or any of \"<>^`|: write it percent-encoded"
            }
            Self::Placeholder => "in braces stand {host}, {path} or {query}: write one of them, or %7B and %7D",
            Self::Host => {
                "the host of the destination is a name, an address or {host}, and a port: write it as in \
                 https://www.example.com:8443/*; what a client sends must not become part of it"
            }
            Self::Variable(error) => return error.fmt(formatter),
            Self::VariableHost => {
                "what a client sends must not become part of the host: write a / before the variable, or $host, $uri or \
                 $request_uri in its place"
            }
            Self::Query => {
                "{query} stands behind a ? only: leave it out, since the query is kept anyhow, or write ?{query}"
            }
        })
    }
}

impl Error for InvalidRedirect {}
