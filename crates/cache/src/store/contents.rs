//! A listing of the contents of the store in memory, for people.

use quick_cache::Weighter;

use super::{MemoryStore, Resource, Weight};
use crate::key::Key;

/// The size and use of the responses that are stored for a URI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceSize {
    /// Responses.
    pub responses: u64,
    /// Bytes that they take, in memory and in files of their own.
    pub bytes: u64,
    /// Requests that have found them since the URI came into memory.
    pub requests: u64,
}

impl MemoryStore {
    /// Visits the resource of each URI. No lock is held meanwhile: responses that are stored during the visit may be
    /// left out.
    pub fn visit(&self, mut visit: impl FnMut(&Key, ResourceSize)) {
        for (key, resource) in self.index.iter() {
            let responses = resource.response_count();
            if responses > 0 {
                let in_files: u64 = resource.content_files().map(|file| file.reference().length).sum();
                let bytes = Weight.weight(&key, &resource) + in_files;
                visit(&key, ResourceSize { responses: responses as u64, bytes, requests: resource.requests() });
            }
        }
    }

    /// Visits the tags that responses have, with their number.
    pub fn visit_tags(&self, visit: impl FnMut(&[u8], usize)) {
        self.tags.visit(visit);
    }
}

impl Resource {
    /// How many responses are stored.
    pub(super) fn response_count(&self) -> usize {
        self.all().iter().filter(|stored| !stored.is_removed()).count()
    }
}
