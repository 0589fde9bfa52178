//! Stored responses that outlive the process.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    key::Key,
    purge::PurgeRecord,
    store::Resource,
    stored_content::{ContentFile, ContentReference, ContentWriter},
};

/// A store beside the one in memory, for responses that are to be found again after a restart.
///
/// The cache makes the calls that concern one key in the order of the events, with a lock held: they should not take
/// long.
pub trait Persistence: std::fmt::Debug + Send + Sync {
    /// Keeps all that is stored for a key, in place of what was kept before.
    fn keep(&self, key: &Key, resource: &Resource);

    /// Removes what is kept for a key; whether there was something.
    fn remove(&self, key: &Key) -> bool;

    /// Returns the resource that is kept for a key.
    fn find(&self, key: &Key) -> Option<KeptResource>;

    /// A file for a content that is too large for memory: of this length, if it is known. Nothing if there is no place for
    /// it.
    fn new_content(&self, key: &Key, length: Option<u64>) -> Option<Arc<dyn ContentWriter>>;

    /// A content of this key that a record refers to.
    fn content(&self, key: &Key, reference: ContentReference) -> Arc<dyn ContentFile>;

    /// Keeps a purge that concerns more than one key, until nothing is left that it concerns.
    fn keep_purge(&self, purge: &PurgeRecord);
}

/// The resource that was kept for a key.
#[derive(Debug)]
pub enum KeptResource {
    /// It has not been written yet.
    Unwritten(Resource),
    /// A record that [`encode`](crate::encode) has written.
    Record(Bytes),
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io;

    use serow_message::FileRange;

    use super::*;
    use crate::stored_content::KeptContent;

    /// Keeps nothing, and finds every content that a record refers to.
    #[derive(Debug)]
    pub(crate) struct References;

    #[derive(Debug)]
    struct Reference(ContentReference);

    impl Persistence for References {
        fn keep(&self, _: &Key, _: &Resource) {}

        fn remove(&self, _: &Key) -> bool {
            false
        }

        fn find(&self, _: &Key) -> Option<KeptResource> {
            None
        }

        fn new_content(&self, _: &Key, _: Option<u64>) -> Option<Arc<dyn ContentWriter>> {
            None
        }

        fn content(&self, _: &Key, reference: ContentReference) -> Arc<dyn ContentFile> {
            Arc::new(Reference(reference))
        }

        fn keep_purge(&self, _: &PurgeRecord) {}
    }

    impl ContentFile for Reference {
        fn reference(&self) -> ContentReference {
            self.0
        }

        fn open(&self) -> io::Result<Option<FileRange>> {
            Ok(None)
        }

        fn keep(&self) -> io::Result<KeptContent> {
            Ok(KeptContent::Gone)
        }

        fn discard(&self) {}
    }
}
