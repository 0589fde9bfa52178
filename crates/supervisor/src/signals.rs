//! The signals that mean something to a supervisor.

use std::io;

use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};

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

/// From now on, none of the signals that end or reload a server does anything to this process: they are for its parent, and
/// whoever sends them to a whole group (a terminal, systemd, killall) sends them here too.
pub(crate) fn leave_to_parent() -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let _context = runtime.enter();
    for kind in [SignalKind::hangup(), SignalKind::terminate(), SignalKind::interrupt(), SignalKind::quit()] {
        // The handler stays when this is dropped (tokio::signal::unix::Signal).
        drop(signal(kind)?);
    }
    Ok(())
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
