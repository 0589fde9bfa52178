//! A request of HTTP/2, as the conduct of its client has it.

use std::time::Duration;

use bytes::Bytes;

use crate::{
    observations::now,
    plan::{Conduct, Departure, Moment, RequestPlan},
};

/// A stream that has not ended.
pub(super) struct Stream {
    pub(super) request: RequestPlan,
    pub(super) outgoing: Bytes,
    /// Bytes of the body before the client pauses, stops or leaves there.
    pub(super) stops: Vec<(usize, Stop)>,
    pub(super) sent: usize,
    /// When a pause, or the wait of a leaving client, is over.
    pub(super) wakes: Option<(Duration, Stop)>,
    pub(super) has_ended: bool,
}

/// Why a client stops sending.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    Pause(Duration),
    Forever,
    Leave(Departure),
}

impl Stream {
    pub(super) fn new(request: RequestPlan) -> Self {
        let pause = request.body.and_then(|body| body.pause);
        let mut stops: Vec<_> = pause.map(|(at, time)| (at, Stop::Pause(time))).into_iter().collect();
        let mut wakes = None;
        match request.conduct {
            Conduct::StallsInBody(bytes) => stops.push((bytes, Stop::Forever)),
            Conduct::Leaves(departure) => match departure.moment {
                Moment::InBody(bytes) => stops.push((bytes, Stop::Leave(departure))),
                Moment::Waiting(time) => wakes = Some((now() + time, Stop::Leave(departure))),
                Moment::Receiving(0) | Moment::InHead(_) => wakes = Some((now(), Stop::Leave(departure))),
                Moment::Receiving(_) => {}
            },
            _ => {}
        }
        stops.sort_by_key(|(at, _)| *at);
        let outgoing = Bytes::from(request.content());
        let has_ended = request.body.is_none_or(|body| body.length == 0 && !body.is_chunked);
        Self { request, outgoing, stops, sent: 0, wakes, has_ended }
    }

    /// Stops the client where it is to stop; whether it stops here.
    pub(super) fn reach_stop(&mut self) -> bool {
        let Some((at, stop)) = self.stops.first().copied() else { return false };
        if self.sent < at {
            return false;
        }
        self.stops.remove(0);
        let moment = match stop {
            Stop::Pause(time) => now() + time,
            Stop::Forever => Duration::MAX / 4,
            Stop::Leave(_) => now(),
        };
        self.wakes = Some((moment, stop));
        true
    }

    /// The next piece of the body, of so many bytes at most.
    pub(super) fn next_piece(&mut self, most: usize) -> Bytes {
        let until_stop = self.stops.first().map_or(usize::MAX, |(at, _)| at - self.sent);
        let piece = self.outgoing.split_to(most.min(self.outgoing.len()).min(until_stop));
        self.sent += piece.len();
        piece
    }
}
