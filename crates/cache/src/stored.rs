//! A stored response.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use serow_message::{Headers, KnownHeader, Method, PackedHeaders, StatusCode};

use crate::{
    conditional::select_of_part,
    freshness::Freshness,
    reuse_rules::ReuseRules,
    store_version::StoreVersion,
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
    /// Its rules about its reuse.
    pub reuse: ReuseRules,
}

/// A stored response.
#[derive(Debug)]
pub struct Stored {
    /// Its head, as it was when it was stored or validated last.
    pub head: StoredHead,
    /// Its body: all of the representation, or a part.
    pub body: StoredBody,
    /// The route that it belongs to: routes may send the same URI to different origins.
    pub scope: u32,
    /// Purges from after this version concern it.
    version: StoreVersion,
    tags: Box<[Arc<Tag>]>,
    /// The second in which a purge of its URI made it stale; 0 before.
    outdated_at: AtomicU32,
    /// How many requests have found its URI while it was the newest response.
    pub(crate) requests: AtomicU32,
}

/// The parts of a response that are stored.
#[derive(Clone, Debug)]
pub struct Storable {
    /// Its head.
    pub head: StorableHead,
    /// Its body: all of the representation, or a part.
    pub body: StoredBody,
    /// The route that it belongs to.
    pub scope: u32,
    /// Its tags.
    pub tags: TagNames,
}

impl Stored {
    pub(crate) fn new(
        head: StorableHead,
        body: StoredBody,
        scope: u32,
        version: StoreVersion,
        tags: Box<[Arc<Tag>]>,
    ) -> Self {
        let head = head.into_stored();
        Self { head, body, scope, version, tags, outdated_at: AtomicU32::new(0), requests: AtomicU32::new(0) }
    }

    /// The same response with the bytes of one before as well, and its tags, if it has none.
    pub(crate) fn with_body(&self, body: StoredBody, before: &Self) -> Self {
        let tags = if self.tags.is_empty() { &before.tags } else { &self.tags };
        let (head, tags) = (StorableHead::of_stored(self.head.clone()), tags.clone());
        Self::new(head, body, self.scope, self.version, tags)
    }

    pub(crate) fn version(&self) -> StoreVersion {
        self.version
    }

    /// Since when a purge of its URI has it stale.
    pub(crate) fn outdated_at(&self) -> Option<Time> {
        let seconds = self.outdated_at.load(Ordering::Acquire);
        (seconds > 0).then(|| Time::from_seconds(seconds.into()))
    }

    /// Since when a purge of its URI or its tags has it stale.
    pub(crate) fn outdated_since(&self) -> Option<Time> {
        let of_tags = self.tags.iter().filter_map(|tag| tag.outdated_since(self.version.0));
        of_tags.chain(self.outdated_at()).min()
    }

    /// Whether it is for the same requests to the same route.
    pub(crate) fn is_for_same(&self, other: &Self) -> bool {
        self.scope == other.scope && self.head.variant == other.head.variant
    }

    /// Its tags.
    pub(crate) fn tags(&self) -> &[Arc<Tag>] {
        &self.tags
    }

    /// Whether one of its tags has been purged.
    pub(crate) fn is_removed(&self) -> bool {
        self.tags.iter().any(|tag| tag.is_removed(self.version.0))
    }

    /// A purge of its URI makes it stale; a second one does not shorten the time since then.
    pub(crate) fn outdate(&self, now: Time) {
        // It is stale at once, and a second earlier is as good.
        let second = u32::try_from(now.as_millis() / 1000).unwrap_or(u32::MAX).max(1);
        let earliest = |before: u32| Some(if before == 0 { second } else { before.min(second) });
        // It gives a value each time.
        let _ = self.outdated_at.fetch_update(Ordering::AcqRel, Ordering::Acquire, earliest);
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

    /// Bytes that it takes.
    pub(crate) fn size(&self) -> usize {
        VARIANT_SIZE + self.body.memory_size() + self.head.size() + size_of_val(self.tags())
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

/// Bytes that a response takes beside its fields, its tags and its content: itself, and the counts of an `Arc`.
pub(crate) const VARIANT_SIZE: usize = size_of::<Stored>() + 2 * size_of::<usize>();

// A cache has millions of them.
const _: () = assert!(size_of::<Stored>() <= 128);

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

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
