//! When a request may be sent: as soon as there is a connection for it, or at planned moments.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::poll_fn,
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use serow_net::{Alarm, monotonic};
use tokio::sync::Notify;

/// When the requests of one thread may be sent. Moments are those of [`monotonic`].
pub(crate) struct Schedule {
    pace: Option<Pace>,
    /// How many may still be sent, by all threads; where that is limited.
    left: Option<Arc<AtomicU64>>,
    /// Whether requests without a planned moment are among those.
    counts: Cell<bool>,
    over: Cell<bool>,
    issued: Cell<u64>,
}

/// The moments of one thread that are planned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    /// The first.
    pub(crate) start: Duration,
    /// How many follow each second.
    pub(crate) per_second: f64,
    /// Requests that are due before this are of the warm-up.
    pub(crate) counted: Duration,
    /// Moments from here on are not planned, if there is an end.
    pub(crate) end: Option<Duration>,
}

/// Planned moments, at equal distances.
struct Pace {
    moments: Moments,
    /// Nanoseconds.
    interval: f64,
    /// The number of the next moment that nobody has reserved.
    next: Cell<u64>,
    /// The waiting tasks, in their order.
    waiting: RefCell<VecDeque<(Duration, Waker)>>,
    /// Told when somebody waits and nobody did.
    first: Notify,
}

/// Somebody's place in the schedule, where moments are planned.
#[derive(Debug, Default)]
pub(crate) struct SchedulePlace {
    reserved: Option<Duration>,
}

/// That a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permit {
    /// When it was to be sent, where that was planned.
    pub(crate) due: Option<Duration>,
    /// Whether what comes of it is counted: not in the warm-up.
    pub(crate) counts: bool,
}

impl Schedule {
    /// A request whenever somebody can send one.
    pub(crate) fn unplanned(left: Option<Arc<AtomicU64>>) -> Self {
        Self { pace: None, left, counts: Cell::new(true), over: Cell::new(false), issued: Cell::new(0) }
    }

    /// Requests at these moments.
    pub(crate) fn planned(moments: Moments, left: Option<Arc<AtomicU64>>) -> Self {
        let pace = Pace {
            moments,
            interval: 1e9 / moments.per_second,
            next: Cell::new(0),
            waiting: RefCell::default(),
            first: Notify::new(),
        };
        Self { pace: Some(pace), ..Self::unplanned(left) }
    }

    /// Ready when a request may be sent, and with `None` when no more are. `now` is called if times are planned.
    #[inline]
    pub(crate) fn poll_next(
        &self,
        context: &mut Context<'_>,
        place: &mut SchedulePlace,
        now: impl FnOnce() -> Duration,
    ) -> Poll<Option<Permit>> {
        if self.over.get() {
            return Poll::Ready(None);
        }
        let permit = match &self.pace {
            None => Permit { due: None, counts: self.counts.get() },
            Some(pace) => {
                let due = *place.reserved.get_or_insert_with(|| pace.reserve());
                if now() < due {
                    pace.wait(context, due);
                    return Poll::Pending;
                }
                if pace.moments.end.is_some_and(|end| due >= end) {
                    return Poll::Ready(None);
                }
                Permit { due: Some(due), counts: due >= pace.moments.counted }
            }
        };
        if permit.counts && !self.take() {
            self.end();
            return Poll::Ready(None);
        }
        place.reserved = None;
        self.issued.set(self.issued.get() + 1);
        Poll::Ready(Some(permit))
    }

    /// Whether there is still one to be sent; then it is one fewer.
    fn take(&self) -> bool {
        let one_fewer = |left: &Arc<AtomicU64>| {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
        };
        self.left.as_ref().is_none_or(one_fewer)
    }

    /// Whether requests without a planned moment count from now on.
    pub(crate) fn set_counts(&self, counts: bool) {
        self.counts.set(counts);
    }

    /// Ends the sending of requests, and wakes the waiting tasks.
    pub(crate) fn end(&self) {
        self.over.set(true);
        if let Some(pace) = &self.pace {
            for (_, waker) in pace.waiting.take() {
                waker.wake();
            }
        }
    }

    /// How many requests that were due before this moment have not been sent.
    pub(crate) fn unsent(&self, end: Duration) -> u64 {
        let Some(pace) = &self.pace else { return 0 };
        let due = ((end.saturating_sub(pace.moments.start)).as_nanos() as f64 / pace.interval).ceil() as u64;
        let unsent = due.saturating_sub(self.issued.get());
        match &self.left {
            Some(left) => unsent.min(left.load(Ordering::Relaxed)),
            None => unsent,
        }
    }

    /// Wakes those whose moment has come, for ever; returns at once where nothing is planned.
    ///
    /// # Errors
    ///
    /// When the process may open no more descriptors.
    pub(crate) async fn run(&self) -> io::Result<()> {
        let Some(pace) = &self.pace else { return Ok(()) };
        let alarm = Alarm::new()?;
        loop {
            let front = pace.waiting.borrow().front().map(|(due, _)| *due);
            let Some(due) = front else {
                pace.first.notified().await;
                continue;
            };
            alarm.set(due)?;
            poll_fn(|context| alarm.poll_ring(context)).await?;
            pace.wake_until(monotonic());
        }
    }
}

impl Pace {
    /// The next moment that nobody has.
    fn reserve(&self) -> Duration {
        let number = self.next.get();
        self.next.set(number + 1);
        self.moments.start + Duration::from_nanos((number as f64 * self.interval) as u64)
    }

    /// The task is woken at this moment, which it has reserved.
    fn wait(&self, context: &Context<'_>, due: Duration) {
        let mut waiting = self.waiting.borrow_mut();
        let place = waiting.partition_point(|(other, _)| *other < due);
        match waiting.get_mut(place) {
            Some((other, waker)) if *other == due => waker.clone_from(context.waker()),
            _ => waiting.insert(place, (due, context.waker().clone())),
        }
        if waiting.len() == 1 {
            self.first.notify_one();
        }
    }

    fn wake_until(&self, now: Duration) {
        loop {
            let mut waiting = self.waiting.borrow_mut();
            match waiting.front() {
                Some((due, _)) if *due <= now => {}
                _ => return,
            }
            let first = waiting.pop_front();
            drop(waiting);
            if let Some((_, waker)) = first {
                waker.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests;
