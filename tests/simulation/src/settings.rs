//! Random settings of the server.

use std::time::Duration;

use serow_net::simulated::Link;

use crate::random::Random;

/// The settings of the server, as far as the judgement depends on them.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) head_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) body_timeout: Duration,
    pub(crate) grace: Duration,
    pub(crate) response_timeout: Duration,
    pub(crate) transfer_timeout: Duration,
    pub(crate) total_timeout: Option<Duration>,
    pub(crate) keep_idle: usize,
    pub(crate) keep_idle_timeout: Duration,
    pub(crate) tries: usize,
    pub(crate) retries_statuses: bool,
    pub(crate) max_body: usize,
    /// Servers behind the proxy.
    pub(crate) servers: usize,
    /// Requests that each gets at a time.
    pub(crate) max_requests: Option<usize>,
    pub(crate) balance: &'static str,
    /// Whether the first one refuses connections.
    pub(crate) refusing: bool,
    /// Failures in a row after which a server is ejected.
    pub(crate) max_failures: Option<usize>,
    /// The link to the servers.
    pub(crate) link: Link,
    pub(crate) max_connections: Option<usize>,
    /// How long servers keep idle connections.
    pub(crate) server_idle: Option<Duration>,
}

impl Settings {
    pub(crate) fn random(random: &mut Random) -> Self {
        Self {
            head_timeout: random.milliseconds(1_000, 3_900),
            idle_timeout: random.milliseconds(1_000, 6_000),
            body_timeout: random.milliseconds(1_000, 3_900),
            grace: random.milliseconds(1_000, 10_000),
            response_timeout: random.milliseconds(1_000, 5_000),
            transfer_timeout: random.milliseconds(1_000, 5_000),
            total_timeout: random.once_in(8).then(|| random.milliseconds(20_000, 30_000)),
            keep_idle: random.of(&[0, 1, 2, 64]),
            keep_idle_timeout: random.milliseconds(50, 2_000),
            tries: random.of(&[1, 2, 3, 3, 5]),
            retries_statuses: random.once_in(4),
            max_body: random.of(&[100, 4_000, 100_000, 10_000_000]),
            servers: random.of(&[1, 2, 3]),
            max_requests: random.once_in(4).then(|| random.of(&[1, 2, 5])),
            balance: random.of(&["round-robin", "least-requests", "hash"]),
            refusing: random.once_in(6),
            max_failures: random.once_in(6).then(|| random.of(&[1, 3])),
            link: Link {
                delay: if random.once_in(3) { random.milliseconds(0, 10) } else { Duration::ZERO },
                rate: None,
                capacity: random.of(&[20_000, 200_000, 4 << 20]),
                pieces: random.once_in(2).then(|| random.next()),
            },
            max_connections: random.once_in(8).then(|| random.of(&[2, 5, 10])),
            server_idle: random.once_in(3).then(|| random.milliseconds(20, 1_000)),
        }
    }

    /// The longest of the timeouts.
    pub(crate) fn longest_timeout(&self) -> Duration {
        let times = [
            self.head_timeout,
            self.idle_timeout,
            self.body_timeout,
            self.response_timeout * u32::try_from(self.tries).unwrap_or(1),
            self.transfer_timeout,
            self.keep_idle_timeout,
        ];
        times.into_iter().sum::<Duration>() + Duration::from_secs(1)
    }

    /// The servers' ports.
    pub(crate) fn ports(&self) -> impl Iterator<Item = u16> + use<> {
        (FIRST_PORT..).take(self.servers)
    }

    /// The settings file.
    pub(crate) fn text(&self) -> String {
        let most = self.max_requests.map_or(String::new(), |most| format!(",max={most}"));
        let servers: Vec<_> = self.ports().map(|port| format!("\"127.0.0.1:{port}{most}\"")).collect();
        let connections = self.max_connections.map_or(String::new(), |most| format!("max-connections = {most}\n"));
        let total = self.total_timeout.map_or(String::new(), |total| format!("total-timeout = \"{}\"\n", time(total)));
        let hash_key = if self.balance == "hash" { "hash-key = \"target\"\n" } else { "" };
        let statuses = if self.retries_statuses { ", \"503\"" } else { "" };
        format!(
            r#"listen = "127.0.0.1:0"
sandbox = "off"
log-level = "off"
head-timeout = "{}"
idle-timeout = "{}"
body-timeout = "{}"
grace = "{}"
max-body = "{}"
{connections}[cache]
memory = "4M"
[[upstream]]
name = "servers"
servers = [{}]
balance = "{}"
{hash_key}response-timeout = "{}"
transfer-timeout = "{}"
{total}keep-idle = {}
keep-idle-timeout = "{}"
tries = {}
retry-on = ["connect", "timeout", "broken"{statuses}]
retry-budget = 1000
max-failures = {}
queue-timeout = "60s"
[[site]]
[[site.route]]
path = "/p/*"
proxy = {{ upstream = "servers", buffer-responses = "off" }}
[[site.route]]
path = "/b/*"
proxy = {{ upstream = "servers", buffer-requests = true }}
[[site.route]]
path = "/c/*"
cache = true
proxy = {{ upstream = "servers", buffer-responses = "off" }}
[[site.route]]
path = "/r/*"
respond = {{ status = 200, body = "{RESPONDED}" }}
[[site.route]]
path = "/d/*"
deny = ["0.0.0.0/0"]
proxy = {{ upstream = "servers", buffer-responses = "off" }}
"#,
            time(self.head_timeout),
            time(self.idle_timeout),
            time(self.body_timeout),
            time(self.grace),
            self.max_body,
            servers.join(", "),
            self.balance,
            time(self.response_timeout),
            time(self.transfer_timeout),
            self.keep_idle,
            time(self.keep_idle_timeout),
            self.tries,
            self.max_failures.unwrap_or(0),
        )
    }
}

fn time(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

/// The body of the router's own responses.
pub(crate) const RESPONDED: &str = "responded";

/// The port of the first server.
const FIRST_PORT: u16 = 9_001;
