//! A descriptor that the event loop gets to know when it is first waited for.

use std::{
    cell::OnceCell,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
};

use tokio::io::{Interest, unix::AsyncFd};

/// A descriptor, and its registration with the tokio runtime of the thread that first waited for it.
#[derive(Debug)]
pub(super) struct EventSource {
    /// Stands before the descriptor because fields are dropped in order: the registration ends while that is open.
    registration: OnceCell<AsyncFd<Number>>,
    descriptor: OwnedFd,
}

/// The number of a descriptor that another field owns.
#[derive(Debug)]
pub(super) struct Number(RawFd);

impl EventSource {
    pub(super) fn new(descriptor: OwnedFd) -> Self {
        Self { registration: OnceCell::new(), descriptor }
    }

    #[inline]
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// The registration with the event loop, which tells of readiness; made by the first call.
    ///
    /// # Errors
    ///
    /// When epoll takes no more descriptors (epoll_ctl(2)).
    ///
    /// # Panics
    ///
    /// The first call, outside a tokio runtime with I/O enabled.
    #[inline]
    pub(super) fn registered(&self) -> io::Result<&AsyncFd<Number>> {
        match self.registration.get() {
            Some(registration) => Ok(registration),
            None => self.register(),
        }
    }

    #[inline(never)]
    fn register(&self) -> io::Result<&AsyncFd<Number>> {
        let (number, interest) = (Number(self.descriptor.as_raw_fd()), Interest::READABLE | Interest::WRITABLE);
        // SAFETY: the descriptor is a private field that nothing ever replaces, and it is dropped after the registration: it
        // is the same one, open, for as long as the `AsyncFd` lives.
        let registration = unsafe { AsyncFd::register_with_interest(number, interest) }?;
        Ok(self.registration.get_or_init(|| registration))
    }

    /// Whether the event loop has noted something to receive that was not received yet.
    #[inline]
    pub(super) fn is_noted_readable(&self) -> bool {
        // The call is made where readiness is noted, and leaves it so.
        let is_readable = |registration: &AsyncFd<Number>| registration.try_io(Interest::READABLE, |_| Ok(())).is_ok();
        self.registration.get().is_some_and(is_readable)
    }
}

impl AsRawFd for Number {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}
