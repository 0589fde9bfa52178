//! Pacing: how much is scheduled at a time, so that little waits in the kernel when something more urgent arrives.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use serow_net::Wire;
use serow_pacing::{DelayHistogram, Demand, Pacer, Pacing, QueueDelay};
use tokio::time::{Instant, Sleep, sleep};

/// The pacing of one connection.
pub(super) struct Pace {
    pacer: Pacer,
    began: Instant,
    /// Bytes sent that the pacer has accounted for.
    noted: u64,
    /// The delay of the unsent bytes, if there are any.
    delay: Option<Box<QueueDelay>>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Pace {
    pub(super) fn new(pacing: Pacing) -> Self {
        Self { pacer: Pacer::new(pacing), began: Instant::now(), noted: 0, delay: None, timer: None }
    }

    /// The scheduled bytes were handed to the kernel, all of them or, if its buffer was full, a part.
    pub(super) fn note_sent(&mut self, wire: &Wire, refused: bool) {
        let bytes = wire.sent() - self.noted;
        if refused && self.delay.is_none() {
            self.delay = Some(Box::default());
        }
        if bytes > 0 {
            let now = self.now();
            self.noted = wire.sent();
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            self.pacer.note_sent(bytes, now);
            if let Some(delay) = &mut self.delay {
                delay.note_sent(bytes, now);
            }
        }
    }

    /// Whether there is more to send than can be sent at present.
    pub(super) fn is_waiting(&self) -> bool {
        self.delay.is_some()
    }

    /// Waits until something may be scheduled; returns how many bytes.
    pub(super) fn poll_room(
        &mut self,
        demand: Demand,
        wire: &mut Wire,
        context: &mut Context<'_>,
        histogram: &DelayHistogram,
    ) -> Poll<io::Result<usize>> {
        for _ in 0..MAX_LOOKS {
            let now = self.now();
            if self.pacer.needs_sample(now) {
                self.sample(wire, now, histogram);
            }
            let allowance = self.pacer.allow(demand, now);
            if let Some(bytes) = allowance.low_water
                && wire.socket().set_unsent_low_water(bytes).is_err()
            {
                self.pacer = Pacer::new(Pacing::Off);
                continue;
            }
            if allowance.bytes > 0 {
                self.timer = None;
                return Poll::Ready(Ok(wire.limit_records(allowance.record, allowance.bytes)));
            }
            self.delay.get_or_insert_default();
            match allowance.retry_after {
                Some(time) => ready!(self.poll_timer(time, context)),
                None => ready!(wire.socket().poll_drained(context))?,
            }
        }
        // The kernel and the pacer do not agree on whether there is room: a moment later they will.
        ready!(self.poll_timer(SOON, context));
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Nothing is to be sent: observes the unsent bytes until the kernel has sent them.
    pub(super) fn watch_rest(&mut self, wire: &Wire, context: &mut Context<'_>, histogram: &DelayHistogram) {
        while self.delay.is_some() {
            self.sample(wire, self.now(), histogram);
            if self.delay.as_ref().is_some_and(|delay| !delay.is_waiting()) {
                self.delay = None;
                self.timer = None;
            } else if self.poll_timer(SOON, context).is_pending() {
                return;
            }
        }
    }

    /// Asks the kernel.
    fn sample(&mut self, wire: &Wire, now: u64, histogram: &DelayHistogram) {
        match wire.socket().tcp_info() {
            Ok(info) => {
                self.pacer.handle_sample(&info, now);
                if let Some(delay) = &mut self.delay {
                    delay.handle_sample(&info, now, histogram);
                }
            }
            // A unix socket: nothing is known, and there is no link to wait for.
            Err(_) => {
                self.pacer = Pacer::new(Pacing::Off);
                self.delay = None;
            }
        }
    }

    /// Ready when this time has passed since the first call.
    fn poll_timer(&mut self, time: Duration, context: &mut Context<'_>) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(time)));
        ready!(timer.as_mut().poll(context));
        self.timer = None;
        Poll::Ready(())
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// Checks of the kernel in a row: the first or the second usually finds room.
const MAX_LOOKS: usize = 4;

/// How finely the delay of the last bytes is measured, and how soon a disagreement is looked at again.
const SOON: Duration = Duration::from_millis(5);
