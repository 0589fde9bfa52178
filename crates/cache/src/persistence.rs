//! Stored responses that outlive the process.

use std::sync::Arc;

use bytes::Bytes;

use crate::{key::Key, purge::PurgeRecord, store::Resource};

/// A store beside the one in memory, for what is to be found again after a restart.
///
/// What concerns one key is called in the order in which it happens, with a lock held: it should not take long.
pub trait Persistence: std::fmt::Debug + Send + Sync {
    /// Keeps all that is stored for a key, in place of what was kept before.
    fn keep(&self, key: &Key, resource: &Arc<Resource>);

    /// Removes what is kept for a key; whether there was something.
    fn remove(&self, key: &Key) -> bool;

    /// What is kept for a key.
    fn find(&self, key: &Key) -> Option<KeptResource>;

    /// Keeps a purge that concerns more than one key, until nothing is left that it concerns.
    fn keep_purge(&self, purge: &PurgeRecord);
}

/// What was kept for a key.
#[derive(Debug)]
pub enum KeptResource {
    /// It has not been written yet.
    Unwritten(Arc<Resource>),
    /// What [`encode`](crate::encode) has written.
    Record(Bytes),
}
