//! How a process ended.

use std::fmt;

use rustix::process::WaitStatus;

/// How a process ended (waitpid(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It has done what it was to do: exit status 0.
    Done,
    /// By itself, with this exit status.
    Status(i32),
    /// By this signal.
    Signal(i32),
    /// The kernel says something else.
    Unknown(i32),
}

impl From<WaitStatus> for Ending {
    fn from(status: WaitStatus) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(0), _) => Self::Done,
            (Some(code), _) => Self::Status(code),
            (_, Some(signal)) => Self::Signal(signal),
            _ => Self::Unknown(status.as_raw()),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => formatter.write_str("exit status 0"),
            Self::Status(code) => write!(formatter, "exit status {code}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
            Self::Unknown(status) => write!(formatter, "wait status {status}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::{Pid, WaitOptions, waitpid};

    use super::*;

    #[test]
    #[allow(clippy::zombie_processes, reason = "waitpid waits for it")]
    fn endings_of_processes_are_told_apart() {
        for (script, expected, text) in [
            ("exit 0", Ending::Done, "exit status 0"),
            ("exit 7", Ending::Status(7), "exit status 7"),
            ("kill -9 $$", Ending::Signal(9), "signal 9"),
        ] {
            let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            let (_, status) = waitpid(Some(Pid::from_child(&child)), WaitOptions::empty()).unwrap().unwrap();
            let ending = Ending::from(status);
            assert_eq!((ending, ending.to_string().as_str()), (expected, text), "{script}");
        }
    }
}
