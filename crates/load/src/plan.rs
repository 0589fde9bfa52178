//! The plan of a run.

use std::time::Duration;

use http::Version;
use serow_client::{Dialer, Origin};

use crate::{
    Batch,
    script::{Script, ScriptTarget},
};

/// The plan of a run: where it connects, the requests that it sends, and when it ends.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The server, as the URL names it.
    pub origin: Origin,
    /// How its connections are opened.
    pub dialer: Dialer,
    /// The version of HTTP: 1.1, 2 or 3. HTTP/3 needs TLS, and a server at an IP address.
    pub version: Version,
    /// The requests to send.
    pub requests: Requests,
    /// Threads, each with its own connections; at least one.
    pub threads: usize,
    /// Connections of all threads together; at least one for each.
    pub connections: usize,
    /// Requests in flight at a time on each connection (HTTP/2 and HTTP/3); at least one.
    pub streams: usize,
    /// Whether a connection is used for more than one request.
    pub keep_alive: bool,
    /// For how long requests are sent, the warm-up not included.
    pub duration: Option<Duration>,
    /// How many are sent, the warm-up not included.
    pub count: Option<u64>,
    /// How many are sent each second, where that is planned; otherwise each connection sends the next one as soon as it
    /// has its response.
    pub rate: Option<f64>,
    /// How long requests are sent before they are counted.
    pub warm_up: Duration,
    /// How long a response may take, from when the request was sent.
    pub timeout: Duration,
}

/// The requests of a run.
#[derive(Clone, Debug)]
pub enum Requests {
    /// These, each as often as its weight says; at least one.
    Fixed(Vec<(u32, Batch)>),
    /// Those that a script makes.
    Script(Script, Box<ScriptTarget>),
}
