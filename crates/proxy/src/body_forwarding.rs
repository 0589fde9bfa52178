//! Forwarding of response bodies to clients, for both versions of HTTP.

use std::{fmt::Display, time::Duration};

use serow_gateway::{BufferedSender, RequestSummary};
use serow_message::IncomingError;
use tokio::time::{Instant, timeout_at};

use crate::{outlier::Outcome, server::Server, thread_local_pool::ThreadLocalPool, warnings::warn_of_server};

/// How forwarding ended.
pub(crate) enum ForwardingEnd {
    Complete,
    /// The rest is not needed.
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

/// Forwards until then at most.
pub(crate) async fn forward_until(
    until: Option<Instant>,
    forwarding: impl Future<Output = Result<ForwardingEnd, CutOff>>,
) -> Result<ForwardingEnd, CutOff> {
    match until {
        None => forwarding.await,
        Some(until) => Box::pin(timeout_at(until, forwarding)).await.unwrap_or_else(|_| {
            let cause = "the total time limit was exceeded".to_owned();
            Err(CutOff { error: IncomingError::ResponseTimedOut, cause, blame: Blame::Anybody })
        }),
    }
}

impl CutOff {
    /// The connection was lost before the end of the body.
    pub(crate) fn lost(cause: &impl Display) -> Self {
        Self { error: IncomingError::ResponseCutOff, cause: cause.to_string(), blame: Blame::Server }
    }

    /// The server sent nothing for this time.
    pub(crate) fn silent(time: Duration) -> Self {
        let cause = format!("no data for {time:?}");
        Self { error: IncomingError::ResponseTimedOut, cause, blame: Blame::Server }
    }

    /// Fails the body for the client, writes the log line and updates the server's counters.
    pub(crate) fn report(
        self,
        sender: &mut BufferedSender,
        pool: &ThreadLocalPool,
        server: &Server,
        asked: &RequestSummary,
    ) {
        let upstream = &pool.upstream.settings().name;
        server.load.counters.cut.add(1);
        if self.blame == Blame::Server && self.error == IncomingError::ResponseTimedOut {
            server.note_overdue(pool.upstream.settings());
        }
        if self.blame == Blame::Server {
            pool.upstream.note_outcome(server, Outcome::Failure, pool.now());
        }
        let message = format_args!("{asked}: the response was cut off: {}", self.cause);
        warn_of_server(upstream, server, pool.now(), message);
        sender.fail(self.error);
    }
}
