//! The responses that are stored for one URI.

use std::{
    slice,
    sync::{Arc, atomic::Ordering},
};

use serow_message::{Headers, Method};

use crate::{
    stored::{Stored, VARIANT_SIZE},
    stored_body::StoredBody,
    stored_content::ContentFile,
    time::Time,
};

/// The responses that are stored for one URI. A clone shares them.
#[derive(Clone, Debug)]
pub struct Resource(Contents);

#[derive(Clone, Debug)]
enum Contents {
    /// One response: nearly all URIs have one, which needs no list.
    One(Arc<Stored>),
    Other(Arc<Other>),
}

/// No response, or several, or what else is known.
#[derive(Debug)]
struct Other {
    /// The variants, the newest first.
    variants: Box<[Arc<Stored>]>,
    uncacheable: Option<Uncacheable>,
}

/// Until when responses of a route are expected not to be stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uncacheable {
    pub(super) scope: u32,
    pub(super) until: Time,
}

impl Resource {
    /// These responses, the newest first.
    pub(super) fn new(mut variants: Vec<Arc<Stored>>, uncacheable: Option<Uncacheable>) -> Self {
        Self(match (variants.pop(), uncacheable) {
            (Some(stored), None) if variants.is_empty() => Contents::One(stored),
            (last, uncacheable) => {
                variants.extend(last);
                Contents::Other(Arc::new(Other { variants: variants.into(), uncacheable }))
            }
        })
    }

    /// All responses, the newest first, with those whose tags were purged.
    pub(super) fn all(&self) -> &[Arc<Stored>] {
        match &self.0 {
            Contents::One(stored) => slice::from_ref(stored),
            Contents::Other(other) => &other.variants,
        }
    }

    pub(super) fn uncacheable(&self) -> Option<Uncacheable> {
        match &self.0 {
            Contents::One(_) => None,
            Contents::Other(other) => other.uncacheable,
        }
    }

    /// Whether it is a clone of this one.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Contents::One(stored), Contents::One(other)) => Arc::ptr_eq(stored, other),
            (Contents::Other(several), Contents::Other(other)) => Arc::ptr_eq(several, other),
            _ => false,
        }
    }

    /// Bytes that it takes beside its place in the index.
    pub(super) fn size(&self) -> usize {
        let variants: usize = self.all().iter().map(|stored| stored.size()).sum();
        match &self.0 {
            Contents::One(_) => variants,
            Contents::Other(other) => variants + VARIANT_SIZE + size_of_val(&*other.variants),
        }
    }

    /// How many requests have found it, or what it has replaced.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.all().iter().map(|stored| u64::from(stored.requests.load(Ordering::Relaxed))).sum()
    }

    /// So many requests more have found it.
    pub(super) fn add_requests(&self, count: u32) {
        let Some(stored) = self.all().first() else { return };
        if stored.requests.load(Ordering::Relaxed) < MAX_REQUESTS {
            stored.requests.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// It takes the place of another one, whose requests it takes over.
    pub(super) fn take_over_requests(&self, before: &Self) {
        let missing = before.requests().saturating_sub(self.requests());
        self.add_requests(u32::try_from(missing).unwrap_or(MAX_REQUESTS).min(MAX_REQUESTS));
    }

    /// Bytes of all contents in memory.
    #[must_use]
    pub fn memory_size(&self) -> usize {
        self.all().iter().map(|stored| stored.body.memory_size()).sum()
    }

    /// The contents in files of their own.
    pub fn content_files(&self) -> impl Iterator<Item = &Arc<dyn ContentFile>> {
        self.variants().filter_map(|stored| stored.body.file())
    }

    /// Those, and the contents of responses that a purge of a tag has removed since.
    pub fn all_content_files(&self) -> impl Iterator<Item = &Arc<dyn ContentFile>> {
        self.all().iter().filter_map(|stored| stored.body.file())
    }

    /// All of them, the newest last: in this order they are stored again.
    pub(crate) fn variants(&self) -> impl Iterator<Item = &Stored> {
        self.all().iter().rev().map(|stored| &**stored).filter(|stored| !stored.is_removed())
    }

    /// The stored responses of this route, the newest first.
    pub fn of_scope(&self, scope: u32) -> impl Iterator<Item = &Arc<Stored>> + Clone {
        self.all().iter().filter(move |stored| stored.scope == scope && !stored.is_removed())
    }

    /// The stored response of this route that a request with this method and these headers gets: the most recent that it
    /// matches and that has what it wants (RFC 9111 §4).
    #[must_use]
    pub fn select(&self, scope: u32, method: &Method, request: &Headers) -> Option<&Arc<Stored>> {
        latest(self.matching(scope, request).filter(|stored| stored.has_what_is_wanted(method, request)))
    }

    /// The part stored by this route that a request with these headers matches, whatever it wants of it.
    #[must_use]
    pub fn part(&self, scope: u32, request: &Headers) -> Option<&Arc<Stored>> {
        latest(self.matching(scope, request).filter(|stored| matches!(stored.body, StoredBody::Part(_))))
    }

    fn matching(&self, scope: u32, request: &Headers) -> impl Iterator<Item = &Arc<Stored>> {
        self.of_scope(scope).filter(move |stored| stored.head.variant.matches(request))
    }

    /// Whether a response of this route is expected not to be stored.
    #[must_use]
    pub fn is_uncacheable(&self, scope: u32, now: Time) -> bool {
        self.uncacheable().is_some_and(|noted| noted.scope == scope && now < noted.until)
    }
}

/// The most recent of these, the first of those that are equally recent.
fn latest<'a>(mut stored: impl Iterator<Item = &'a Arc<Stored>>) -> Option<&'a Arc<Stored>> {
    let first = stored.next()?;
    Some(stored.fold(first, |latest, other| if other.head.date() > latest.head.date() { other } else { latest }))
}

/// Requests that are counted for a response: half of the numbers, so that no sum is larger than the last.
const MAX_REQUESTS: u32 = u32::MAX / 2;

// The index has millions of them.
const _: () = assert!(size_of::<Resource>() == 16);
