//! A rate limit: which requests share a key, and what happens to those that come too often.

use std::{
    net::IpAddr,
    ops::RangeInclusive,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serow_fleet::{SharedKey, SharedTable, now};
use serow_limits::{BanRule, Bans};
use serow_limits::{Decision, Key, KeyTable, Limit};
use serow_message::{FieldName, Headers, KnownHeader, LimitStatus, Request, RequestClient, Response, RouteNote};
use serow_net::WarningPace;
use serow_variables::{
    Name, Part, Source, Text, Variable,
    clean_path::{self, Room},
};
use smallvec::SmallVec;

use crate::limit_ban::LimitBan;

/// A rate limit, which sites and routes share.
#[derive(Debug)]
pub struct RateLimit {
    name: Arc<str>,
    limit: Limit,
    table: Table,
    key: Text,
    /// The costs of responses by their status; 1 for other statuses. The first range that has the status counts.
    costs: Vec<(RangeInclusive<u16>, u32)>,
    /// Whether requests are only counted.
    is_dry_run: bool,
    /// The value of RateLimit-Policy.
    policy: Box<str>,
    counts: RateLimitCounts,
    warning: WarningPace,
    ban: Option<LimitBan>,
}

/// Where the keys of a limit are.
#[derive(Debug)]
enum Table {
    /// Of this server alone.
    Own(KeyTable),
    /// Shared with other servers.
    Shared(Arc<SharedTable>),
}

/// A key in its table.
#[derive(Clone, Copy, Debug)]
enum TableKey {
    Own(Key),
    Shared(SharedKey),
}

/// How many requests a limit has seen.
#[derive(Debug, Default)]
pub struct RateLimitCounts {
    /// They were served at once.
    pub allowed: AtomicU64,
    /// They waited before they were served.
    pub delayed: AtomicU64,
    /// They were refused; in a dry run, they would have been.
    pub refused: AtomicU64,
}

/// The decision of a limit about a request.
#[derive(Debug)]
pub(crate) struct Limited {
    key: TableKey,
    decision: Decision,
}

impl RateLimit {
    /// A limit with this name, for requests whose keys are equal. The table of keys has room for `keys` of them.
    #[must_use]
    pub fn new(name: &str, limit: Limit, key: Text, keys: usize) -> Self {
        let rate = limit.rate();
        let quota = u64::from(rate.count()) + u64::from(limit.burst());
        Self {
            name: name.into(),
            policy: format!("\"{name}\";q={quota};w={}", rate.period().as_secs()).into(),
            limit,
            table: Table::Own(KeyTable::new(keys)),
            key,
            costs: Vec::new(),
            is_dry_run: false,
            counts: RateLimitCounts::default(),
            warning: WarningPace::new(),
            ban: None,
        }
    }

    /// The same, with responses that cost more or less than one request; the first range that has the status counts.
    #[must_use]
    pub fn with_costs(self, costs: Vec<(RangeInclusive<u16>, u32)>) -> Self {
        Self { costs, ..self }
    }

    /// The same, which counts requests and refuses none.
    #[must_use]
    pub fn in_dry_run(self) -> Self {
        Self { is_dry_run: true, ..self }
    }

    /// The same, whose keys are in this table, which has the same limit.
    #[must_use]
    pub fn shared(self, table: Arc<SharedTable>) -> Self {
        Self { table: Table::Shared(table), ..self }
    }

    /// The same, which bans clients who are refused again and again. A limit in a dry run bans nobody.
    #[must_use]
    pub fn with_ban(self, rule: BanRule, bans: Bans) -> Self {
        Self { ban: Some(LimitBan::new(rule, bans)), ..self }
    }

    /// Whether requests are only counted.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.is_dry_run
    }

    /// Whether its key has claims, which are known only when the client has been identified.
    #[inline]
    pub(crate) fn needs_claims(&self) -> bool {
        self.key.parts().iter().any(|part| matches!(part, Part::Variable(variable) if variable.is_claim()))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many requests it has seen.
    #[must_use]
    pub fn counts(&self) -> &RateLimitCounts {
        &self.counts
    }

    /// How many keys were forgotten because the table was full.
    #[must_use]
    pub fn displaced(&self) -> u64 {
        match &self.table {
            Table::Own(table) => table.displaced(),
            Table::Shared(table) => table.displaced(),
        }
    }

    /// Decides about a request of this client; nothing where its key is empty: such requests are not limited, as in nginx.
    pub(crate) fn decide(
        &self,
        request: &Request,
        client: &RequestClient<'_>,
        address: Option<IpAddr>,
    ) -> Option<Limited> {
        let (key, decision) = self.table.decide(&self.limit, &self.key_of(request, client, address)?, now());
        let count = match decision {
            Decision::Allowed { wait: Duration::ZERO, .. } => &self.counts.allowed,
            Decision::Allowed { .. } => &self.counts.delayed,
            Decision::Refused { .. } => &self.counts.refused,
        };
        count.fetch_add(1, Ordering::Relaxed);
        if !decision.is_allowed() {
            self.note_refusal(address);
        }
        if let Some(note) = request.extensions.get::<RouteNote>() {
            note.add_limit(&self.name, self.status(decision));
        }
        Some(Limited { key, decision })
    }

    fn status(&self, decision: Decision) -> LimitStatus {
        match (decision, self.is_dry_run) {
            (Decision::Allowed { wait: Duration::ZERO, .. }, _) => LimitStatus::Passed,
            (Decision::Allowed { .. }, false) => LimitStatus::Delayed,
            (Decision::Allowed { .. }, true) => LimitStatus::DelayedDryRun,
            (Decision::Refused { .. }, false) => LimitStatus::Rejected,
            (Decision::Refused { .. }, true) => LimitStatus::RejectedDryRun,
        }
    }

    /// How long a request waits, or if it is refused, when it may come again.
    pub(crate) fn wait(&self, limited: &Limited) -> Result<Duration, Duration> {
        match limited.decision {
            _ if self.is_dry_run => Ok(Duration::ZERO),
            Decision::Allowed { wait, .. } => Ok(wait),
            Decision::Refused { retry_after } => Err(retry_after),
        }
    }

    /// Charges the request with what its response costs, and tells the client what is left (RateLimit Fields for HTTP,
    /// draft-ietf-httpapi-ratelimit-headers-10).
    pub(crate) fn finish(&self, limited: &Limited, response: &mut Response) {
        let status = response.status.as_u16();
        if let Some((_, cost)) = self.costs.iter().find(|(statuses, _)| statuses.contains(&status))
            && limited.decision.is_allowed()
        {
            let more = i32::try_from(*cost).unwrap_or(i32::MAX) - 1;
            if more != 0 {
                self.table.charge(&self.limit, limited.key, more, now());
            }
        }
        if !self.is_dry_run {
            self.describe(limited.decision, &mut response.headers);
        }
    }

    fn describe(&self, decision: Decision, headers: &mut Headers) {
        let (remaining, reset) = match decision {
            Decision::Allowed { remaining, reset, .. } => (remaining, reset),
            Decision::Refused { retry_after } => (0, retry_after),
        };
        put(headers, OwnName("ratelimit-policy"), &*self.policy);
        // For each request: without what formatting costs.
        let mut digits = itoa::Buffer::new();
        let mut value = SmallVec::<[u8; 64]>::new();
        value.push(b'"');
        value.extend_from_slice(self.name.as_bytes());
        value.extend_from_slice(b"\";r=");
        value.extend_from_slice(digits.format(remaining).as_bytes());
        value.extend_from_slice(b";t=");
        value.extend_from_slice(digits.format(whole_seconds(reset)).as_bytes());
        put(headers, OwnName("ratelimit"), value);
    }

    /// The key that requests which are counted together share; `None` if nothing in it has a value.
    fn key_of(&self, request: &Request, client: &RequestClient<'_>, address: Option<IpAddr>) -> Option<Vec<u8>> {
        let mut key = Vec::with_capacity(32);
        if let [Part::Variable(Variable::Named(Name::RemoteAddress))] = self.key.parts() {
            // The usual key, and the only part.
            append_client(address, &mut key);
            return Some(key);
        }
        // As the route saw it: other spellings of a path are no way around its limit.
        let mut room = Room::new();
        let path = clean_path::of_routed(&request.target, &mut room);
        let source = Source { client: Some(client), ..Source::of(request, path) };
        let mut is_empty = true;
        for part in self.key.parts() {
            let start = key.len();
            match part {
                Part::Text(text) => key.extend_from_slice(text.as_bytes()),
                Part::Variable(Variable::Named(Name::RemoteAddress)) => {
                    append_client(address, &mut key);
                    // Clients without an address, at a unix socket, are limited together.
                    is_empty = false;
                }
                Part::Variable(variable) => {
                    variable.append(&source, &mut key);
                }
            }
            is_empty &= key.len() == start;
            // Not in any value that a client can send.
            key.push(b'\n');
        }
        (!is_empty).then_some(key)
    }

    /// Counts what a client may be banned for, and logs that requests are refused, at most once in a minute.
    #[cold]
    fn note_refusal(&self, client: Option<IpAddr>) {
        if let (Some(ban), Some(client), false) = (&self.ban, client, self.is_dry_run) {
            ban.note(client, &self.name);
        }
        if !self.warning.is_due() {
            return;
        }
        let refused = self.counts.refused.load(Ordering::Relaxed);
        let what = if self.is_dry_run { "would be refused (dry-run)" } else { "are refused" };
        tracing::warn!("limit {}: requests {what}, {refused} so far", self.name);
    }
}

impl Table {
    fn decide(&self, limit: &Limit, key: &[u8], now: u64) -> (TableKey, Decision) {
        match self {
            Self::Own(table) => {
                let key = table.key(key);
                (TableKey::Own(key), table.decide(limit, key, 1, now))
            }
            Self::Shared(table) => {
                let (key, decision) = table.decide(key, 1, now);
                (TableKey::Shared(key), decision)
            }
        }
    }

    fn charge(&self, limit: &Limit, key: TableKey, cost: i32, now: u64) {
        match (self, key) {
            (Self::Own(table), TableKey::Own(key)) => table.charge(limit, key, cost, now),
            (Self::Shared(table), TableKey::Shared(key)) => table.charge(key, cost, now),
            // A key of another table.
            (Self::Own(_), TableKey::Shared(_)) | (Self::Shared(_), TableKey::Own(_)) => {}
        }
    }
}

/// The name of a field that HTTP does not know, which need not be looked for among those that it knows.
struct OwnName(&'static str);

impl FieldName for OwnName {
    fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    fn known(&self) -> Option<KnownHeader> {
        None
    }
}

/// Addresses of IPv6 by their network: a client has all of it.
fn append_client(client: Option<IpAddr>, key: &mut Vec<u8>) {
    match client.map(|client| client.to_canonical()) {
        Some(IpAddr::V4(address)) => key.extend_from_slice(&address.octets()),
        Some(IpAddr::V6(address)) => key.extend_from_slice(&address.octets()[..8]),
        None => {}
    }
}

/// Appends a field whose value this file made.
fn put(headers: &mut Headers, name: OwnName, value: impl AsRef<[u8]>) {
    let appended = headers.append(name, value);
    debug_assert!(appended.is_ok(), "{appended:?}");
}

/// In seconds, rounded up.
pub(crate) fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use serow_message::TrustedProxies;
    use serow_variables::Scope;

    use super::*;

    fn key_of(key: &str, client: Option<&str>) -> Vec<u8> {
        key_of_request(key, &Request::get("/a?b"), client).unwrap()
    }

    fn key_of_request(key: &str, request: &Request, client: Option<&str>) -> Option<Vec<u8>> {
        let text = Text::parse(key, &Scope::default()).unwrap();
        let limit = RateLimit::new("a", Limit::new("1/s".parse().unwrap()), text, 10);
        let address = client.map(|client| client.parse().unwrap());
        limit.key_of(request, &RequestClient::new(&TrustedProxies::default()), address)
    }

    #[test]
    fn all_spellings_of_a_path_and_a_host_have_one_key() {
        let with_host = |target: &'static str, host: &str| {
            let mut request = Request::get(target);
            request.headers.insert(KnownHeader::Host, host).unwrap();
            key_of_request("$remote_addr$uri$host", &request, Some("192.0.2.1"))
        };
        let expected = with_host("/login", "a.example");
        for target in
            ["/%6cogin", "/l%6Fgin", "//login", "///login", "/./login", "/x/../login", "/login?x", "/%2flogin"]
        {
            assert_eq!(with_host(target, "a.example"), expected, "{target}");
        }
        for host in ["A.example", "a.example.", "a.example:80", "A.EXAMPLE.:81"] {
            assert_eq!(with_host("/login", host), expected, "{host}");
        }
        assert_ne!(with_host("/Login", "a.example"), expected);
        assert_ne!(with_host("/login/", "a.example"), expected);
    }

    #[test]
    fn requests_whose_key_is_empty_are_not_limited() {
        let (plain, mut with_field) = (Request::get("/"), Request::get("/"));
        with_field.headers.insert("x-api-key", "1").unwrap();
        for (key, request, is_limited) in [
            ("$http_x_api_key", &plain, false),
            ("$http_x_api_key$cookie_a", &plain, false),
            ("$http_x_api_key", &with_field, true),
            ("$cookie_a$http_x_api_key", &with_field, true),
            ("all", &plain, true),
            // At a unix socket.
            ("$remote_addr", &plain, true),
            ("$remote_addr$http_x_api_key", &plain, true),
        ] {
            assert_eq!(key_of_request(key, request, None).is_some(), is_limited, "{key}");
        }
    }

    #[test]
    fn clients_share_a_key_by_their_networks() {
        for (first, second, expected) in [
            (Some("192.0.2.1"), Some("192.0.2.1"), true),
            (Some("192.0.2.1"), Some("::ffff:192.0.2.1"), true),
            (Some("192.0.2.1"), Some("192.0.2.2"), false),
            (Some("2001:db8:0:1::1"), Some("2001:db8:0:1:ffff::"), true),
            (Some("2001:db8:0:1::1"), Some("2001:db8:0:2::1"), false),
            (Some("192.0.2.1"), None, false),
            (None, None, true),
        ] {
            let is_equal = key_of("$remote_addr", first) == key_of("$remote_addr", second);
            assert_eq!(is_equal, expected, "{first:?} {second:?}");
        }
        assert_ne!(key_of("$remote_addr$uri", None), key_of("$remote_addr", None));
    }

    #[test]
    fn refusals_and_costs_are_counted_and_described() {
        let text = Text::parse("$remote_addr", &Scope::default()).unwrap();
        let limit = Limit::new("1/h".parse().unwrap()).with_burst(4);
        let limit = RateLimit::new("logins", limit, text, 10).with_costs(vec![(401..=401, 3), (200..=299, 0)]);
        let request = Request::get("/");
        let ask = |status: u16| {
            let limited = limit.decide(&request, &RequestClient::new(&TrustedProxies::default()), None).unwrap();
            if limit.wait(&limited).is_err() {
                return None;
            }
            let mut response = Response::new(status.try_into().unwrap());
            limit.finish(&limited, &mut response);
            Some(response.headers.get_str("ratelimit").unwrap().to_owned())
        };
        assert_eq!(ask(200).as_deref(), Some("\"logins\";r=4;t=3600"));
        assert_eq!(ask(401).as_deref(), Some("\"logins\";r=4;t=3600"));
        let third = ask(404).unwrap();
        assert!(third.starts_with("\"logins\";r=1;t=14"), "{third}");
        assert!(ask(404).is_some());
        assert_eq!(ask(404), None);
        assert_eq!(limit.counts().refused.load(Ordering::Relaxed), 1);
    }
}
