//! The signals that a supervisor handles.

use std::io;

use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};

/// The received signals, in any order; they no longer end the process.
pub(crate) struct Signals {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    child: Signal,
    other: Signal,
    meaning: Caught,
}

/// A received signal.
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

/// Ignores the signals that end or reload a server: they are for the parent, and a terminal, systemd or killall sends
/// them to all processes of a group.
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
    /// Handles the signals, including ALRM, from now on. Needs a runtime of tokio.
    pub(crate) fn with_alarm() -> io::Result<Self> {
        Self::listen(SignalKind::alarm(), Caught::Alarm)
    }

    /// Handles the signals, including USR1, from now on. Needs a runtime of tokio.
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

    /// Waits for the next signal.
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
