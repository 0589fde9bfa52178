//! Servers that have the same sessions: which of them refreshes one, and what the others learn of it.

use std::{pin::Pin, sync::Arc};

/// Whether other servers have the sessions of this one as well. During a reload, the process before and the one after it
/// are two servers.
pub enum Sharing {
    /// They may, and nothing connects them.
    Unconnected,
    /// They may, and agree by this store.
    Store(Arc<dyn RefreshStore>),
}

/// A store that servers have in common. Names and values are encrypted or digests.
pub trait RefreshStore: Send + Sync {
    /// Takes the turn to refresh the session with this name, unless another server has it, or has refreshed the session
    /// more often than this count.
    fn take_turn(&self, name: String, count: u32, holder: String) -> StoreFuture<RefreshTurn>;

    /// Gives the turn back; with the new session, if it has been refreshed.
    fn end_turn(&self, name: String, holder: String, refreshed: Option<RefreshedSession>) -> StoreFuture<()>;
}

/// The answer of a store, or why there is none.
pub type StoreFuture<T> = Pin<Box<dyn Future<Output = Result<T, String>>>>;

/// The server that refreshes a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefreshTurn {
    /// This server.
    Ours,
    /// Another one, which has not finished yet.
    Elsewhere,
    /// Another one did: it is this now.
    Refreshed(String),
}

/// A session after it was refreshed, for the other servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshedSession {
    /// How often it was refreshed.
    pub count: u32,
    /// Encrypted.
    pub value: String,
    /// Seconds until its end.
    pub lifetime: u64,
}

impl std::fmt::Debug for Sharing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Unconnected => "Unconnected",
            Self::Store(_) => "Store",
        })
    }
}
