//! Where lines go.

use std::{error::Error, ffi::OsString, fmt, path::PathBuf, str::FromStr};

use super::syslog::{SyslogAddress, SyslogAddressError};

/// Where lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To standard output.
    StandardOutput,
    /// To standard error, among the lines of the error log. It has no text: programs read the log elsewhere.
    StandardError,
    /// To the end of a file, which is opened again on SIGUSR1.
    File(PathBuf),
    /// To the standard input of a command of the shell.
    Command(String),
    /// To a collector of logs.
    Syslog(SyslogAddress),
}

impl Destination {
    /// Where that is in the file system, if it is.
    pub fn path_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Self::File(path) => Some(path),
            Self::Syslog(address) => address.path_mut(),
            Self::StandardOutput | Self::StandardError | Self::Command(_) => None,
        }
    }
}

impl TryFrom<OsString> for Destination {
    type Error = DestinationError;

    /// `-`, `| command`, `syslog:…`; everything else is a file, whose name may be any.
    fn try_from(text: OsString) -> Result<Self, DestinationError> {
        match text.to_str() {
            Some("-") => Ok(Self::StandardOutput),
            Some(known) if known.starts_with('|') => command(&known[1..]),
            Some(known) => match known.strip_prefix("syslog:") {
                Some(address) => Ok(Self::Syslog(address.parse()?)),
                None => Ok(Self::File(text.into())),
            },
            None => Ok(Self::File(text.into())),
        }
    }
}

impl FromStr for Destination {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Self, DestinationError> {
        Self::try_from(OsString::from(text))
    }
}

fn command(text: &str) -> Result<Destination, DestinationError> {
    match text.trim() {
        "" => Err(DestinationError::NoCommand),
        command => Ok(Destination::Command(command.to_owned())),
    }
}

/// As it is written.
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StandardOutput => f.write_str("-"),
            Self::StandardError => f.write_str("standard error"),
            Self::File(path) => path.display().fmt(f),
            Self::Command(command) => write!(f, "| {command}"),
            Self::Syslog(address) => write!(f, "syslog:{address}"),
        }
    }
}

/// Why a text is not a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DestinationError {
    /// There is no command after the bar.
    NoCommand,
    /// The address after `syslog:` is invalid.
    Syslog(SyslogAddressError),
}

impl From<SyslogAddressError> for DestinationError {
    fn from(invalid: SyslogAddressError) -> Self {
        Self::Syslog(invalid)
    }
}

impl fmt::Display for DestinationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommand => f.write_str("a | has no command behind it: write one, as in '| cat >>access.log'"),
            Self::Syslog(invalid) => invalid.fmt(f),
        }
    }
}

impl Error for DestinationError {}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn destinations_are_parsed_and_displayed() {
        let file = |name: &str| Destination::File(name.into());
        for (text, expected, shown) in [
            ("-", Destination::StandardOutput, "-"),
            ("access.log", file("access.log"), "access.log"),
            ("./-", file("./-"), "./-"),
            ("|cat", Destination::Command("cat".to_owned()), "| cat"),
            ("|  cat -u > 'a b' ", Destination::Command("cat -u > 'a b'".to_owned()), "| cat -u > 'a b'"),
            ("syslog:", Destination::Syslog("".parse().unwrap()), "syslog:unix:/dev/log"),
            ("./syslog:", file("./syslog:"), "./syslog:"),
        ] {
            assert_eq!(text.parse(), Ok(expected.clone()));
            assert_eq!(expected.to_string(), shown);
        }
        for text in ["|", "| ", "syslog:x"] {
            assert!(text.parse::<Destination>().is_err(), "{text}");
        }
        let odd = OsString::from_vec(b"|\xff".to_vec());
        assert_eq!(Destination::try_from(odd.clone()), Ok(Destination::File(odd.into())));
    }
}
