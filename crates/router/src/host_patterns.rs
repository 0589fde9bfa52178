//! Which hosts a route is for, within those of its site.

use crate::host_pattern::{HostPattern, Hosts, InvalidHost};

/// Hosts: one of some, and none of others; all, by default.
///
/// ```
/// use serow_router::HostPatterns;
///
/// assert!(HostPatterns::parse(&["*.example.com", "!www.example.com"]).is_ok());
/// assert!(HostPatterns::parse(&["a.example:80"]).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct HostPatterns {
    wanted: HostSet,
    refused: HostSet,
}

/// Hosts in order, so that of very many only a few are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct HostSet {
    named: Box<[Box<str>]>,
    /// The parents of hosts.
    below: Box<[Box<str>]>,
}

impl HostPatterns {
    /// Reads patterns of hosts; `!` begins one that no host may match.
    ///
    /// # Errors
    ///
    /// The number of an invalid pattern, and what is wrong with it.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Self, (usize, InvalidHost)> {
        let (mut wanted, mut refused) = (Vec::new(), Vec::new());
        for (number, text) in texts.iter().enumerate() {
            let (patterns, text) = match text.as_ref().strip_prefix('!') {
                Some(text) => (&mut refused, text),
                None => (&mut wanted, text.as_ref()),
            };
            let pattern: HostPattern = text.parse().map_err(|error| (number, error))?;
            match pattern.0 {
                // A route has the hosts of its site.
                Hosts::Others => return Err((number, InvalidHost::Star)),
                hosts => patterns.push(hosts),
            }
        }
        Ok(Self { wanted: HostSet::new(wanted), refused: HostSet::new(refused) })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.refused.is_empty()
    }

    /// Whether a host matches; none is one that no pattern can name.
    pub(crate) fn match_host(&self, host: Option<&[u8]>) -> bool {
        let is_in = |set: &HostSet| host.is_some_and(|host| set.contains(host));
        (self.wanted.is_empty() || is_in(&self.wanted)) && !is_in(&self.refused)
    }
}

impl HostSet {
    fn new(patterns: Vec<Hosts>) -> Self {
        let (mut named, mut below) = (Vec::new(), Vec::new());
        for pattern in patterns {
            match pattern {
                Hosts::One(name) => named.push(name),
                Hosts::Below(parent) => below.push(parent),
                Hosts::Others => {}
            }
        }
        named.sort_unstable();
        below.sort_unstable();
        Self { named: named.into(), below: below.into() }
    }

    fn is_empty(&self) -> bool {
        self.named.is_empty() && self.below.is_empty()
    }

    fn contains(&self, host: &[u8]) -> bool {
        let is_in = |names: &[Box<str>], host| names.binary_search_by(|name| name.as_bytes().cmp(host)).is_ok();
        let mut dots = host.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'.');
        is_in(&self.named, host) || !self.below.is_empty() && dots.any(|(dot, _)| is_in(&self.below, &host[dot + 1..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_match_names_and_parents() {
        let patterns = ["b.example", "*.a.example", "!no.a.example", "!*.x.a.example", "*.c.example", "[::1]"];
        let patterns = HostPatterns::parse(&patterns).unwrap();
        for (host, expected) in [
            ("b.example", true),
            ("a.b.example", false),
            ("a.example", false),
            (".a.example", false),
            ("d.a.example", true),
            ("d.e.a.example", true),
            ("no.a.example", false),
            ("d.x.a.example", false),
            ("x.a.example", true),
            ("d.c.example", true),
            ("dc.example", false),
            ("[::1]", true),
            ("", false),
        ] {
            assert_eq!(patterns.match_host(Some(host.as_bytes())), expected, "{host}");
        }
        let refused = HostPatterns::parse(&["!b.example"]).unwrap();
        assert!(!patterns.match_host(None) && refused.match_host(None) && !refused.match_host(Some(b"b.example")));
        assert_eq!(HostPatterns::parse(&["a", "b"]), HostPatterns::parse(&["b", "a"]));
    }
}
