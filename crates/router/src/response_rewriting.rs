//! Addresses and cookies in the responses of servers, as clients are to see them.
//!
//! Responses are rewritten behind the cache, which has them as their servers sent them: values with variables are those of the
//! request that is answered, and not of the one whose response was stored.
//!
//! | subject | file |
//! | --- | --- |
//! | `Location` and `Refresh` | `rewriting/location.rs` |
//! | the attributes of cookies | `rewriting/cookies.rs` |

mod cookies;
mod location;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serow_message::{FieldName, Headers, KnownHeader, Request, RequestClient, TrustedProxies, percent::encode_path};
use serow_variables::{
    Captures, Expression, Name, Part, Source, Text, Variable,
    clean_path::{self, Room},
};

pub use self::{
    cookies::{CookieFlags, InvalidFlag},
    location::ends_with_host,
};

/// The changes of addresses and cookies in the responses of a route; by default none.
#[derive(Clone, Debug, Default)]
pub struct ResponseRewriting {
    /// The beginnings of addresses in `Location` and `Refresh`.
    pub location: Vec<RewriteRule>,
    /// The attribute `Domain` of cookies; a value that is empty removes it.
    pub cookie_domain: Vec<RewriteRule>,
    /// The beginnings of the attribute `Path` of cookies.
    pub cookie_path: Vec<RewriteRule>,
    /// Other attributes of the cookies with these names.
    pub cookie_flags: Vec<(NamePattern, CookieFlags)>,
    /// The proxies that may name the client, for variables.
    pub trusted: TrustedProxies,
    /// The cookie of the proxy itself, which stays as it is; that of the content, once it is known.
    pub own_cookie: Option<String>,
}

/// A value to look for, and the text that takes its place. The first rule that fits counts.
#[derive(Clone, Debug)]
pub struct RewriteRule {
    /// The value.
    pub pattern: RewritePattern,
    /// The text, whose captures are those of the expression.
    pub text: Text,
}

/// The values that a rule is for.
#[derive(Clone, Debug)]
pub enum RewritePattern {
    /// Those that begin with this text; a domain has to be this one.
    Text(String),
    /// Those that match this expression, of which all is replaced.
    Expression(Expression),
}

/// Names of cookies.
#[derive(Clone, Debug)]
pub enum NamePattern {
    /// All.
    Any,
    /// This one.
    Name(String),
    /// Those that match this expression.
    Expression(Expression),
}

/// The changes with the values of a request, for its response.
#[derive(Debug)]
pub struct FilledRewriting {
    rewriting: Arc<ResponseRewriting>,
    /// The values of the variables of all rules, in their order.
    values: Vec<Vec<u8>>,
}

/// Rules of one kind, and the values of their variables.
#[derive(Clone, Copy)]
struct FilledRules<'a> {
    rules: &'a [RewriteRule],
    values: &'a [Vec<u8>],
}

impl ResponseRewriting {
    /// Whether nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kinds().iter().all(|rules| rules.is_empty()) && self.cookie_flags.is_empty()
    }

    fn kinds(&self) -> [&[RewriteRule]; 3] {
        [&self.location, &self.cookie_domain, &self.cookie_path]
    }

    /// The changes with the values of a request.
    #[must_use]
    pub fn filled(self: &Arc<Self>, request: &Request) -> FilledRewriting {
        let mut room = Room::new();
        let path = clean_path::of_routed(&request.target, &mut room);
        let client = RequestClient::new(&self.trusted);
        let source = Source { client: Some(&client), ..Source::of(request, path) };
        let variables = self.kinds().into_iter().flatten().flat_map(RewriteRule::variables);
        FilledRewriting { rewriting: Arc::clone(self), values: variables.map(|name| value(name, &source)).collect() }
    }
}

impl RewriteRule {
    /// The variables of its text that are of the request.
    fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.text.parts().iter().filter_map(|part| match part {
            Part::Variable(variable) if !variable.is_capture() => Some(variable),
            _ => None,
        })
    }

    /// The beginning of its text that no request changes.
    fn literal(&self) -> &str {
        match self.text.parts() {
            [Part::Text(text), ..] => text,
            _ => "",
        }
    }
}

