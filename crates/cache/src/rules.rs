//! Rules of the settings about caching, beyond the directives of responses.

use std::{borrow::Cow, ops::RangeInclusive, time::Duration};

use serow_message::{Headers, KnownHeader, StatusCode};

/// Rules of the settings about caching; by default, only responses decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheRules {
    /// How long responses with these statuses are fresh if they do not say it themselves.
    pub default_lifetimes: Vec<(RangeInclusive<u16>, Duration)>,
    /// How long a stale response may be sent while it is validated, if it does not say it itself (RFC 5861 §3).
    pub stale_while_revalidate: Option<Duration>,
    /// How long a stale response may be sent in place of an error, if it does not say it itself (RFC 5861 §4).
    pub stale_if_error: Option<Duration>,
    /// Fields of responses that decide nothing, as if the origin had not sent them. They are stored and sent, except for
    /// `Set-Cookie`, which belongs to the client whose request it answered.
    pub ignored_fields: Vec<KnownHeader>,
}

impl CacheRules {
    /// The lifetime of responses with this status that do not say it themselves; the first rule that fits.
    #[must_use]
    pub fn default_lifetime(&self, status: StatusCode) -> Option<Duration> {
        let mut rules = self.default_lifetimes.iter();
        rules.find(|(statuses, _)| statuses.contains(&status.as_u16())).map(|(_, lifetime)| *lifetime)
    }

    /// The fields that decide about a response with these.
    pub(crate) fn judged<'h>(&self, headers: &'h Headers) -> Cow<'h, Headers> {
        if !headers.contains_any(&self.ignored_fields) {
            return Cow::Borrowed(headers);
        }
        let mut judged = headers.clone();
        for name in &self.ignored_fields {
            judged.remove(*name);
        }
        if self.ignored_fields.contains(&KnownHeader::Vary) && headers.contains(KnownHeader::ContentEncoding) {
            // Whatever else a response depends on: a client that does not know its coding cannot read it.
            let _ = judged.append(KnownHeader::Vary, "accept-encoding");
        }
        Cow::Owned(judged)
    }

    /// The fields that are stored of a response with these.
    pub(crate) fn storable<'h>(&self, headers: &'h Headers) -> Cow<'h, Headers> {
        if !self.ignored_fields.contains(&KnownHeader::SetCookie) || !headers.contains(KnownHeader::SetCookie) {
            return Cow::Borrowed(headers);
        }
        let mut without = headers.clone();
        without.remove(KnownHeader::SetCookie);
        Cow::Owned(without)
    }
}
