//! The deadline of a connection: how long the server waits for its peer.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use serow_net::{Clock, Deadline, Moment, deadlines::PRECISE_BELOW, monotonic};

use crate::Timeouts;

/// The deadline of a connection, and its purpose.
pub(crate) struct ConnectionDeadline {
    deadline: Deadline,
    purpose: Purpose,
}

/// The action that the peer has to take before the deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Nothing, or something that the caller checks.
    Other,
    /// Send a last request, before the connection is closed.
    DrainGrace,
    /// Finish its handshake, or move to another connection, before this one is closed.
    Linger,
    /// Nothing: the handler makes its response.
    Making,
    /// Nothing: the handler makes its response, and the peer has closed its side.
    HalfClosed,
    /// Receive a body; `moved` bytes since the deadline was set. See [`Timeouts::RENEWAL`].
    Sending { moved: usize },
    /// Send a body.
    Receiving(Receiving),
}

/// The progress of a request body since its deadline was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Receiving {
    /// The time that the peer has for the next bytes.
    time: Duration,
    moved: usize,
    /// The time already spent waiting; and since when the reader waits now, if it does.
    spent: Duration,
    since: Option<Since>,
}

/// When the reader began to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    /// By the worker's clock, which may be a tick behind: accurate enough for deadlines that are counted in ticks.
    Rough(Moment),
    /// By the kernel's clock, for deadlines with an accuracy of a millisecond.
    Precise(Duration),
}

impl ConnectionDeadline {
    pub(crate) fn new(deadline: Deadline) -> Self {
        Self { deadline, purpose: Purpose::Other }
    }

    /// The peer has this long from now.
    #[inline]
    pub(crate) fn allow(&mut self, time: Duration) {
        self.deadline.set(time);
        self.purpose = Purpose::Other;
    }

    /// The idle peer has this long from now; less if other connections wait for room.
    #[inline]
    pub(crate) fn allow_idle(&mut self, time: Duration) {
        self.deadline.set_idle(time);
        self.purpose = Purpose::Other;
    }

    /// Removes the deadline.
    #[inline]
    pub(crate) fn allow_any_time(&mut self) {
        self.deadline.clear();
        self.purpose = Purpose::Other;
    }

    /// Ready when the peer took too long; otherwise the task is woken then, and when the worker begins to drain.
    #[inline]
    pub(crate) fn poll_overdue(&self, context: &mut Context<'_>) -> Poll<()> {
        self.deadline.poll_expired(context)
    }

    /// Ready when the peer has sent nothing for a further moment, at least two of its round trips, after which the
    /// connection may be closed. The time begins with the first call.
    pub(crate) fn poll_drain_grace(
        &mut self,
        context: &mut Context<'_>,
        round_trip: impl FnOnce() -> Duration,
    ) -> Poll<()> {
        if self.purpose != Purpose::DrainGrace {
            self.deadline.set_roughly((2 * round_trip()).clamp(MIN_DRAIN_GRACE, MAX_DRAIN_GRACE));
            self.purpose = Purpose::DrainGrace;
        }
        self.poll_overdue(context)
    }

    /// Ready when a peer that knows of the shutdown had time to finish its handshake, or to move to another connection:
    /// a second, at least three probe timeouts, and not longer than `most`. The time begins with the first call.
    pub(crate) fn poll_linger(
        &mut self,
        context: &mut Context<'_>,
        round_trip: impl FnOnce() -> Duration,
        most: Duration,
    ) -> Poll<()> {
        if self.purpose != Purpose::Linger {
            let time = (PROBE_TIMEOUTS * round_trip()).clamp(MIN_LINGER, MAX_DRAIN_GRACE);
            self.deadline.set(time.min(most));
            self.purpose = Purpose::Linger;
        }
        self.poll_overdue(context)
    }

    /// The peer has begun a request after all, and has this long to finish it.
    pub(crate) fn end_drain_grace(&mut self, time: Duration) {
        if self.purpose == Purpose::DrainGrace {
            self.allow(time);
        }
    }

    /// Ready when the handler takes long to make a response or its next piece: then a check is worthwhile whether the
    /// peer is still connected. A check each time would cost quick responses one per cent.
    #[inline]
    pub(crate) fn poll_long_making(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self.purpose {
            Purpose::HalfClosed => return Poll::Ready(()),
            Purpose::Making => {}
            Purpose::Other
            | Purpose::DrainGrace
            | Purpose::Linger
            | Purpose::Sending { .. }
            | Purpose::Receiving(_) => {
                self.deadline.set_roughly(LONG_MAKING);
                self.purpose = Purpose::Making;
            }
        }
        self.poll_overdue(context)
    }

