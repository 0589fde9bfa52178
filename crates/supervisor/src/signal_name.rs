//! Signals as people write them: `TERM`, `sigusr1`, `12`.

use std::{error::Error, fmt, str::FromStr};

use rustix::process::Signal;

/// A signal by its name. Case and a leading `SIG` do not matter, and its number will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalName {
    name: String,
    signal: Signal,
}

impl SignalName {
    /// TERM.
    #[must_use]
    pub fn term() -> Self {
        Self { name: "TERM".to_owned(), signal: Signal::TERM }
    }

    /// Its name, without `SIG`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn signal(&self) -> Signal {
        self.signal
    }
}

impl FromStr for SignalName {
    type Err = SignalNameError;

    fn from_str(text: &str) -> Result<Self, SignalNameError> {
        let upper = text.to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        let is_meant = |(known, signal): &&(&str, Signal)| *known == name || signal.as_raw().to_string() == name;
        let found = SIGNALS.iter().find(is_meant).ok_or_else(|| SignalNameError(text.to_owned()))?;
        Ok(Self { name: found.0.to_owned(), signal: found.1 })
    }
}

/// A text that is no name of a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalNameError(String);

impl fmt::Display for SignalNameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} is no signal: write its name, as in TERM or USR1", self.0)
    }
}

impl Error for SignalNameError {}

/// Those of signal(7) that one process sends another.
const SIGNALS: [(&str, Signal); 24] = [
    ("HUP", Signal::HUP),
    ("INT", Signal::INT),
    ("QUIT", Signal::QUIT),
    ("ABRT", Signal::ABORT),
    ("KILL", Signal::KILL),
    ("USR1", Signal::USR1),
    ("USR2", Signal::USR2),
    ("SEGV", Signal::SEGV),
    ("PIPE", Signal::PIPE),
    ("ALRM", Signal::ALARM),
    ("TERM", Signal::TERM),
    ("CHLD", Signal::CHILD),
    ("CONT", Signal::CONT),
    ("STOP", Signal::STOP),
    ("TSTP", Signal::TSTP),
    ("TTIN", Signal::TTIN),
    ("TTOU", Signal::TTOU),
    ("URG", Signal::URG),
    ("XCPU", Signal::XCPU),
    ("VTALRM", Signal::VTALARM),
    ("PROF", Signal::PROF),
    ("WINCH", Signal::WINCH),
    ("IO", Signal::IO),
    ("SYS", Signal::SYS),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let cases = [
            ("TERM", Some("TERM")),
            ("term", Some("TERM")),
            ("SIGUSR1", Some("USR1")),
            ("sigwinch", Some("WINCH")),
            ("15", Some("TERM")),
            ("SIG", None),
            ("", None),
            ("TERMINATE", None),
            ("0", None),
        ];
        for (text, expected) in cases {
            let found = text.parse::<SignalName>();
            assert_eq!(found.as_ref().ok().map(SignalName::name), expected, "{text}");
        }
    }
}
