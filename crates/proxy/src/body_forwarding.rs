//! How the bodies of responses are handed over to clients, whichever version of HTTP they come in.

use std::{
    fmt::Display,
    time::{Duration, Instant},
};

use serow_gateway::RequestSummary;
use serow_message::{BodySender, IncomingError};
use tokio::time::timeout_at;

use crate::{outlier::Outcome, server::Server, thread_local_pool::ThreadLocalPool, warnings::warn_of_server};

/// How feeding ended.
pub(crate) enum ForwardingEnd {
    Complete,
    /// Nobody wants the rest.
    Abandoned,
}

/// The response cannot be finished.
pub(crate) struct CutOff {
    error: IncomingError,
    cause: String,
    blame: Blame,
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blame {
    /// The server's: a truncated response counts as a failure for ejection.
    Server,
    /// The client's as well as the server's.
    Anybody,
}

/// Feeds until then at most.
pub(crate) async fn forward_until(
    until: Option<Instant>,
    feeding: impl Future<Output = Result<ForwardingEnd, CutOff>>,
) -> Result<ForwardingEnd, CutOff> {
    match until {
        None => feeding.await,
        Some(until) => Box::pin(timeout_at(until.into(), feeding)).await.unwrap_or_else(|_| {
            let cause = "the total time limit was exceeded".to_owned();
            Err(CutOff { error: IncomingError::TimedOut, cause, blame: Blame::Anybody })
        }),
    }
}

impl CutOff {
    /// The rest cannot come.
    pub(crate) fn lost(cause: &impl Display) -> Self {
        Self { error: IncomingError::Disconnected, cause: cause.to_string(), blame: Blame::Server }
    }

    /// The server said nothing for so long.
    pub(crate) fn silent(time: Duration) -> Self {
        let cause = format!("no data for {time:?}");
        Self { error: IncomingError::TimedOut, cause, blame: Blame::Server }
    }

    /// Fails the body for the client, writes the log line and updates the server's counters.
    pub(crate) fn tell(self, sender: &BodySender, pool: &ThreadLocalPool, server: &Server, asked: &RequestSummary) {
        let upstream = &pool.upstream.settings().name;
        server.counters.cut.add(1);
        if self.blame == Blame::Server {
            pool.upstream.note_outcome(server, Outcome::Failure, pool.now());
        }
        let message = format_args!("{asked}: the response was cut off: {}", self.cause);
        warn_of_server(upstream, server, pool.now(), message);
        sender.fail(self.error);
    }
}