    /// Ready when the server had nothing to send for a while to a peer that has closed its side. The time begins with
    /// the first call, and again whenever something was sent ([`Self::note_sent`]).
    pub(crate) fn poll_half_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.purpose != Purpose::HalfClosed {
            self.deadline.set_roughly(HALF_CLOSED);
            self.purpose = Purpose::HalfClosed;
        }
        self.poll_overdue(context)
    }

    /// Ready when the peer, which has to receive a body, took too long. Its time begins with the first call, and again
    /// whenever it has received enough ([`Self::note_sent`]).
    pub(crate) fn poll_sending(&mut self, context: &mut Context<'_>, time: Duration) -> Poll<()> {
        if !matches!(self.purpose, Purpose::Sending { .. }) {
            self.deadline.set(time);
            self.purpose = Purpose::Sending { moved: 0 };
        }
        self.poll_overdue(context)
    }

    /// Whether the peer, which had to receive a body, took too long.
    pub(crate) fn has_waited_to_send_in_vain(&self) -> bool {
        matches!(self.purpose, Purpose::Sending { .. }) && self.deadline.is_expired()
    }

    /// The peer received this many bytes of a body.
    #[inline]
    pub(crate) fn note_sent(&mut self, bytes: usize, time: Duration) {
        match &mut self.purpose {
            Purpose::Sending { moved } => {
                *moved += bytes;
                if *moved >= Timeouts::RENEWAL {
                    *moved = 0;
                    self.deadline.set(time);
                }
            }
            Purpose::HalfClosed => self.allow_any_time(),
            Purpose::Other | Purpose::DrainGrace | Purpose::Linger | Purpose::Making | Purpose::Receiving(_) => {}
        }
    }

    /// The peer received all of the output.
    #[inline]
    pub(crate) fn note_all_sent(&mut self) {
        if let Purpose::Sending { .. } = self.purpose {
            self.allow_any_time();
        }
    }

    /// Ready when the peer, which has to send a body, took too long. Its time runs from the first call, except for the
    /// pauses ([`Self::pause`]), and begins again whenever it has sent enough ([`Self::note_received`]).
    pub(crate) fn poll_receiving(&mut self, context: &mut Context<'_>, time: Duration, clock: &Clock) -> Poll<()> {
        let receiving = match self.purpose {
            Purpose::Receiving(receiving) => receiving,
            _ => Receiving { time, moved: 0, spent: Duration::ZERO, since: None },
        };
        if receiving.since.is_none() {
            self.deadline.set(time.saturating_sub(receiving.spent));
            self.purpose = Purpose::Receiving(Receiving { since: Some(Since::now(time, clock)), ..receiving });
        }
        self.poll_overdue(context)
    }

    /// The peer sent this many bytes of a body.
    pub(crate) fn note_received(&mut self, bytes: usize, clock: &Clock) {
        if let Purpose::Receiving(receiving) = &mut self.purpose {
            receiving.moved += bytes;
            if receiving.moved >= Timeouts::RENEWAL {
                let time = receiving.time;
                let since = receiving.since.map(|_| Since::now(time, clock));
                *receiving = Receiving { time, moved: 0, spent: Duration::ZERO, since };
                self.deadline.set(time);
            }
        }
    }

    /// The handler does not wait for the body at present: that time does not count against the peer.
    pub(crate) fn pause(&mut self, clock: &Clock) {
        if let Purpose::Receiving(receiving) = &mut self.purpose {
            if let Some(since) = receiving.since.take() {
                receiving.spent += since.elapsed(clock);
            }
            self.deadline.clear();
        }
    }
}

impl Since {
    /// The current time, for a deadline of this length.
    fn now(time: Duration, clock: &Clock) -> Self {
        if time < PRECISE_BELOW { Self::Precise(monotonic()) } else { Self::Rough(clock.now()) }
    }

    fn elapsed(self, clock: &Clock) -> Duration {
        match self {
            Self::Rough(moment) => clock.now().since(moment),
            Self::Precise(moment) => monotonic().saturating_sub(moment),
        }
    }
}

/// The minimum time for which an idle connection stays open during a graceful shutdown, so that a request that is on
/// its way is answered and not lost. Covers a brief pause of a nearby client.
const MIN_DRAIN_GRACE: Duration = Duration::from_millis(100);

