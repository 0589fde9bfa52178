//! Tags of responses, by which they are purged together.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serow_message::Headers;

use crate::{purge::PurgeMode, time::Time};

/// A tag. It knows when it was purged; what is stored is not looked for, but looks here.
#[derive(Debug)]
pub(crate) struct Tag {
    name: Arc<[u8]>,
    /// The version at which responses that have it were removed.
    removed: AtomicU64,
    /// The last version at which they became stale, and the moment in milliseconds.
    outdated: AtomicU64,
    outdated_at: AtomicU64,
    /// The version of the purge before that one, and the moment of the first of all: a second purge must not make the
    /// time shorter for which responses from before both have been stale.
    outdated_before: AtomicU64,
    first_outdated_at: AtomicU64,
}

/// All tags that stored responses have, and those that were purged lately.
#[derive(Debug)]
pub(crate) struct Tags {
    shards: Box<[Mutex<TagShard>]>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct TagShard {
    tags: HashMap<Arc<[u8]>, Arc<Tag>>,
    /// With so many, those that nothing has are removed.
    sweep_at: usize,
    /// The last version of those that were removed: a response from before may have had any of them.
    forgotten: u64,
}

impl Tag {
    /// A tag that was not purged after this version.
    fn new(name: Arc<[u8]>, removed: u64) -> Self {
        let none = AtomicU64::default;
        Self {
            name,
            removed: removed.into(),
            outdated: none(),
            outdated_at: none(),
            outdated_before: none(),
            first_outdated_at: none(),
        }
    }

    pub(crate) fn name(&self) -> &[u8] {
        &self.name
    }

    /// Whether responses from before this version are removed.
    pub(crate) fn is_removed(&self, version: u64) -> bool {
        self.removed.load(Ordering::Acquire) > version
    }

    /// Since when responses from before this version are stale; those that two purges concerned, perhaps since an earlier
    /// one.
    pub(crate) fn outdated_since(&self, version: u64) -> Option<Time> {
        if self.outdated.load(Ordering::Acquire) <= version {
            return None;
        }
        // Read in the opposite order of the writes: a purge meanwhile gives an earlier moment at most.
        let last = self.outdated_at.load(Ordering::Acquire);
        let is_of_earlier = self.outdated_before.load(Ordering::Acquire) > version;
        let since = if is_of_earlier { self.first_outdated_at.load(Ordering::Acquire) } else { last };
        Some(Time::from_millis(since))
    }

    /// One purge at a time.
    fn purge(&self, version: u64, mode: PurgeMode) {
        match mode {
            PurgeMode::Remove => {
                self.removed.fetch_max(version, Ordering::AcqRel);
            }
            PurgeMode::Outdate(now) => {
                let before = self.outdated.load(Ordering::Acquire);
                if before == 0 {
                    self.first_outdated_at.store(now.as_millis(), Ordering::Release);
                }
                self.outdated_before.store(before, Ordering::Release);
                self.outdated_at.store(now.as_millis(), Ordering::Release);
                self.outdated.fetch_max(version, Ordering::AcqRel);
            }
        }
    }

    fn last_purge(&self) -> u64 {
        self.removed.load(Ordering::Acquire).max(self.outdated.load(Ordering::Acquire))
    }
}

impl Default for Tags {
    fn default() -> Self {
        let shards = std::iter::repeat_with(Mutex::default).take(SHARDS).collect();
        Self { shards, hasher: RandomState::new() }
    }
}

impl Tags {
    /// The tags with these names.
    pub(crate) fn of_names(&self, names: &TagNames) -> Box<[Arc<Tag>]> {
        names.0.iter().map(|name| self.of_name(name)).collect()
    }

    /// Purges what has this tag, and was requested before this version.
    pub(crate) fn purge(&self, name: &[u8], version: u64, mode: PurgeMode) {
        let tag = self.of_name(name);
        let _one_at_a_time = lock(&self.shards[self.shard_of(name)]);
        tag.purge(version, mode);
    }

    /// Whether any of these tags was purged since this version.
    pub(crate) fn were_purged(&self, names: &TagNames, version: u64) -> bool {
        names.0.iter().any(|name| self.of_name(name).last_purge() > version)
    }

    /// Visits those that responses have, with the number of the responses. One shard after the other is locked.
    pub(crate) fn visit(&self, mut visit: impl FnMut(&[u8], usize)) {
        for shard in self.shards.iter() {
            let shard = lock(shard);
            // One is that of the table.
            let counts = shard.tags.iter().map(|(name, tag)| (name, Arc::strong_count(tag) - 1));
            counts.filter(|(_, responses)| *responses > 0).for_each(|(name, responses)| visit(name, responses));
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).tags.len()).sum()
    }

    fn of_name(&self, name: &[u8]) -> Arc<Tag> {
        let mut shard = lock(&self.shards[self.shard_of(name)]);
        if let Some(tag) = shard.tags.get(name) {
            return Arc::clone(tag);
        }
        if shard.tags.len() >= shard.sweep_at {
            shard.sweep();
        }
        let name: Arc<[u8]> = name.into();
        let tag = Arc::new(Tag::new(Arc::clone(&name), shard.forgotten));
        shard.tags.insert(name, Arc::clone(&tag));
        tag
    }

    fn shard_of(&self, name: &[u8]) -> usize {
        self.hasher.hash_one(name) as usize % SHARDS
    }
}

