//! Rules of the settings about caching, beyond the directives of responses.

use std::{ops::RangeInclusive, time::Duration};

use serow_message::StatusCode;

/// Rules of the settings about caching; by default, only responses decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheRules {
    /// How long responses with these statuses are fresh if they do not say it themselves.
    pub default_lifetimes: Vec<(RangeInclusive<u16>, Duration)>,
    /// How long a stale response may be sent while it is validated, if it does not say it itself (RFC 5861 §3).
    pub stale_while_revalidate: Option<Duration>,
    /// How long a stale response may be sent in place of an error, if it does not say it itself (RFC 5861 §4).
    pub stale_if_error: Option<Duration>,
}

impl CacheRules {
    /// The lifetime of responses with this status that do not say it themselves; the first rule that fits.
    #[must_use]
    pub fn default_lifetime(&self, status: StatusCode) -> Option<Duration> {
        let mut rules = self.default_lifetimes.iter();
        rules.find(|(statuses, _)| statuses.contains(&status.as_u16())).map(|(_, lifetime)| *lifetime)
    }
}
