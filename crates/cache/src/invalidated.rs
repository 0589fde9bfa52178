//! The URIs that were invalidated lately: responses to requests from before are not stored.

use std::collections::VecDeque;

/// The URIs of one stripe of the store that were invalidated lately, by their hashes.
#[derive(Debug, Default)]
pub(crate) struct Invalidated {
    /// Hash and version of each, the oldest first.
    latest: VecDeque<(u64, u64)>,
    /// The version of the last that is not in `latest` any more: before it, any URI may have been invalidated.
    forgotten: u64,
}

impl Invalidated {
    /// Notes that a URI is invalidated with this version, which is larger than all before.
    pub(crate) fn note(&mut self, hash: u64, version: u64) {
        self.latest.retain(|(other, _)| *other != hash);
        if self.latest.len() == LATEST
            && let Some((_, oldest)) = self.latest.pop_front()
        {
            self.forgotten = oldest;
        }
        self.latest.push_back((hash, version));
    }

    /// Notes that every URI may be invalidated with this version.
    pub(crate) fn note_all(&mut self, version: u64) {
        self.latest.clear();
        self.forgotten = version;
    }

    /// Whether the URI was, or may have been, invalidated after this version.
    pub(crate) fn is_after(&self, hash: u64, version: u64) -> bool {
        self.forgotten > version || self.latest.iter().any(|(other, at)| *other == hash && *at > version)
    }
}

/// URIs that a stripe remembers. A client that invalidates more of a stripe while a response arrives keeps it from being
/// stored, and does no other harm. All stripes take 256 KiB with it.
const LATEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_invalidated_uri_is_concerned() {
        let mut invalidated = Invalidated::default();
        invalidated.note(7, 1);
        assert!(invalidated.is_after(7, 0) && !invalidated.is_after(7, 1) && !invalidated.is_after(8, 0));
        invalidated.note(7, 2);
        assert!(invalidated.is_after(7, 1) && !invalidated.is_after(7, 2));
    }

    #[test]
    fn a_forgotten_invalidation_counts_for_every_uri() {
        let mut invalidated = Invalidated::default();
        (0..=LATEST as u64).for_each(|number| invalidated.note(number, number + 1));
        assert!(invalidated.is_after(1000, 0), "the invalidation of URI 0 is forgotten");
        assert!(!invalidated.is_after(1000, 1) && invalidated.is_after(1, 1));
    }
}
