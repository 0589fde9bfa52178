//! Conditions that a request must meet besides its path and method for a route to take it.

use std::{
    cell::Cell,
    hash::{DefaultHasher, Hash, Hasher},
};

use serow_message::{KnownHeader, Scheme, percent};
use serow_variables::{Expression, Form, Source, Text, ValuePatterns, values};
use smallvec::SmallVec;

use crate::{
    file_conditions::FileConditions, host_name, host_pattern::MAX_NAME_LENGTH, host_patterns::HostPatterns,
    networks::Networks,
};

/// Conditions that a request must meet besides its path and method for a route to take it: all of them. By default,
/// there are none.
///
/// Conditions allocate nothing, unless a value is longer than 512 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// An expression that the path matches, decoded and cleaned, besides the pattern of the route.
    pub path: Option<Expression>,
    /// Fields of the request by their names. Of several with a name, one must match.
    pub fields: Vec<(String, ValuePatterns)>,
    /// Cookies by their names, in which case matters.
    pub cookies: Vec<(String, ValuePatterns)>,
    /// Arguments of the query by their names, decoded.
    pub arguments: Vec<(String, ValuePatterns)>,
    /// Texts with variables.
    pub texts: Vec<(Text, ValuePatterns)>,
    /// Where the client is.
    pub clients: Networks,
    /// The scheme of the client's connection.
    pub scheme: Option<Scheme>,
    /// The host of the request.
    pub hosts: HostPatterns,
    /// Files that exist, or do not.
    pub files: FileConditions,
}

impl Conditions {
    /// Whether there is no condition.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A number that equal conditions share, and few others.
    pub(crate) fn hash(&self) -> u64 {
        let Self { path, fields, cookies, arguments, texts, clients, scheme, hosts, files } = self;
        let mut hasher = DefaultHasher::new();
        path.as_ref().map(Expression::as_str).hash(&mut hasher);
        (fields, cookies, arguments, hosts).hash(&mut hasher);
        texts.iter().for_each(|(_, patterns)| patterns.hash(&mut hasher));
        (texts.len(), clients.is_empty(), scheme.is_some(), files.texts().count()).hash(&mut hasher);
        hasher.finish()
    }

    /// Whether the path decides about others than [`Self::path`].
    pub(crate) fn depend_on_path(&self) -> bool {
        self.all_texts().any(Text::depends_on_path)
    }

    /// Whether a text has what the route's path matched.
    pub(crate) fn have_captures(&self) -> bool {
        self.all_texts().any(Text::has_captures)
    }

    fn all_texts(&self) -> impl Iterator<Item = &Text> {
        self.texts.iter().map(|(text, _)| text).chain(self.files.texts())
    }

    /// Whether a request meets all but [`Self::path`], which is compared together with the pattern of the route.
    pub(crate) fn hold(&self, source: &Source<'_>) -> bool {
        self.scheme.is_none_or(|scheme| source.scheme() == scheme)
            && (self.clients.is_empty() || self.clients.contain(source.peer()))
            && (self.hosts.is_empty() || self.is_host(source))
            && self.fields.iter().all(|(name, patterns)| patterns.match_any(|| source.headers.get_all(name.as_str())))
            && self.cookies.iter().all(|(name, patterns)| is_cookie(source, name, patterns))
            && self.arguments.iter().all(|(name, patterns)| is_argument(source, name, patterns))
            && self.texts.iter().all(|(text, patterns)| is_text(source, text, patterns))
            && (self.files.is_empty() || are_there(source, &self.files))
    }

    fn is_host(&self, source: &Source<'_>) -> bool {
        let authority = source.target.authority().or_else(|| source.headers.get_str(KnownHeader::Host));
        let mut room = [0; MAX_NAME_LENGTH];
        self.hosts.match_host(authority.and_then(|authority| host_name::of(authority, &mut room)))
    }
}

fn is_cookie(source: &Source<'_>, name: &str, patterns: &ValuePatterns) -> bool {
    let values: SmallVec<[&[u8]; 4]> = values::cookies(source.headers, name, false).collect();
    patterns.match_any(|| values.iter().copied())
}

fn is_argument(source: &Source<'_>, name: &str, patterns: &ValuePatterns) -> bool {
    let arguments = source.query.unwrap_or_default().split('&');
    let mut room = Room::new();
    let mut ends: SmallVec<[usize; 4]> = SmallVec::new();
    for argument in arguments {
        let (written, value) = argument.split_once('=').unwrap_or((argument, ""));
        if written == name {
            decode(value, &mut room);
            ends.push(room.len());
        }
    }
    let starts = || [0].into_iter().chain(ends.iter().copied());
    patterns.match_any(|| starts().zip(&ends).map(|(start, end)| &room[start..*end]))
}

/// Appends a value of a query, decoded as forms encode it; a percent sign without two digits stays as it is.
fn decode(value: &str, room: &mut Room) {
    let mut rest = value.as_bytes();
    while let [first, behind @ ..] = rest {
        let octet = percent::decode(rest).next().and_then(Result::ok);
        rest = match (first, octet) {
            (b'+', _) => {
                room.push(b' ');
                behind
            }
            (b'%', Some(octet)) => {
                room.push(octet.byte());
                &behind[2..]
            }
            (byte, _) => {
                room.push(*byte);
                behind
            }
        };
    }
}

fn is_text(source: &Source<'_>, text: &Text, patterns: &ValuePatterns) -> bool {
    let mut value = FILLED.take();
    value.clear();
    text.append(source, Form::Raw, &mut value);
    let is_matching = patterns.match_any(|| [&*value].into_iter());
    FILLED.set(value);
    is_matching
}

fn are_there(source: &Source<'_>, files: &FileConditions) -> bool {
    let mut name = FILLED.take();
    let are_there = files.hold(source, &mut name);
    FILLED.set(name);
    are_there
}

thread_local! {
    /// Where texts are filled in, one after another.
    static FILLED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Where values are decoded: on the stack, unless they are long.
type Room = SmallVec<[u8; 512]>;
