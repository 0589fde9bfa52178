//! The client of a request that came through a proxy, and its scheme; what lines do not show of a request.

use std::{net::IpAddr, sync::Arc};

use serow_message::{ClientField, Scheme, Served, TrustedProxies};

use super::secret_arguments::SecretArguments;

/// Which proxies in front of the server are trusted to name the client of a request in X-Forwarded-For, and its scheme in
/// X-Forwarded-Proto.
///
/// Without any, the client is the connection's peer, and a line costs nothing more.
#[derive(Clone, Debug, Default)]
pub struct ClientRules {
    /// The proxies for all requests.
    pub trusted: TrustedProxies,
    /// Those for the requests of some routes instead, by the number of the route ([`Served::route`]). Empty if all
    /// routes have the same.
    pub of_routes: Vec<Option<TrustedProxies>>,
    /// The field in which the proxies for all requests name the client.
    pub client_field: ClientField,
    /// Whether access control notes users and limits, for `$remote_user`, `$limit_name` and `$limit_status`.
    pub has_notes: bool,
    /// Arguments of queries that are tokens: lines have stars in the place of their values.
    pub secrets: Arc<SecretArguments>,
}

impl ClientRules {
    /// The same proxies for all requests.
    #[must_use]
    pub fn of_all(trusted: TrustedProxies) -> Self {
        Self { trusted, ..Self::default() }
    }

    /// Whether the note of a request makes a difference.
    pub(crate) fn reads_route(&self) -> bool {
        self.has_notes || !self.of_routes.is_empty()
    }

    /// The client of a request and its scheme, if a trusted proxy names them.
    pub(crate) fn client(&self, served: &Served<'_>) -> (Option<IpAddr>, Option<Scheme>) {
        let of_route = served.route().and_then(|number| self.of_routes.get(number as usize)?.as_ref());
        let trusted = of_route.unwrap_or(&self.trusted);
        let Some(request) = served.request.filter(|_| !trusted.is_empty()) else { return (None, None) };
        let (headers, connection) = (&request.headers, served.connection);
        let client = match self.client_field.named(&self.trusted, headers, connection) {
            None => trusted.named_client(headers, connection),
            // A route may trust fewer.
            Some(client) => client.filter(|_| trusted.contains(connection.peer())),
        };
        (client, trusted.named_scheme(headers, connection))
    }
}

#[cfg(test)]
mod tests {
    use serow_message::Network;

    use super::*;
    use crate::example::{self, Example};

    fn trust(networks: &[&str]) -> TrustedProxies {
        networks.iter().map(|network| network.parse::<Network>().unwrap()).collect()
    }

    #[test]
    fn clients_are_named_by_trusted_proxies_of_the_route() {
        let rules = ClientRules {
            trusted: trust(&["10.0.0.0/8"]),
            of_routes: vec![None, Some(trust(&["192.0.2.1", "unix"])), Some(trust(&[]))],
            ..ClientRules::default()
        };
        let (ten, other) = ("10.0.0.1:80", "192.0.2.1:80");
        let cases = [
            // route, peer, X-Forwarded-For, the client if it is not the peer
            (None, ten, "203.0.113.1", Some("203.0.113.1")),
            (None, other, "203.0.113.1", None),
            (Some(0), ten, "203.0.113.1", Some("203.0.113.1")),
            (Some(0), other, "203.0.113.1", None),
            (Some(1), ten, "203.0.113.1", None),
            (Some(1), other, "203.0.113.1", Some("203.0.113.1")),
            (Some(1), "unix", "203.0.113.1", Some("203.0.113.1")),
            (Some(2), ten, "203.0.113.1", None),
            // One that no rule knows is as any other.
            (Some(9), ten, "203.0.113.1", Some("203.0.113.1")),
            // Whatever stands before an address that is not trusted is the client's own claim.
            (None, ten, "127.0.0.1, 203.0.113.1", Some("203.0.113.1")),
            (None, ten, "203.0.113.1, 10.0.0.9", Some("203.0.113.1")),
            (None, ten, "203.0.113.1, evil\"", None),
            (None, ten, "203.0.113.1, ", Some("203.0.113.1")),
            (None, ten, "2001:db8::1", Some("2001:db8::1")),
            (None, ten, "::ffff:203.0.113.1", Some("203.0.113.1")),
            (None, ten, "", None),
        ];
        for (route, peer, named, expected) in cases {
            let mut example = if peer == "unix" { Example::unix() } else { Example::new(peer) };
            example.header("X-Forwarded-For", named.as_bytes());
            let note = example::note(route);
            let (client, scheme) = rules.client(&Served { note: note.as_ref(), ..example.served() });
            assert_eq!(scheme, None);
            assert_eq!(client.map(|client| client.to_string()).as_deref(), expected, "{route:?} {peer} {named}");
        }
        let example = Example::new(ten);
        assert_eq!(rules.client(&Served { request: None, ..example.served() }), (None, None));
        assert!(rules.reads_route() && !ClientRules::of_all(trust(&["unix"])).reads_route());
    }

    #[test]
    fn schemes_are_named_by_trusted_proxies_of_the_route() {
        let rules = ClientRules {
            trusted: trust(&["10.0.0.0/8"]),
            of_routes: vec![None, Some(trust(&[]))],
            ..ClientRules::default()
        };
        for (route, peer, expected) in [
            (Some(0), "10.0.0.1:80", Some(Scheme::Https)),
            (Some(0), "192.0.2.1:80", None),
            (Some(1), "10.0.0.1:80", None),
        ] {
            let mut example = Example::new(peer);
            example.header("X-Forwarded-Proto", b"https");
            let note = example::note(route);
            let served = Served { note: note.as_ref(), ..example.served() };
            assert_eq!(rules.client(&served), (None, expected), "{route:?} {peer}");
        }
    }
}
