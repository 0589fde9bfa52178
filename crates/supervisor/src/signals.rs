//! The signals that mean something to a supervisor.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that came, in any order; they end the process no more.
pub(crate) struct Signals {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    child: Signal,
    other: Signal,
    meaning: Caught,
}

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caught {
    /// HUP.
    Hangup,
    /// TERM, INT or QUIT, by this name.
    Stop(&'static str),
    /// A child process has ended.
    Child,
    /// ALRM.
    Alarm,
    /// USR1.
    Reopen,
}

impl Signals {
    /// From now on they end the process no more; ALRM with them. In a runtime of tokio.
    pub(crate) fn with_alarm() -> io::Result<Self> {
        Self::listen(SignalKind::alarm(), Caught::Alarm)
    }

    /// From now on they end the process no more; USR1 with them. In a runtime of tokio.
    pub(crate) fn with_reopen() -> io::Result<Self> {
        Self::listen(SignalKind::user_defined1(), Caught::Reopen)
    }

    fn listen(other: SignalKind, meaning: Caught) -> io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            child: signal(SignalKind::child())?,
            other: signal(other)?,
            meaning,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn poll(&mut self) -> Caught {
        tokio::select! {
            _ = self.terminate.recv() => Caught::Stop("TERM"),
            _ = self.interrupt.recv() => Caught::Stop("INT"),
            _ = self.quit.recv() => Caught::Stop("QUIT"),
            _ = self.hangup.recv() => Caught::Hangup,
            _ = self.other.recv() => self.meaning,
            _ = self.child.recv() => Caught::Child,
        }
    }
}
