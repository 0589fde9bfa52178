//! Draining the ports that are shared with other processes, before a stopping server closes its listeners.

use std::time::Duration;

use serow_net::reuse_port::PortDrain;

use crate::{Stopper, status::Status, stop::Phase};

/// When the server is stopping: directs new connections to the other processes, and closes the sockets when the workers
/// have accepted the last. `grace` is the time that all of stopping may take, unless the caller of `stop` set another.
pub(crate) async fn leave(mut port_drain: PortDrain, stopper: &Stopper, status: &Status, grace: Duration) {
    let mut stop = stopper.watch();
    let grace = match stop.wait_for(|phase| phase.is_stopping()).await.as_deref() {
        Ok(Phase::HandingOver(_)) => return port_drain.hand_over(),
        Ok(Phase::Draining(Some(grace))) => *grace,
        // An error means that nobody can stop the server any more, so that it is over.
        Ok(Phase::Draining(None) | Phase::Running | Phase::Ended) | Err(_) => grace,
    };
    port_drain.begin(LONGEST.min(grace / 2), || status.accepted()).await;
    port_drain.finish().await;
}

/// The wait for incomplete TCP handshakes: the client's packet may be lost, and is sent again after 1 and 3 seconds
/// (RFC 6298 §5.5).
const LONGEST: Duration = Duration::from_secs(5);
