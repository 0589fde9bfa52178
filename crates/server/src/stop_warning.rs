//! A word to whoever stops a server by Ctrl-C while something still runs: what is waited for, and how long.

use std::time::Duration;

use crate::{Stopper, status::Status, stop::Phase};

/// Once the server is told to stop: says what is not finished half a second later, if anything is, and how to end at once.
/// Nothing where a supervisor stops it within a time of its own, or where it is over soon anyway.
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
            "stopping: {connections} {unfinished} still in use, and cut after {grace:?}; a second signal (Ctrl-C) ends at once"
        );
    }
}

/// Most of what runs is over by then; people begin to wonder later.
const SOON: Duration = Duration::from_millis(500);
