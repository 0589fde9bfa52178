//! A timer in the simulation, with the names of `alarm.rs`.

use std::{
    cell::RefCell,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::Sleep;

use crate::time::sleep_until;

/// A timer. It rings once, at the time that was set.
#[derive(Debug, Default)]
pub struct Alarm {
    timer: RefCell<Option<Pin<Box<Sleep>>>>,
}

impl Alarm {
    /// An alarm that is not set.
    ///
    /// # Errors
    ///
    /// None.
    pub fn new() -> io::Result<Self> {
        Ok(Self::default())
    }

    /// Rings at this moment of [`monotonic`](crate::monotonic); replaces the earlier setting.
    ///
    /// # Errors
    ///
    /// None.
    pub fn set(&self, moment: Duration) -> io::Result<()> {
        self.timer.replace(Some(Box::pin(sleep_until(moment))));
        Ok(())
    }

    /// Ready when it has rung since it was polled last.
    ///
    /// # Errors
    ///
    /// None.
    pub fn poll_ring(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut timer = self.timer.borrow_mut();
        let Some(set) = timer.as_mut() else { return Poll::Pending };
        ready!(set.as_mut().poll(context));
        *timer = None;
        Poll::Ready(Ok(()))
    }
}
