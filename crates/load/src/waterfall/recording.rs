//! The moments at which resources arrived.

use std::time::{Duration, SystemTime};

use http::Version;
use serow_client::Origin;
use serow_message::Priority;

use super::{ResourceSpec, Signals};

/// A record of when each resource arrived. Moments count from the beginning, when the connection was open and the
/// resources without a delay were requested.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The server, as the URLs name it.
    pub origin: Origin,
    /// The socket the connection went to, where that is not what the URLs say: `unix:/run/app.sock`.
    pub socket: Option<String>,
    /// The version of HTTP.
    pub version: Version,
    /// The signals of priorities.
    pub signals: Signals,
    /// How long the connection took to open, without TLS; over QUIC, with it.
    pub connecting: Duration,
    /// How long TLS took after that, where it was something of its own.
    pub handshake: Option<Duration>,
    /// The version of TLS and the cipher suite, where there was TLS.
    pub encryption: Option<String>,
    /// The beginning, as the wall clock had it.
    pub began: SystemTime,
    /// The beginning, as the clock of packet traces has it (`CLOCK_MONOTONIC`).
    pub clock: Duration,
    /// In the order of the specs.
    pub resources: Vec<Resource>,
    /// From the beginning to the end.
    pub elapsed: Duration,
    /// How it ended.
    pub ending: Ending,
}

/// The result of a resource.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The spec that it was requested by.
    pub spec: ResourceSpec,
    /// When it was asked for.
    pub asked: Option<Duration>,
    /// Bytes that had been sent on the connection when the request had been, encryption included.
    pub sent: Option<u64>,
    /// When the head of the response had come.
    pub head: Option<Duration>,
    /// Its status.
    pub status: Option<u16>,
    /// The body, as it came.
    pub pieces: Vec<Piece>,
    /// The later priorities, each with its time.
    pub changes: Vec<(Duration, Priority)>,
    /// When there was nothing more to come.
    pub end: Option<Duration>,
    /// Whether it came whole, or how it ended.
    pub outcome: Outcome,
}

/// A piece of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// When it could be used.
    pub moment: Duration,
    /// Its length.
    pub bytes: u64,
    /// Bytes that had been received on the connection before it, or before the record of TLS it came in, encryption
    /// included: where to look for it in a packet trace.
    pub place: u64,
}

/// The result of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was not asked for: the connection ended before.
    Unasked,
    /// The connection ended before all of it had come.
    Incomplete,
    /// All of it came.
    Whole,
    /// The server cut it off, or made a mistake within it: the error code.
    Reset(String),
    /// The server took no more requests when it was due.
    Refused,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing more was to come.
    Complete,
    /// Nothing came for so long.
    Silence(Duration),
    /// The connection broke, and how.
    Broken(String),
    /// Somebody stopped it.
    Interrupted,
}

impl Recording {
    /// How many of the resources did not come whole.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.resources.iter().filter(|resource| resource.outcome != Outcome::Whole).count()
    }

    /// Bytes of all bodies.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.resources.iter().map(Resource::bytes).sum()
    }
}

impl Resource {
    /// Nothing came of it so far.
    #[must_use]
    pub fn new(spec: ResourceSpec) -> Self {
        Self {
            spec,
            asked: None,
            sent: None,
            head: None,
            status: None,
            pieces: Vec::new(),
            changes: Vec::new(),
            end: None,
            outcome: Outcome::Unasked,
        }
    }

    /// Bytes of its body that came.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.bytes).sum()
    }

    /// From when to when it was in flight, where it was.
    pub(super) fn span(&self, elapsed: Duration) -> Option<(Duration, Duration)> {
        Some((self.asked?, self.end.unwrap_or(elapsed)))
    }

    /// The priorities over time: that of the request, and later ones.
    pub(super) fn urgencies(&self) -> impl Iterator<Item = (Duration, u8)> {
        let first = self.spec.priority.unwrap_or_default().urgency;
        let changes = self.changes.iter().map(|(moment, priority)| (*moment, priority.urgency));
        [(Duration::ZERO, first)].into_iter().chain(changes)
    }
}
