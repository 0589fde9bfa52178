//! Active checks: whether servers answer.
//!
//! | what | file |
//! | --- | --- |
//! | what checks come to, as a state machine | `health/verdict.rs` |
//! | one check, and why it failed | `health/check.rs`, `health/failure.rs` |
//! | a request over HTTP, and what is looked at of its response | `health/http.rs`, `health/expectation.rs` |
//! | `grpc.health.v1` | `health/grpc.rs` |
//! | checking a server again and again | `health/checking.rs` |

mod check;
mod checking;
mod expectation;
mod failure;
mod grpc;
mod http;
mod verdict;

use std::{
    rc::Rc,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serow_client::Buffers;
use serow_net::{Clock, Moment};

use self::verdict::Verdict;
pub(crate) use self::{
    checking::check_servers,
    verdict::{Change, Standing},
};
use crate::{
    settings::ServerSettings,
    upstream::{Upstream, known_destination},
};

/// How servers are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSettings {
    /// What is done.
    pub kind: CheckKind,
    /// From one check to the next; 5 s. Each is up to a tenth earlier or later, so that many proxies do not check at once.
    pub interval: Duration,
    /// How long a check may take; 1 s.
    pub timeout: Duration,
    /// Good checks in a row after which a server that was down is up; 2.
    pub rise: u32,
    /// Failed checks in a row after which a server that was up is down; 3.
    pub fall: u32,
    /// What servers are before they were checked.
    pub start: CheckStart,
    /// Another port than the one for requests. Unix sockets have none.
    pub port: Option<u16>,
}

/// What a check does.
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
    /// The host that is asked for; the server's own where there is none.
    pub host: Option<String>,
    /// The whole request as it is sent, over a connection of its own, instead of the GET.
    pub send: Option<String>,
    /// Which statuses are good; 200 to 399.
    pub expect: Vec<std::ops::RangeInclusive<u16>>,
    /// What the body must contain within its first 64 KiB.
    pub body: Option<String>,
    /// A header field that must be there, with its value where one is given.
    pub header: Option<(String, Option<String>)>,
}

/// What servers are before they were checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckStart {
    /// Good.
    #[default]
    Up,
    /// Not asked until checks were good.
    Down,
}

impl CheckSettings {
    /// Checks of this kind, and for all else what is usual.
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
    /// How it is called in reports: `tcp`, `http` or `grpc`.
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

impl Upstream {
    /// Checks a server once that need not be one of this upstream's, as one of its servers would be.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for people.
    pub async fn check_once(&self, server: &ServerSettings, settings: &CheckSettings) -> Result<(), String> {
        let destination = known_destination(server).ok_or("a name has to be looked up before")?;
        let server = self.new_server(server.clone(), destination);
        let checked = check::check(&server, self.settings(), settings, &Rc::<Buffers>::default()).await;
        checked.map_err(|failure| failure.to_string())
    }
}

/// What the checks say of a server; read by all threads.
#[derive(Debug)]
pub(crate) struct Health {
    up: AtomicBool,
    record: Mutex<Record>,
}

#[derive(Debug)]
struct Record {
    verdict: Verdict,
    /// Why the latest check failed that did.
    failure: Option<String>,
}

/// What the checks say of a server, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HealthReport {
    pub(crate) standing: Standing,
    pub(crate) since: Moment,
    pub(crate) rise: u32,
    pub(crate) fall: u32,
    pub(crate) failure: Option<String>,
}

impl Health {
    pub(crate) fn new(check: Option<&CheckSettings>) -> Self {
        let start = check.map_or(CheckStart::Up, |check| check.start);
        let verdict = Verdict::new(start, Clock::new().now());
        Self { up: AtomicBool::new(start == CheckStart::Up), record: Mutex::new(Record { verdict, failure: None }) }
    }

    /// Whether the checks found it good, or there are none.
    #[inline]
    pub(crate) fn is_up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    /// A check came to this; a failure is told in words.
    pub(crate) fn note(&self, result: Result<(), String>, settings: &CheckSettings, now: Moment) -> Option<Change> {
        let mut record = self.record();
        let change = match result {
            Ok(()) => record.verdict.note_good(settings, now),
            Err(failure) => {
                record.failure = Some(failure);
                record.verdict.note_failed(settings, now)
            }
        };
        self.up.store(record.verdict.standing() == Standing::Up, Ordering::Relaxed);
        change
    }

    pub(crate) fn report(&self) -> HealthReport {
        let record = self.record();
        let verdict = record.verdict;
        HealthReport {
            standing: verdict.standing(),
            since: verdict.since(),
            rise: verdict.rise(),
            fall: verdict.fall(),
            failure: record.failure.clone(),
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
