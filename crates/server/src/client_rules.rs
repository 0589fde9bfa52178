//! Which clients may connect: not those that are banned, and each only so often at a time.

use std::{fmt, net::IpAddr, sync::Arc};

use serow_limits::Bans;
use serow_limits::{Concurrency, ConcurrencyGuard};
use serow_message::{ClientNetwork, TrustedProxies};
use serow_net::{WarningPace, monotonic};

/// Which clients may connect. By default, all may.
///
/// The client is the peer, or with [`ProxyProtocol::Required`](crate::ProxyProtocol) the address that the proxy sends.
#[derive(Clone, Debug, Default)]
pub struct ClientRules {
    /// Clients whose connections are closed at once, before TLS.
    pub bans: Bans,
    /// Connections that a client may have at a time; further ones are closed at once. IPv6 addresses count by their /64.
    /// 0 for any number.
    pub connections: u32,
    /// Proxies whose connections are those of many clients: any number of them.
    pub trusted: TrustedProxies,
}

/// The rules, and the connections of each client.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientPolicy {
    rules: Arc<ClientRules>,
    connections: Concurrency<ClientNetwork>,
    warning: Arc<WarningPace>,
}

/// Counts a connection of its client until it is dropped.
pub(crate) type ClientGuard = ConcurrencyGuard<ClientNetwork>;

/// Why a client's connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientRefusal {
    Banned,
    TooManyConnections,
}

impl ClientPolicy {
    pub(crate) fn new(rules: ClientRules) -> Self {
        Self { rules: Arc::new(rules), ..Self::default() }
    }

    /// Whether a client with this address may connect. Nothing to count where the number is not limited.
    #[inline]
    pub(crate) fn admit(&self, address: IpAddr) -> Result<Option<ClientGuard>, ClientRefusal> {
        let ClientRules { bans, connections, .. } = &*self.rules;
        if bans.is_empty() && *connections == 0 {
            return Ok(None);
        }
        self.check(address)
    }

    #[inline(never)]
    fn check(&self, address: IpAddr) -> Result<Option<ClientGuard>, ClientRefusal> {
        let ClientRules { bans, connections, trusted } = &*self.rules;
        if bans.is_banned(address, monotonic()) {
            bans.note_connection();
            return Err(ClientRefusal::Banned);
        }
        if *connections == 0 || trusted.contains_address(address) {
            return Ok(None);
        }
        let client = ClientNetwork::of(address);
        match self.connections.enter(client, *connections) {
            Some(guard) => Ok(Some(guard)),
            None => {
                if self.warning.is_due() {
                    tracing::warn!(%client, "a client has {connections} connections, as many as `max-connections-per-client`: others are closed");
                }
                Err(ClientRefusal::TooManyConnections)
            }
        }
    }
}

impl fmt::Display for ClientRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Banned => "its client is banned",
            Self::TooManyConnections => "its client has too many connections",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serow_limits::BanOrigin;
    use serow_message::Network;

    use super::*;

    #[test]
    fn clients_have_their_connections_and_trusted_proxies_any_number() {
        let trusted: TrustedProxies = ["10.0.0.0/8".parse::<Network>().unwrap()].into_iter().collect();
        let policy = ClientPolicy::new(ClientRules { connections: 2, trusted, ..ClientRules::default() });
        let admit = |address: &str| policy.admit(address.parse().unwrap());
        let mut guards = Vec::new();
        for (address, expected) in [
            ("192.0.2.1", Ok(true)),
            ("192.0.2.1", Ok(true)),
            ("::ffff:192.0.2.1", Err(ClientRefusal::TooManyConnections)),
            ("192.0.2.2", Ok(true)),
            ("2001:db8::1", Ok(true)),
            ("2001:db8::2", Ok(true)),
            ("2001:db8::3", Err(ClientRefusal::TooManyConnections)),
            ("10.0.0.1", Ok(false)),
            ("10.0.0.1", Ok(false)),
            ("::ffff:10.0.0.1", Ok(false)),
        ] {
            let admitted = admit(address);
            assert_eq!(admitted.as_ref().map(Option::is_some).map_err(|refusal| *refusal), expected, "{address}");
            guards.extend(admitted);
        }
        drop(guards);
        assert!(admit("192.0.2.1").is_ok());
        assert_eq!(policy.connections.keys(), 0);
    }

    #[test]
    fn banned_clients_are_refused_until_the_ban_ends() {
        let rules = ClientRules::default();
        let (bans, policy) = (rules.bans.clone(), ClientPolicy::new(rules));
        let admit = || policy.admit("192.0.2.1".parse().unwrap());
        assert!(matches!(admit(), Ok(None)));
        let client = "192.0.2.1".parse().unwrap();
        bans.add(client, Duration::from_secs(60), "a", BanOrigin::Limit, monotonic()).unwrap();
        assert_eq!(admit().unwrap_err(), ClientRefusal::Banned);
        bans.remove(client, BanOrigin::Administrator, monotonic());
        assert!(matches!(admit(), Ok(None)));
        assert_eq!(bans.counts(monotonic()).refused_connections, 1);
    }
}
