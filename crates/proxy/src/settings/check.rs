//! Settings of active health checks.

use std::time::Duration;

/// How servers are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSettings {
    /// The kind of check.
    pub kind: CheckKind,
    /// From one check to the next; 5 s. Each is up to a tenth earlier or later, so that many proxies do not check at
    /// once.
    pub interval: Duration,
    /// The time limit of a check; 1 s.
    pub timeout: Duration,
    /// Consecutive successes before a server is marked up; 2.
    pub rise: u32,
    /// Consecutive failures before a server is marked down; 3.
    pub fall: u32,
    /// The state of servers before their first checks.
    pub start: CheckStart,
    /// Another port than the one for requests. Unix sockets have none.
    pub port: Option<u16>,
}

/// The kind of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckKind {
    /// Opens a connection, TLS included.
    Tcp,
    /// Sends a request, and looks at the response.
    Http(HttpCheck),
    /// Asks `grpc.health.v1.Health` for this service.
    Grpc(String),
}

/// A check over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpCheck {
    /// The path of a GET.
    pub path: String,
    /// The value of `Host`; the server's own by default.
    pub host: Option<String>,
    /// The complete request, sent over a connection of its own, instead of the GET.
    pub send: Option<String>,
    /// The statuses that pass; 200 to 399.
    pub expect: Vec<std::ops::RangeInclusive<u16>>,
    /// A text that the first 64 KiB of the body must contain.
    pub body: Option<String>,
    /// A required header field, with its value if one is given.
    pub header: Option<(String, Option<String>)>,
}

/// The state of servers before their first checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckStart {
    /// Good.
    #[default]
    Up,
    /// Out of rotation until checks pass.
    Down,
}

impl CheckSettings {
    /// Checks of this kind, with default settings.
    #[must_use]
    pub fn new(kind: CheckKind) -> Self {
        Self {
            kind,
            interval: Duration::from_secs(5),
            timeout: Duration::from_secs(1),
            rise: 2,
            fall: 3,
            start: CheckStart::Up,
            port: None,
        }
    }
}

impl CheckKind {
    /// Its name in reports: `tcp`, `http` or `grpc`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Http(_) => "http",
            Self::Grpc(_) => "grpc",
        }
    }
}

impl Default for HttpCheck {
    fn default() -> Self {
        Self { path: "/".to_owned(), host: None, send: None, expect: vec![200..=399], body: None, header: None }
    }
}
