//! Logins of several servers: Redis says which of them refreshes a session.

use std::{sync::Arc, time::Duration};

use serow_access::openid::{RefreshStore, RefreshTurn, RefreshedSession, StoreFuture};
use serow_fleet::{Fleet, Turn, TurnResult};

/// The store of logins that the fleet has in Redis.
pub(crate) struct FleetStore(pub(crate) Arc<Fleet>);

impl RefreshStore for FleetStore {
    fn take_turn(&self, name: String, count: u32, holder: String) -> StoreFuture<RefreshTurn> {
        let fleet = Arc::clone(&self.0);
        Box::pin(async move {
            match fleet.take_turn(&key(&name), count, &holder, MAX_TURN).await.map_err(|failure| failure.to_string())? {
                Turn::Ours => Ok(RefreshTurn::Ours),
                Turn::Elsewhere => Ok(RefreshTurn::Elsewhere),
                Turn::Done(value) => String::from_utf8(value)
                    .map(RefreshTurn::Refreshed)
                    .map_err(|_| "the value in Redis is not a session".to_owned()),
            }
        })
    }

    fn end_turn(&self, name: String, holder: String, refreshed: Option<RefreshedSession>) -> StoreFuture<()> {
        let fleet = Arc::clone(&self.0);
        let result = refreshed.map(|RefreshedSession { count, value, lifetime }| TurnResult {
            version: count,
            value: value.into_bytes(),
            lifetime: Duration::from_secs(lifetime),
        });
        Box::pin(
            async move { fleet.end_turn(&key(&name), &holder, result).await.map_err(|failure| failure.to_string()) },
        )
    }
}

fn key(name: &str) -> String {
    format!("login:{name}")
}

/// A refresh takes a minute at most, and two more requests to the provider ten seconds each.
const MAX_TURN: Duration = Duration::from_secs(90);
