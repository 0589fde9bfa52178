//! The ban of clients who break a limit again and again.

use std::net::IpAddr;

use serow_limits::{BanOrigin, BanRule, Bans, Strikes};
use serow_message::ClientNetwork;
use serow_net::{WarningPace, monotonic};

/// Bans clients who break a limit again and again.
#[derive(Debug)]
pub(crate) struct LimitBan {
    strikes: Strikes,
    bans: Bans,
    warning: WarningPace,
}

impl LimitBan {
    /// By this rule.
    pub(crate) fn new(rule: BanRule, bans: Bans) -> Self {
        Self { strikes: Strikes::new(rule), bans, warning: WarningPace::new() }
    }

    /// Counts a request that the limit with this name has refused.
    pub(crate) fn note(&self, client: IpAddr, limit: &str) {
        let (client, now) = (ClientNetwork::of(client), monotonic());
        if !self.strikes.add(client, now) {
            return;
        }
        let length = self.strikes.rule().length;
        let outcome = self.bans.add(client, length, &format!("limit {limit}"), BanOrigin::Limit, now);
        if self.warning.is_due() {
            match outcome {
                Ok(_) => tracing::warn!(
                    %client,
                    "limit {limit}: a client is banned for {} seconds; `serow ban list` has all",
                    length.as_secs()
                ),
                Err(error) => tracing::warn!("limit {limit}: {error}"),
            }
        }
    }
}
