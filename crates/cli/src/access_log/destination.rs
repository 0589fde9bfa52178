//! Where lines go.

use std::{error::Error, ffi::OsString, fmt, path::PathBuf, str::FromStr};

use super::syslog::{InvalidSyslogAddress, SyslogAddress};

/// Where lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// To standard output.
    StandardOutput,
    /// To the end of a file, which is opened anew on SIGUSR1.
    File(PathBuf),
    /// To the standard input of a command of the shell.
    Command(String),
    /// To a collector of logs.
    Syslog(SyslogAddress),
}

impl Destination {
    /// Where that is in the file system, if it is.
    pub(crate) fn path_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Self::File(path) => Some(path),
            Self::Syslog(address) => address.path_mut(),
            Self::StandardOutput | Self::Command(_) => None,
        }
    }
}

impl TryFrom<OsString> for Destination {
    type Error = InvalidDestination;

    /// `-`, `| command`, `syslog:…`; everything else is a file, whose name may be any.
    fn try_from(text: OsString) -> Result<Self, InvalidDestination> {
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
    type Err = InvalidDestination;

    fn from_str(text: &str) -> Result<Self, InvalidDestination> {
        Self::try_from(OsString::from(text))
    }
}

fn command(text: &str) -> Result<Destination, InvalidDestination> {
    match text.trim() {
        "" => Err(InvalidDestination::NoCommand),
        command => Ok(Destination::Command(command.to_owned())),
    }
}

/// As it is written.
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StandardOutput => f.write_str("-"),
            Self::File(path) => path.display().fmt(f),
            Self::Command(command) => write!(f, "| {command}"),
            Self::Syslog(address) => write!(f, "syslog:{address}"),
        }
    }
}

/// A text that is no destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InvalidDestination {
    /// Nothing stands behind the bar.
    NoCommand,
    /// What stands behind `syslog:` is no address.
    Syslog(InvalidSyslogAddress),
}

impl From<InvalidSyslogAddress> for InvalidDestination {
    fn from(invalid: InvalidSyslogAddress) -> Self {
        Self::Syslog(invalid)
    }
}

impl fmt::Display for InvalidDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommand => f.write_str("a | has no command behind it: write one, as in '| cat >>access.log'"),
            Self::Syslog(invalid) => invalid.fmt(f),
        }
    }
}

impl Error for InvalidDestination {}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn destinations() {
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
