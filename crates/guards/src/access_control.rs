//! The parts of access control that the server needs while it runs. `guard.rs` decides about requests.

use std::sync::Arc;

use serow_access::{PasswordQueue, WatchedFiles, jwt::RemoteKeys, openid::Login};
use serow_fleet::Fleet;

use crate::{ClientRequests, RateLimit, RefusedAddresses};

/// The parts of access control that the server needs while it runs.
#[derive(Debug)]
pub struct AccessControl {
    /// The limits.
    pub limits: Vec<Arc<RateLimit>>,
    /// The limits of requests of a client at the same time.
    pub requests: Vec<Arc<ClientRequests>>,
    /// The count of requests that were refused because of the client's address.
    pub refused_addresses: Arc<RefusedAddresses>,
    /// Files that are read again when they change.
    pub watched: WatchedFiles,
    /// The fleet, with which limits are shared.
    pub fleet: Option<Arc<Fleet>>,
    /// Where passwords wait to be checked; nothing where no site has users.
    pub passwords: Option<PasswordQueue>,
    /// Logins, for the thread that sends requests to their providers.
    pub logins: Vec<Login>,
    /// Key sets that are fetched while the server runs.
    pub remote_keys: Vec<Arc<RemoteKeys>>,
}
