//! Requests to a running master, from any thread.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::{driver::changes::ChangeAnswer, messages::beginning, server_generations::GenerationStage};

/// A handle that sends requests to a master; see [`run`](super::run).
#[derive(Clone, Debug)]
pub struct Control {
    requests: mpsc::Sender<Request>,
}

/// A request, and the channel of its answer.
#[derive(Debug)]
pub(super) enum Request {
    Reload { process: WantedProcess, answer: oneshot::Sender<Result<Reloaded, String>> },
    Report(oneshot::Sender<Report>),
    Change { change: Value, answer: ChangeAnswer },
    Command { command: Value, persist: bool, answer: oneshot::Sender<Result<String, String>> },
    Stop,
}

/// The process that is to serve after a reload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WantedProcess {
    /// The one that serves, if it can adopt the settings.
    #[default]
    IfNeeded,
    /// A new one in any case.
    New,
}

/// The outcome of a reload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloaded {
    /// The number of the generation that serves.
    pub number: u64,
    /// Its process.
    pub process: ProcessOfReload,
    /// The number of a generation before it that may still accept connections, since it does not answer.
    pub still_accepts: Option<u64>,
}

/// The process that serves after a reload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessOfReload {
    /// The one that served before: it has adopted the settings.
    Same,
    /// A new one.
    New {
        /// Why the one that served before did not adopt the settings; `None` if a new one was requested, or there was
        /// none that adopts.
        reason: Option<String>,
    },
}

/// A change of the settings that is in effect, and kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The outcome of the reload that it took.
    pub reloaded: Reloaded,
    /// The answer of [`Duties::keep`](super::Duties::keep).
    pub kept: Value,
}

/// Why a change of the settings was not made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeError {
    /// [`Duties::propose`](super::Duties::propose) refused it, with this answer.
    Refused(Value),
    /// No process can serve with the settings, for this reason.
    Invalid(String),
    /// It could not be kept, for this reason.
    NotKept(String),
    /// It cannot be made at the moment, for this reason.
    NotNow(String),
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
    /// Successful reloads.
    pub reloads: u64,
    /// Those of them whose settings the serving generation adopted, without a new process.
    pub adopted: u64,
    /// Reloads that failed, after which the old settings stayed in effect.
    pub failed_reloads: u64,
    /// Generations that ended unexpectedly.
    pub crashes: u64,
    /// Why the last reload failed, or the last generation could not start; `None` after one that succeeded.
    pub last_failure: Option<String>,
}

impl Control {
    pub(super) fn new() -> (Self, mpsc::Receiver<Request>) {
        let (requests, receiver) = mpsc::channel(REQUESTS_AHEAD);
        (Self { requests }, receiver)
    }

    /// Has the serving generation adopt the current settings file, or starts a generation with it; returns once one serves
    /// with these settings, and no other one accepts connections.
    ///
    /// # Errors
    ///
    /// Why none can serve with them; the old settings stay in effect then.
    pub async fn reload(&self, process: WantedProcess) -> Result<Reloaded, String> {
        let (answer, answered) = oneshot::channel();
        let stopping = || "the server is stopping".to_owned();
        self.requests.send(Request::Reload { process, answer }).await.map_err(|_| stopping())?;
        answered.await.unwrap_or_else(|_| Err(stopping()))
    }

    /// Makes a change of the settings beside the file, which the master does not interpret: [`Duties`](super::Duties) does. It
    /// is in effect, and kept, when this returns.
    ///
    /// # Errors
    ///
    /// Why the change was not made; the settings are as before then.
    pub async fn change(&self, change: Value) -> Result<Changed, ChangeError> {
        let (answer, answered) = oneshot::channel();
        let stopping = || ChangeError::NotNow(STOPPING.to_owned());
        self.requests.send(Request::Change { change, answer }).await.map_err(|_| stopping())?;
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

impl ChangeError {
    /// With a reason that fits into a message.
    pub(super) fn shortened(self) -> Self {
        match self {
            Self::Invalid(reason) => Self::Invalid(beginning(&reason)),
            Self::NotKept(reason) => Self::NotKept(beginning(&reason)),
            Self::NotNow(reason) => Self::NotNow(beginning(&reason)),
            refused @ Self::Refused(_) => refused,
        }
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

/// Why a change is not made when the server ends.
pub(super) const STOPPING: &str = "the server is stopping";

/// The maximum number of queued requests.
const REQUESTS_AHEAD: usize = 32;
