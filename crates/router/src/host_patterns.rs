//! Which hosts a route is for, within those of its site.

use crate::host_pattern::{HostPattern, InvalidHost};

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
    wanted: Box<[HostPattern]>,
    refused: Box<[HostPattern]>,
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
            patterns.push(text.parse().map_err(|error| (number, error))?);
        }
        Ok(Self { wanted: wanted.into(), refused: refused.into() })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.refused.is_empty()
    }

    /// Whether a host matches; none is one that no pattern can name.
    pub(crate) fn match_host(&self, host: Option<&[u8]>) -> bool {
        let is_one = |patterns: &[HostPattern]| host.is_some_and(|host| patterns.iter().any(|one| one.matches(host)));
        (self.wanted.is_empty() || is_one(&self.wanted)) && !is_one(&self.refused)
    }
}
