//! A timer with the resolution of the kernel's clock: tokio's has steps of a millisecond.

use std::{
    io,
    os::fd::OwnedFd,
    task::{Context, Poll, ready},
    time::Duration,
};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::{Interest, unix::AsyncFd};

/// A timer (timerfd_create(2)) in a tokio runtime. It rings once, at the time that was set.
#[derive(Debug)]
pub struct Alarm {
    timer: AsyncFd<OwnedFd>,
}

impl Alarm {
    /// An alarm that is not set.
    ///
    /// # Errors
    ///
    /// When the process cannot open more descriptors.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O enabled.
    pub fn new() -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        // SAFETY: the descriptor is a private field that nothing ever replaces, so it is the same one, open, for as
        // long as the `AsyncFd` lives, which owns it.
        let timer = unsafe { AsyncFd::register_with_interest(timer, Interest::READABLE) }?;
        Ok(Self { timer })
    }

    /// Rings at this moment of [`monotonic`](crate::monotonic), at once if it has passed; replaces the earlier setting.
    ///
    /// # Errors
    ///
    /// Those of timerfd_settime(2), which has none for a moment that a clock can show.
    pub fn set(&self, moment: Duration) -> io::Result<()> {
        // Zero would turn the timer off.
        let it_value = Timespec::try_from(moment.max(Duration::from_nanos(1))).map_err(io::Error::other)?;
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::ABSTIME, &once)?;
        Ok(())
    }

    /// Ready when it has rung since it was polled last.
    ///
    /// # Errors
    ///
    /// Those of read(2).
    pub fn poll_ring(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.timer.poll_read_ready(context))?;
            match rustix::io::read(guard.get_inner(), &mut [0_u8; 8]) {
                Ok(_) => return Poll::Ready(Ok(())),
                Err(rustix::io::Errno::AGAIN) => guard.clear_ready(),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::runtime;

    use super::*;
    use crate::monotonic;

    #[test]
    fn an_alarm_rings_at_its_time() {
        runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let alarm = Alarm::new().unwrap();
            let began = monotonic();
            for delay in [0, 300, 50] {
                let due = monotonic() + Duration::from_micros(delay);
                alarm.set(due).unwrap();
                poll_fn(|context| alarm.poll_ring(context)).await.unwrap();
                assert!(monotonic() >= due);
            }
            // One that has passed.
            alarm.set(began).unwrap();
            poll_fn(|context| alarm.poll_ring(context)).await.unwrap();
            let unset = poll_fn(|context| Poll::Ready(alarm.poll_ring(context).is_pending()));
            assert!(unset.await);
        });
    }
}
