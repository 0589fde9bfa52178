//! What others ask of a running master, from any thread.

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::generations::Stage;

/// Asks a master; see [`run`](super::run).
#[derive(Clone, Debug)]
pub struct Control {
    requests: mpsc::Sender<Request>,
}

/// What is asked, and who is answered.
#[derive(Debug)]
pub(super) enum Request {
    Reload(oneshot::Sender<Result<u64, String>>),
    Report(oneshot::Sender<Report>),
    Command { command: Value, persist: bool, answer: oneshot::Sender<Result<String, String>> },
    Stop,
}

/// How a server and its generations are.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// All that run.
    pub generations: Vec<GenerationReport>,
    /// What those counted that have ended, added up; nothing before the first has.
    pub ended: Option<Value>,
    /// What happened so far.
    pub events: Events,
    /// The overrides that later generations are told.
    pub remembered: Vec<Value>,
}

/// How a generation is.
#[derive(Clone, Debug)]
pub struct GenerationReport {
    /// Its number; the first is 1.
    pub number: u64,
    /// Its process.
    pub pid: u32,
    /// `starting`, `serving` or `leaving`.
    pub stage: &'static str,
    /// What it said of itself last.
    pub report: Option<Value>,
    /// Whether it said that just now; otherwise it hangs, or has just begun.
    pub answers: bool,
}

/// What happened to a server since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Reloads after which another generation served.
    pub reloads: u64,
    /// Reloads after which all was as before.
    pub failed_reloads: u64,
    /// Generations that ended without being told to.
    pub crashes: u64,
    /// What was wrong the last time that a generation could not start; nothing after one that could.
    pub last_failure: Option<String>,
}

impl Control {
    pub(super) fn new() -> (Self, mpsc::Receiver<Request>) {
        let (requests, receiver) = mpsc::channel(REQUESTS_AHEAD);
        (Self { requests }, receiver)
    }

    /// Starts a generation with the settings as they are in the file now; gives its number once it serves.
    ///
    /// # Errors
    ///
    /// What is wrong; all is as before then.
    pub async fn reload(&self) -> Result<u64, String> {
        let (answer, answered) = oneshot::channel();
        let stopping = || "the server is stopping".to_owned();
        self.requests.send(Request::Reload(answer)).await.map_err(|_| stopping())?;
        answered.await.unwrap_or_else(|_| Err(stopping()))
    }

    /// How all generations are; nothing where the server is stopping.
    pub async fn report(&self) -> Option<Report> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(Request::Report(answer)).await.ok()?;
        answered.await.ok()
    }

    /// Has the generation that serves do what somebody overrides, and those too that leave; gives what it says of it. The master
    /// understands nothing of a command. One that is to persist is told to later generations as well.
    ///
    /// # Errors
    ///
    /// Why nothing was done.
    pub async fn command(&self, command: Value, persist: bool) -> Result<String, String> {
        let (answer, answered) = oneshot::channel();
        let stopping = || "the server is stopping".to_owned();
        self.requests.send(Request::Command { command, persist, answer }).await.map_err(|_| stopping())?;
        answered.await.unwrap_or_else(|_| Err(stopping()))
    }

    /// Stops the server gracefully, as TERM does. Nothing happens if it is stopping already.
    pub async fn stop(&self) {
        // One that has ended is ended.
        let _ = self.requests.send(Request::Stop).await;
    }
}

impl Stage {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Serving => "serving",
            Self::Draining => "leaving",
        }
    }
}

/// Who asks more has to wait.
const REQUESTS_AHEAD: usize = 32;
