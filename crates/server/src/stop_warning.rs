//! The warning after Ctrl-C while connections are still in use: what the server waits for, and how long.

use std::time::Duration;

use crate::{Stopper, status::Status, stop::Phase};

/// When the server stops by a signal: logs half a second later how many connections are still in use, and how to end at
/// once. Logs nothing if a supervisor stops the server within a time of its own, or if the grace period is short.
pub(crate) async fn tell(stopper: &Stopper, status: &Status, grace: Duration) {
    let mut stop = stopper.watch();
    let by_signal = stop.wait_for(|phase| phase.is_stopping()).await.is_ok_and(|phase| *phase == Phase::Draining(None));
    if !by_signal || grace <= 2 * SOON {
        return;
    }
    tokio::time::sleep(SOON).await;
    let connections = status.report().connections.open;
    if connections > 0 {
        let unfinished = if connections == 1 { "connection is" } else { "connections are" };
        tracing::warn!(
            "stopping: {connections} {unfinished} still in use, closing after {grace:?}; a second signal (Ctrl-C) ends at once"
        );
    }
}

/// Most requests are finished by then, and users begin to wonder later.
const SOON: Duration = Duration::from_millis(500);
