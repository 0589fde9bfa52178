//! A stored response.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serow_message::{Headers, KnownHeader, Method, PackedHeaders, StatusCode};

use crate::{
    conditional::select_of_part,
    freshness::Freshness,
    response_control::{ResponseControl, Restriction},
    store::StoreVersion,
    stored_body::StoredBody,
    storing::StorableHead,
    tags::{Tag, TagNames},
    time::Time,
    vary::Variant,
};

/// The head of a stored response, and what follows from it.
#[derive(Clone, Debug)]
pub struct StoredHead {
    /// The status; of a part, that of the whole.
    pub status: StatusCode,
    /// The fields, with Date, without Age and Content-Length; of a part, those of the whole.
    pub headers: PackedHeaders,
    /// The requests that it matches.
    pub variant: Variant,
    /// Its age and lifetime.
    pub freshness: Freshness,
    /// What it says about its reuse.
    pub reuse: ReuseRules,
}

/// What a stored response says about its reuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReuseRules {
    /// It has to be validated before each reuse (`no-cache`).
    pub needs_validation: bool,
    /// It must not be reused stale.
    pub forbids_stale: bool,
    /// It does not change while it is fresh (RFC 8246).
    pub is_immutable: bool,
    /// For how long it may be sent stale while it is validated (RFC 5861 §3).
    pub stale_while_revalidate: StaleSpan,
    /// For how long it may be sent stale in place of an error (RFC 5861 §4).
    pub stale_if_error: StaleSpan,
}

/// For how long a response may be sent stale, if it says that: seconds, in half the bytes of an `Option`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleSpan(u32);

/// A stored response.
#[derive(Debug)]
pub struct Stored {
    /// Its head, as it was when it was stored or validated last.
    pub head: StoredHead,
    /// Its body: all of the representation, or a part.
    pub body: StoredBody,
    /// The route that it belongs to: routes may send the same URI to different origins.
    pub scope: u64,
    /// Purges from after this version concern it.
    version: StoreVersion,
    tags: Box<[Arc<Tag>]>,
    /// The moment in milliseconds at which a purge of its URI made it stale; 0 before.
    outdated_at: AtomicU64,
}

/// What of a response is stored.
#[derive(Clone, Debug)]
pub struct Storable {
    /// Its head.
    pub head: StoredHead,
    /// Its body: all of the representation, or a part.
    pub body: StoredBody,
    /// The route that it belongs to.
    pub scope: u64,
    /// Its tags.
    pub tags: TagNames,
}

impl Stored {
    pub(crate) fn new(
        head: StoredHead,
        body: StoredBody,
        scope: u64,
        version: StoreVersion,
        tags: Box<[Arc<Tag>]>,
    ) -> Self {
        Self { head, body, scope, version, tags, outdated_at: AtomicU64::new(0) }
    }

    /// The same response with the bytes of one before as well, and its tags, if it has none.
    pub(crate) fn with_body(&self, body: StoredBody, before: &Self) -> Self {
        let tags = if self.tags.is_empty() { &before.tags } else { &self.tags };
        Self::new(self.head.clone(), body, self.scope, self.version, tags.clone())
    }

    pub(crate) fn version(&self) -> StoreVersion {
        self.version
    }

    /// Since when a purge of its URI has it stale.
    pub(crate) fn outdated_at(&self) -> Option<Time> {
        Some(self.outdated_at.load(Ordering::Acquire)).filter(|millis| *millis > 0).map(Time::from_millis)
    }

    /// Since when a purge of its URI or its tags has it stale.
    pub(crate) fn outdated_since(&self) -> Option<Time> {
        let of_tags = self.tags.iter().filter_map(|tag| tag.outdated_since(self.version.0));
        of_tags.chain(self.outdated_at()).min()
    }

    /// Its tags.
    pub(crate) fn tags(&self) -> &[Arc<Tag>] {
        &self.tags
    }

    /// Whether one of its tags has been purged.
    pub(crate) fn is_removed(&self) -> bool {
        self.tags.iter().any(|tag| tag.is_removed(self.version.0))
    }

    /// A purge of its URI makes it stale.
    pub(crate) fn outdate(&self, now: Time) {
        self.outdated_at.store(now.as_millis().max(1), Ordering::Release);
    }

