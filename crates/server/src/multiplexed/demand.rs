//! How urgent a response is for the pacing of its connection.

use serow_message::Priority;
use serow_message::{Handler, Request, Response};
use serow_pacing::Demand;
use serow_streams::StreamId;

use super::{Machine, Multiplexed};

impl<M, H, C, F> Multiplexed<M, H, C, F>
where
    M: Machine,
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// How urgent a stream's bytes are.
    pub(crate) fn demand(&self, stream: StreamId) -> Demand {
        let Priority { urgency, incremental } = self.machine.priority(stream);
        // Browsers ask for pictures that can be seen like this, and for scripts of the same urgency without `i`.
        let is_less_urgent =
            self.machine.has_said_priority(stream) && (urgency >= PATIENT || urgency == 2 && incremental);
        if is_less_urgent { Demand::LessUrgent } else { Demand::Urgent }
    }
}

/// The default urgency (RFC 9218 §4.1): a client that states it explicitly wants others to go first.
const PATIENT: u8 = 3;
