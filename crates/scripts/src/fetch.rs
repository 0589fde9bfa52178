//! Requests of scripts to other servers.

use std::{fmt, pin::Pin, time::Duration};

use bytes::Bytes;
use serow_message::{Headers, Method, Response};

/// A request to another server.
#[derive(Debug)]
pub struct FetchRequest {
    /// A URL, or the name of an upstream with a path behind it: `backend/status`.
    pub url: String,
    /// The method.
    pub method: Method,
    /// The header fields.
    pub headers: Headers,
    /// The body.
    pub body: Bytes,
    /// How long it may take, with the body of the response.
    pub timeout: Duration,
    /// Bytes that the body of the response may have.
    pub max_body: usize,
    /// Through how many scripts the request came that the script has, by [`DEPTH_FIELD`].
    pub depth: u32,
}

/// Why a request to another server failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchFailure(pub String);

impl fmt::Display for FetchFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for FetchFailure {}

/// The future of the response of another server; 502 or 504 if it is down.
pub type Fetched = Pin<Box<dyn Future<Output = Response>>>;

/// Asks other servers for scripts.
pub trait Fetch: Send + Sync {
    /// Sends a request, and returns the response when its head has arrived.
    ///
    /// # Errors
    ///
    /// The request cannot be sent, because of what is written in it.
    fn fetch(&self, request: FetchRequest) -> Result<Fetched, FetchFailure>;
}

/// Asks no server.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFetch;

impl Fetch for NoFetch {
    fn fetch(&self, _: FetchRequest) -> Result<Fetched, FetchFailure> {
        Err(FetchFailure("there is no other server here".to_owned()))
    }
}

/// The header field that counts through how many scripts a request has come: a script that asks its own server would do
/// so without end.
pub const DEPTH_FIELD: &str = "serow-script-depth";
