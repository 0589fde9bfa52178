//! The attributes of cookies that servers set (RFC 6265 §5.2).

use std::{error::Error, fmt};

use super::{FilledRules, Match, ResponseRewriting, RewritePattern};

/// Attributes that a cookie gets or loses; by default none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CookieFlags {
    secure: Option<bool>,
    http_only: Option<bool>,
    partitioned: Option<bool>,
    /// The text of the attribute; an empty one removes it.
    same_site: Option<&'static str>,
}

/// The text is not the name of a flag, or contradicts another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidFlag(String);

impl CookieFlags {
    /// The same with this flag, as `secure` or `nosecure`.
    ///
    /// # Errors
    ///
    /// An unknown flag, and one that contradicts another one.
    pub fn with(mut self, flag: &str) -> Result<Self, InvalidFlag> {
        let is_first = match flag.to_ascii_lowercase().as_str() {
            "secure" => self.secure.replace(true).is_none(),
            "nosecure" => self.secure.replace(false).is_none(),
            "httponly" => self.http_only.replace(true).is_none(),
            "nohttponly" => self.http_only.replace(false).is_none(),
            "partitioned" => self.partitioned.replace(true).is_none(),
            "nopartitioned" => self.partitioned.replace(false).is_none(),
            "samesite=strict" => self.same_site.replace("SameSite=Strict").is_none(),
            "samesite=lax" => self.same_site.replace("SameSite=Lax").is_none(),
            "samesite=none" => self.same_site.replace("SameSite=None").is_none(),
            "nosamesite" => self.same_site.replace("").is_none(),
            _ => {
                let names = "secure, httponly, partitioned, samesite=strict, samesite=lax, samesite=none, nosecure, \
                             nohttponly, nopartitioned, nosamesite";
                return Err(InvalidFlag(format!("{flag:?} is not one of {names}")));
            }
        };
        match is_first {
            true => Ok(self),
            false => {
                Err(InvalidFlag(format!("{flag:?} says again what another flag of the cookie says: leave one out")))
            }
        }
    }

    /// The text in place of an attribute of this name: nothing, if it stays.
    fn replacing(self, name: &[u8]) -> Option<&'static str> {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        match self {
            Self { secure: Some(is_set), .. } if is("secure") => Some(if is_set { SECURE } else { "" }),
            Self { http_only: Some(is_set), .. } if is("httponly") => Some(if is_set { HTTP_ONLY } else { "" }),
            Self { partitioned: Some(is_set), .. } if is("partitioned") => Some(if is_set { PARTITIONED } else { "" }),
            Self { same_site: Some(text), .. } if is("samesite") => Some(text),
            _ => None,
        }
    }

    /// The attributes that a cookie has to have.
    fn wanted(self) -> impl Iterator<Item = &'static str> {
        let secure = (self.secure == Some(true)).then_some(SECURE);
        let http_only = (self.http_only == Some(true)).then_some(HTTP_ONLY);
        let partitioned = (self.partitioned == Some(true)).then_some(PARTITIONED);
        secure.into_iter().chain(http_only).chain(partitioned).chain(self.same_site.filter(|text| !text.is_empty()))
    }
}

/// The cookie in place of this one, if something of it changes.
pub(super) fn rewritten(
    cookie: &[u8],
    rewriting: &ResponseRewriting,
    domains: FilledRules<'_>,
    paths: FilledRules<'_>,
) -> Option<Vec<u8>> {
    let mut parts = cookie.split(|byte| *byte == b';');
    let pair = parts.next()?;
    let name = pair.split(|byte| *byte == b'=').next()?.trim_ascii();
    if rewriting.own_cookie.as_ref().is_some_and(|own| own.as_bytes() == name) {
        return None;
    }
    let flags = rewriting.cookie_flags.iter().find(|(pattern, _)| pattern.fits(name));
    let flags = flags.map_or(CookieFlags::default(), |(_, flags)| *flags);
    let mut new = pair.to_vec();
    let mut push = |parts: &[&[u8]]| parts.iter().for_each(|part| new.extend_from_slice(part));
    for part in parts {
        let (name, value) = part.split_at(part.iter().position(|byte| *byte == b'=').unwrap_or(part.len()));
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        let replaced = match name.trim_ascii() {
            name if name.eq_ignore_ascii_case(b"domain") => with_value("Domain=", domain(value, domains)),
            name if name.eq_ignore_ascii_case(b"path") => with_value("Path=", path(value, paths)),
            name => flags.replacing(name).map(|text| text.as_bytes().to_vec()),
        };
        match replaced.as_deref() {
            None => push(&[b";", part]),
            Some([]) => {}
            // That of the flags is added once, behind all others.
            Some(_) if flags.replacing(name.trim_ascii()).is_some() => {}
            Some(text) => push(&[b"; ", text]),
        }
    }
    flags.wanted().for_each(|flag| push(&[b"; ", flag.as_bytes()]));
    (new != cookie).then_some(new)
}

/// An attribute with another value; nothing in it where the value is empty, and nothing at all where it stays.
fn with_value(name: &str, value: Option<Vec<u8>>) -> Option<Vec<u8>> {
    Some(match value?.as_slice() {
        [] => Vec::new(),
        value => [name.as_bytes(), value].concat(),
    })
}

/// The domain in place of this one: as in nginx, without regard to case and to a dot at its beginning (RFC 6265 §5.2.3).
fn domain(domain: &[u8], rules: FilledRules<'_>) -> Option<Vec<u8>> {
    let (_, new) = rules.rewritten(|pattern| match pattern {
        RewritePattern::Text(text) => {
            let same = without_dot(domain).eq_ignore_ascii_case(without_dot(text.as_bytes()));
            same.then(Match::default)
        }
        RewritePattern::Expression(_) => pattern.of_beginning(domain),
    })?;
    Some(without_dot(&new).to_vec())
}

/// The path in place of this one. Without a path, a cookie would be for another one than the settings say.
fn path(path: &[u8], rules: FilledRules<'_>) -> Option<Vec<u8>> {
    let (_, new) = rules.rewritten(|pattern| pattern.of_beginning(path))?;
    Some(if new.is_empty() { b"/".to_vec() } else { new })
}

fn without_dot(domain: &[u8]) -> &[u8] {
    domain.strip_prefix(b".").unwrap_or(domain)
}

impl fmt::Display for InvalidFlag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for InvalidFlag {}

const SECURE: &str = "Secure";

const HTTP_ONLY: &str = "HttpOnly";

const PARTITIONED: &str = "Partitioned";
