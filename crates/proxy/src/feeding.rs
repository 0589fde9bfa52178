//! How the bodies of responses are handed over to clients, whichever version of HTTP they come in.

use std::{
    fmt::Display,
    time::{Duration, Instant},
};

use serow_message::{Feeder, IncomingError};
use tokio::time::timeout_at;

use crate::{local::Local, server::Server};

/// How feeding ended.
pub(crate) enum Fed {
    Whole,
    /// Nobody wants the rest.
    Abandoned,
}

/// The response cannot be finished.
pub(crate) struct Cut {
    error: IncomingError,
    cause: String,
}

/// Feeds until then at most.
pub(crate) async fn fed_by(
    until: Option<Instant>,
    feeding: impl Future<Output = Result<Fed, Cut>>,
) -> Result<Fed, Cut> {
    match until {
        None => feeding.await,
        Some(until) => timeout_at(until.into(), feeding).await.unwrap_or_else(|_| {
            Err(Cut { error: IncomingError::TimedOut, cause: "it took longer than all of it may".to_owned() })
        }),
    }
}

impl Cut {
    /// The rest cannot come.
    pub(crate) fn lost(cause: &impl Display) -> Self {
        Self { error: IncomingError::Disconnected, cause: cause.to_string() }
    }

    /// The server said nothing for so long.
    pub(crate) fn silent(time: Duration) -> Self {
        Self { error: IncomingError::TimedOut, cause: format!("nothing came for {time:?}") }
    }

    /// Tells the client, the log and the server's counters.
    pub(crate) fn tell(self, feeder: &Feeder, local: &Local, server: &Server) {
        let upstream = &local.upstream.settings().name;
        server.counters.cut.add(1);
        tracing::warn!(upstream, server = server.name(), "the response was cut off: {}", self.cause);
        feeder.fail(self.error);
    }
}