impl NamePattern {
    fn fits(&self, name: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Name(own) => own.as_bytes() == name,
            Self::Expression(expression) => expression.matches(name),
        }
    }
}

impl FilledRewriting {
    /// Changes the header of a response.
    pub fn apply(&self, headers: &mut Headers) {
        let ResponseRewriting { location, cookie_domain, cookie_path, .. } = &*self.rewriting;
        let mut values = &self.values[..];
        let mut filled = |rules| {
            let (own, others) = values.split_at(count(rules));
            values = others;
            FilledRules { rules, values: own }
        };
        let (locations, domains, paths) = (filled(location), filled(cookie_domain), filled(cookie_path));
        replace(headers, KnownHeader::Location, |address| location::rewritten(address, locations));
        replace(headers, "refresh", |refresh| location::rewritten_refresh(refresh, locations));
        replace(headers, KnownHeader::SetCookie, |cookie| cookies::rewritten(cookie, &self.rewriting, domains, paths));
    }
}

impl<'a> FilledRules<'a> {
    /// The first rule that fits, and its text with what it leaves of the value.
    fn rewritten<'v>(self, fits: impl Fn(&RewritePattern) -> Option<Match<'v>>) -> Option<(&'a RewriteRule, Vec<u8>)> {
        let mut values = self.values;
        for rule in self.rules {
            let (own, others) = values.split_at(count(std::slice::from_ref(rule)));
            values = others;
            let Some(Match { groups, rest }) = fits(&rule.pattern) else { continue };
            let (mut own, mut text) = (own.iter(), Vec::new());
            for part in rule.text.parts() {
                text.extend_from_slice(match part {
                    Part::Text(literal) => literal.as_bytes(),
                    Part::Variable(Variable::Capture(number)) => groups.get(*number).copied().unwrap_or_default(),
                    Part::Variable(_) => own.next().map_or(&[][..], Vec::as_slice),
                });
            }
            text.extend_from_slice(rest);
            return Some((rule, text));
        }
        None
    }
}

impl RewritePattern {
    /// The match of a value that begins with a text, or that an expression matches.
    fn of_beginning<'v>(&self, value: &'v [u8]) -> Option<Match<'v>> {
        match self {
            Self::Text(start) => Some(Match { groups: Captures::new(), rest: value.strip_prefix(start.as_bytes())? }),
            Self::Expression(expression) => Some(Match { groups: expression.captures(value)?, rest: &[] }),
        }
    }
}

/// The parts of a value that a rule fits.
#[derive(Default)]
struct Match<'v> {
    /// The texts that groups matched.
    groups: Captures<'v>,
    /// The text that stays behind the new one.
    rest: &'v [u8],
}

fn count(rules: &[RewriteRule]) -> usize {
    rules.iter().flat_map(RewriteRule::variables).count()
}

/// The value of a variable as a part of an address or attribute: no byte in it begins another part of the field. A path is
/// encoded again.
fn value(variable: &Variable, source: &Source<'_>) -> Vec<u8> {
    let (mut value, mut safe) = (Vec::new(), Vec::new());
    variable.append(source, &mut value);
    if *variable == Variable::Named(Name::Uri) {
        encode_path(&value, &mut safe);
        value = std::mem::take(&mut safe);
    }
    for byte in value {
        match byte {
            // Bytes that no address has (RFC 3986 §2), that browsers take for a slash, or that end an attribute.
            ..=b' ' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | b';' | 0x7f.. => {
                safe.extend_from_slice(format!("%{byte:02X}").as_bytes());
            }
            _ => safe.push(byte),
        }
    }
    safe
}

/// Replaces the values of a field for which there are others.
fn replace(headers: &mut Headers, name: impl FieldName + Copy, mut new: impl FnMut(&[u8]) -> Option<Vec<u8>>) {
    let mut is_changed = false;
    let mut changed = |value: &[u8]| {
        let new = new(value);
        is_changed |= new.is_some();
        new.unwrap_or_else(|| value.to_vec())
    };
    let values: Vec<Vec<u8>> = headers.get_all(name).map(&mut changed).collect();
    if is_changed {
        headers.remove(name);
        // They are made of fields, and of texts and variables without control characters.
        for value in values {
            let _ = headers.append(name, value);
        }
    }
}
