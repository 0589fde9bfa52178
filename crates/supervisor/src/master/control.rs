//! Requests to a running master, from any thread.

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::server_generations::GenerationStage;

/// A handle that sends requests to a master; see [`run`](super::run).
#[derive(Clone, Debug)]
pub struct Control {
    requests: mpsc::Sender<Request>,
}

/// A request, and the channel of its answer.
#[derive(Debug)]
pub(super) enum Request {
    Reload(oneshot::Sender<Result<Reloaded, String>>),
    Report(oneshot::Sender<Report>),
    Command { command: Value, persist: bool, answer: oneshot::Sender<Result<String, String>> },
    Stop,
}

/// The outcome of a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reloaded {
    /// The number of the generation that serves.
    pub number: u64,
    /// The number of a generation before it that may still accept connections, since it does not answer.
    pub still_accepts: Option<u64>,
}

/// The status of a server and its generations.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The running generations.
    pub generations: Vec<GenerationReport>,
    /// The total of the ended generations' reports; `None` before the first has ended.
    pub ended: Option<Value>,
    /// The events so far.
    pub events: Events,
    /// The overrides that later generations get.
    pub remembered: Vec<Value>,
}

/// The status of a generation.
#[derive(Clone, Debug)]
pub struct GenerationReport {
    /// Its number; the first is 1.
    pub number: u64,
    /// Its process id.
    pub pid: u32,
    /// `starting`, `serving` or `leaving`.
    pub stage: &'static str,
    /// Its last report.
    pub report: Option<Value>,
    /// Whether it answered this request; otherwise it hangs, or has just started.
    pub answers: bool,
}

/// Events since the server started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Reloads after which another generation served.
    pub reloads: u64,
    /// Reloads that failed, after which the old generation kept serving.
    pub failed_reloads: u64,
    /// Generations that ended unexpectedly.
    pub crashes: u64,
    /// Why the last generation could not start; `None` after one that could.
    pub last_failure: Option<String>,
}

impl Control {
    pub(super) fn new() -> (Self, mpsc::Receiver<Request>) {
        let (requests, receiver) = mpsc::channel(REQUESTS_AHEAD);
        (Self { requests }, receiver)
    }

    /// Starts a generation with the current settings file; returns its number once it serves and no other one accepts
    /// connections.
    ///
    /// # Errors
    ///
    /// Why it cannot serve; the old generation keeps serving then.
    pub async fn reload(&self) -> Result<Reloaded, String> {
        let (answer, answered) = oneshot::channel();
        let stopping = || "the server is stopping".to_owned();
        self.requests.send(Request::Reload(answer)).await.map_err(|_| stopping())?;
        answered.await.unwrap_or_else(|_| Err(stopping()))
    }

    /// The status of all generations; `None` if the server is stopping.
    pub async fn report(&self) -> Option<Report> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(Request::Report(answer)).await.ok()?;
        answered.await.ok()
    }

    /// Sends a command to the serving generation and to the draining ones; returns the answer of the serving one. The
    /// master does not interpret the command. If it persists, later generations get it as well.
    ///
    /// # Errors
    ///
    /// Why the command was not executed.
    pub async fn command(&self, command: Value, persist: bool) -> Result<String, String> {
        let (answer, answered) = oneshot::channel();
        let stopping = || "the server is stopping".to_owned();
        self.requests.send(Request::Command { command, persist, answer }).await.map_err(|_| stopping())?;
        answered.await.unwrap_or_else(|_| Err(stopping()))
    }

    /// Stops the server gracefully, as TERM does. Nothing happens if it is stopping already.
    pub async fn stop(&self) {
        // A master that has ended does not need the request.
        let _ = self.requests.send(Request::Stop).await;
    }
}

impl GenerationStage {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Serving => "serving",
            Self::Draining => "leaving",
        }
    }
}

/// The maximum number of queued requests.
const REQUESTS_AHEAD: usize = 32;