    /// Whether a request with this method and these headers can be answered by it, once it matches and is fresh: by a part,
    /// only a GET for bytes that lie in it (RFC 9111 §3.3).
    #[must_use]
    pub fn has_what_is_wanted(&self, method: &Method, request: &Headers) -> bool {
        match &self.body {
            StoredBody::Whole(_) => true,
            StoredBody::Part(part) => {
                *method == Method::GET && select_of_part(request, &self.head, part.place()).is_some()
            }
        }
    }

    /// The head, as purges have left it.
    #[must_use]
    pub fn current_head(&self) -> Cow<'_, StoredHead> {
        match self.outdated_since() {
            None => Cow::Borrowed(&self.head),
            Some(end) => Cow::Owned(StoredHead { freshness: self.head.freshness.until(end), ..self.head.clone() }),
        }
    }
}

impl StoredHead {
    /// What is kept of a head that may be stored.
    #[must_use]
    pub fn new(head: StorableHead) -> Self {
        let StorableHead { status, headers, control, freshness, variant, .. } = head;
        let (headers, reuse) = (PackedHeaders::new(&headers), ReuseRules::of(&control));
        Self { status, headers, variant, freshness, reuse }
    }

    /// Its entity tag.
    #[must_use]
    pub fn etag(&self) -> Option<&[u8]> {
        self.headers.get(KnownHeader::Etag)
    }

    /// When it was modified last.
    #[must_use]
    pub fn last_modified(&self) -> Option<&[u8]> {
        self.headers.get(KnownHeader::LastModified)
    }

    /// Whether a request to the origin can find out that it is still current.
    #[must_use]
    pub fn can_be_validated(&self) -> bool {
        self.etag().or_else(|| self.last_modified()).is_some()
    }

    /// When it was made, for the choice of the most recent one (§4).
    pub(crate) fn date(&self) -> Time {
        self.headers.get(KnownHeader::Date).and_then(Time::parse_date).unwrap_or(self.freshness.received)
    }

    /// Bytes that its fields and the variant take beside it, about.
    #[must_use]
    pub fn size(&self) -> usize {
        self.headers.size() + self.variant.size()
    }
}

impl ReuseRules {
    pub(crate) fn of(control: &ResponseControl) -> Self {
        Self {
            needs_validation: control.no_cache == Restriction::All,
            forbids_stale: control.forbids_stale(),
            is_immutable: control.immutable,
            stale_while_revalidate: control.stale_while_revalidate.span().into(),
            stale_if_error: control.stale_if_error.span().into(),
        }
    }
}

impl StaleSpan {
    const NONE: Self = Self(u32::MAX);

    /// The span; `None` if the response does not say it.
    #[must_use]
    pub fn get(self) -> Option<Duration> {
        (self != Self::NONE).then(|| Duration::from_secs(self.0.into()))
    }
}

impl Default for StaleSpan {
    fn default() -> Self {
        Self::NONE
    }
}

impl From<Option<Duration>> for StaleSpan {
    fn from(span: Option<Duration>) -> Self {
        let seconds = |span: Duration| u32::try_from(span.as_secs()).unwrap_or(u32::MAX).min(u32::MAX - 1);
        span.map_or(Self::NONE, |span| Self(seconds(span)))
    }
}

// A cache has millions of them.
const _: () = assert!(size_of::<Stored>() <= 144);

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// These fields.
    pub(crate) fn headers(fields: &[(&str, &str)]) -> Headers {
        let mut headers = Headers::new();
        fields.iter().for_each(|(name, value)| headers.append(*name, value).unwrap());
        headers
    }

    /// A stored response with these fields, received in 2023, fresh for a minute.
    pub(crate) fn stored(status: u16, fields: &[(&str, &str)]) -> StoredHead {
        let headers = PackedHeaders::new(&headers(fields));
        let freshness = Freshness {
            lifetime: Duration::from_secs(60).into(),
            initial_age: Duration::ZERO.into(),
            received: Time::from_seconds(1_700_000_000),
        };
        let status = StatusCode::from_u16(status).unwrap();
        StoredHead { status, headers, variant: Variant::default(), freshness, reuse: ReuseRules::default() }
    }
}