impl TagShard {
    /// Removes the tags that nothing has any more.
    fn sweep(&mut self) {
        let forgotten = &mut self.forgotten;
        self.tags.retain(|_, tag| {
            let is_kept = Arc::strong_count(tag) > 1;
            if !is_kept {
                *forgotten = tag.last_purge().max(*forgotten);
            }
            is_kept
        });
        self.sweep_at = (2 * self.tags.len()).max(MIN_SWEEP);
    }
}

/// No code panics while it holds this lock, so a poisoned one is as good as any.
fn lock(shard: &Mutex<TagShard>) -> MutexGuard<'_, TagShard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The names of the tags of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagNames(Vec<Box<[u8]>>);

impl TagNames {
    /// Takes the tags out of the headers of a response: they are for caches, not for clients.
    #[must_use]
    pub fn take(headers: &mut Headers) -> Self {
        let Some(names) = Self::of(headers) else { return Self::default() };
        for (field, _) in FIELDS {
            headers.remove(field);
        }
        names
    }

    /// The tags in the fields of a response, or of a request that purges; `None` if it has none of the fields.
    #[must_use]
    pub fn of(headers: &Headers) -> Option<Self> {
        let mut names = None;
        for (field, is_separator) in FIELDS {
            headers.get_all(field).for_each(|value| names.get_or_insert_with(Self::default).add(value, is_separator));
        }
        names
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a name.
    pub(crate) fn push(&mut self, name: &[u8]) {
        self.0.push(name.into());
    }

    /// The names.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|name| &**name)
    }

    /// Whether there are too many to remember.
    #[must_use]
    pub fn is_over_limit(&self) -> bool {
        self.0.len() > MAX_TAGS
    }

    fn add(&mut self, value: &[u8], is_separator: IsSeparator) {
        for name in value.split(|byte| is_separator(*byte)).map(<[u8]>::trim_ascii).filter(|name| !name.is_empty()) {
            if self.0.len() <= MAX_TAGS && !self.0.iter().any(|other| **other == *name) {
                self.0.push(name.into());
            }
        }
    }
}

type IsSeparator = fn(u8) -> bool;

/// Fastly's, Varnish's and Cloudflare's fields, and what stands between their tags.
const FIELDS: [(&str, IsSeparator); 3] = [
    ("surrogate-key", |byte| byte.is_ascii_whitespace()),
    ("xkey", |byte| byte.is_ascii_whitespace()),
    ("cache-tag", |byte| byte == b','),
];

/// Tags of one response. A response with more is not stored: some of its purges would not concern it.
const MAX_TAGS: usize = 256;

/// Locks: more than threads, so that they rarely wait for one another.
const SHARDS: usize = 64;

/// Fewer tags are not worth a look.
const MIN_SWEEP: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_all_fields_are_taken() {
        let mut headers = Headers::new();
        for (name, value) in [
            ("Surrogate-Key", " a  b\tc "),
            ("surrogate-key", "b d"),
            ("Cache-Tag", "one two, e,,f"),
            ("xkey", "g"),
            ("x-other", "1"),
        ] {
            headers.append(name, value).unwrap();
        }
        let names = TagNames::take(&mut headers);
        let texts: Vec<_> = names.iter().map(|name| std::str::from_utf8(name).unwrap()).collect();
        assert_eq!(texts, ["a", "b", "c", "d", "g", "one two", "e", "f"]);
        assert_eq!(headers.len(), 1);
        let many: Vec<_> = (0..1000).map(|number| number.to_string()).collect();
        headers.append("xkey", many.join(" ")).unwrap();
        assert!(TagNames::of(&headers).unwrap().is_over_limit());
        assert!(TagNames::take(&mut headers).is_over_limit());
        assert_eq!(TagNames::of(&headers), None);
        headers.append("cache-tag", " ").unwrap();
        assert_eq!(TagNames::of(&headers), Some(TagNames::default()));
    }

    #[test]
    fn a_purge_concerns_what_was_requested_before() {
        let tags = Tags::default();
        let names = TagNames(vec![b"a"[..].into(), b"b"[..].into()]);
        let [a, b] = &*tags.of_names(&names) else { panic!() };
        tags.purge(b"a", 5, PurgeMode::Remove);
        tags.purge(b"b", 7, PurgeMode::Outdate(Time::from_seconds(1)));
        assert!(a.is_removed(4) && !a.is_removed(5) && a.outdated_since(0).is_none());
        assert!(!b.is_removed(0) && b.outdated_since(7).is_none());
        assert_eq!(b.outdated_since(6), Some(Time::from_seconds(1)));
    }

    #[test]
    fn a_second_purge_leaves_the_time_since_when_responses_are_stale() {
        let tags = Tags::default();
        let tag = tags.of_name(b"a");
        for (version, second) in [(5, 10), (7, 20), (9, 30)] {
            tags.purge(b"a", version, PurgeMode::Outdate(Time::from_seconds(second)));
        }
        let seconds = [0, 4, 6, 7, 8].map(|version| tag.outdated_since(version));
        // From between the first two: the moment of the first, which is earlier.
        assert_eq!(seconds, [10, 10, 10, 30, 30].map(|second| Some(Time::from_seconds(second))));
        assert_eq!(tag.outdated_since(9), None);
    }

    #[test]
    fn tags_that_nothing_has_are_forgotten_but_not_their_purges() {
        let tags = Tags::default();
        tags.purge(b"a", 5, PurgeMode::Remove);
        (0..100_000_u32).for_each(|number| drop(tags.of_name(&number.to_be_bytes())));
        assert!(tags.len() <= 2 * SHARDS * MIN_SWEEP, "{}", tags.len());
        assert!(tags.of_name(b"a").is_removed(4), "a response from before the purge may still arrive");
        assert!(!tags.of_name(b"a").is_removed(5));
    }
}