/// The maximum of that time, however long the round trips are: TCP's measurement of a link that was just overloaded may
/// be many times the current value. Two round trips over a geostationary satellite are 1.2 s.
const MAX_DRAIN_GRACE: Duration = Duration::from_secs(5);

/// The minimum time between the GOAWAY that names the last request of a QUIC connection and its end. A request that was on
/// its way is rejected meanwhile, so that the client knows that it may send it again (RFC 9114 §5.2), and need not guess
/// whether it was handled, as it would have to if the connection ended. Covers a client that is busy for a moment.
const MIN_LINGER: Duration = Duration::from_secs(1);

/// Three probe timeouts in round trips, after which a QUIC connection is closed while it is drained as well (RFC 9000
/// §10.2): on a steady path, one is less than two round trips (RFC 9002 §6.2.1). In a handshake, whose round trip is taken
/// for a third of a second, a lost packet is sent again meanwhile.
const PROBE_TIMEOUTS: u32 = 6;

/// One tick of the deadlines: a response made within that time is complete before a check could take place.
const LONG_MAKING: Duration = Duration::from_millis(250);

/// How long the server has nothing to send to a client that has closed its side before it considers the client
/// disconnected. Scripts that send a request through a pipe close theirs; nearly all other clients that do so have
/// closed both sides, and nginx gives up at once.
const HALF_CLOSED: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::{cell::Cell, rc::Rc, task::Waker};

    use serow_net::Deadlines;

    use super::*;

    /// So many ticks of a quarter of a second pass until a connection that is to end is given up.
    fn ticks_of_drain_grace(round_trip: Duration) -> u32 {
        let deadlines = Deadlines::new();
        let mut deadline = ConnectionDeadline::new(deadlines.register());
        let mut context = Context::from_waker(Waker::noop());
        (0..1000)
            .find(|_| {
                let parted = deadline.poll_drain_grace(&mut context, || round_trip).is_ready();
                deadlines.tick();
                parted
            })
            .expect("it is given up")
    }

    #[test]
    fn a_connection_that_is_to_end_lives_for_two_round_trips() {
        let milliseconds = Duration::from_millis;
        for (round_trip, least, most) in [(0, 100, 500), (20, 100, 500), (400, 800, 1250), (60_000, 5_000, 5_250)] {
            let time = milliseconds(250) * ticks_of_drain_grace(milliseconds(round_trip));
            // The first tick may come at once.
            assert!((milliseconds(least)..=milliseconds(most + 250)).contains(&time), "{round_trip}: {time:?}");
        }
    }

    #[test]
    fn a_connection_whose_last_request_is_named_lingers_for_a_second_or_three_probe_timeouts() {
        let milliseconds = Duration::from_millis;
        let long = 60_000;
        for (round_trip, limit, expected) in
            [(0, long, 1000), (20, long, 1000), (400, long, 2400), (long, long, 5000), (400, 300, 300)]
        {
            let now = Rc::new(Cell::new(Duration::ZERO));
            let source = Rc::clone(&now);
            let deadlines = Deadlines::with_source(move || source.get());
            let mut deadline = ConnectionDeadline::new(deadlines.register());
            let mut context = Context::from_waker(Waker::noop());
            let time = (0..1000)
                .map(|step| milliseconds(step * 10))
                .find(|time| {
                    now.set(*time);
                    deadlines.expire_precise();
                    if time.as_millis() % 250 == 0 {
                        deadlines.tick();
                    }
                    let round_trip = || milliseconds(round_trip);
                    deadline.poll_linger(&mut context, round_trip, milliseconds(limit)).is_ready()
                })
                .expect("it is closed");
            let allowed = milliseconds(expected)..=milliseconds(expected + 510);
            assert!(allowed.contains(&time), "{round_trip}: {time:?}");
        }
    }

    #[test]
    fn a_connection_that_begins_something_after_all_has_time_for_it() {
        let deadlines = Deadlines::new();
        let mut deadline = ConnectionDeadline::new(deadlines.register());
        let mut context = Context::from_waker(Waker::noop());
        assert!(deadline.poll_drain_grace(&mut context, || Duration::ZERO).is_pending());
        deadline.end_drain_grace(Duration::from_secs(10));
        for _ in 0..39 {
            deadlines.tick();
            assert!(deadline.poll_overdue(&mut context).is_pending());
        }
    }
}
