//! Why a command ended without doing its work.

use std::{error::Error, fmt, io, process::ExitCode};

use serow_access_log::AccessLogError;
use serow_acme::AcmeError;
use serow_admin::{AdminClientError, AdminError};
use serow_config::{
    ConfigurationError, SettingError,
    printable::{on_lines, on_one_line},
};
use serow_supervisor::SupervisorError;

use crate::announcement::write_line;

/// Why a command ended without doing its work: what standard error shows, and the exit status. Each command has its own
/// error and converts it to this.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The user asked clap for help or for the version, which is not an error.
    Help(clap::Error),
    /// The command line or the settings file is wrong; one line.
    Usage(String),
    /// The settings file is wrong; excerpts of it, ready for a terminal.
    Diagnostics(Box<dyn Error>),
    /// Standard output is a pipe that nobody reads any more, as in `serow schema | head -1`: nothing is left to say.
    ReaderGone,
    /// The command failed; one line.
    Failed(Box<dyn Error>),
    /// The command failed; as many lines as the text has, such as those of a backtrace.
    FailedWithReport(Box<dyn Error>),
}

/// An I/O error that any command can meet.
#[derive(Debug)]
pub(crate) enum ProcessError {
    /// Writing to standard output failed.
    Output(io::Error),
    /// The system refused something that every server needs.
    System(io::Error),
    /// A server, its sockets or its threads failed.
    Server(serow::Error),
}

impl CommandError {
    /// A command failed for this reason, which may have several lines.
    pub(crate) fn report(reason: impl Into<Box<dyn Error>>) -> Self {
        Self::FailedWithReport(reason.into())
    }

    /// The system refused something that every server needs.
    pub(crate) fn system(error: io::Error) -> Self {
        ProcessError::System(error).into()
    }

    /// Standard output cannot be written to.
    pub(crate) fn output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ReaderGone;
        }
        ProcessError::Output(error).into()
    }

    /// The error and its remedy, without control characters.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Help(error) => on_one_line(&error.to_string()),
            Self::ReaderGone => String::new(),
            Self::Usage(line) => on_one_line(line),
            Self::Failed(error) => on_one_line(&error.to_string()),
            Self::Diagnostics(error) => error.to_string(),
            Self::FailedWithReport(error) => on_lines(&error.to_string()),
        }
    }

    /// The exit status: 2 where the command line or the settings are wrong, as with clap and most programs, otherwise
    /// 1.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Help(_) => ExitCode::SUCCESS,
            Self::Usage(_) | Self::Diagnostics(_) => ExitCode::from(2),
            // As a shell reports the end by SIGPIPE.
            Self::ReaderGone => ExitCode::from(141),
            Self::Failed(_) | Self::FailedWithReport(_) => ExitCode::FAILURE,
        }
    }
}

/// Prints the error of a command, if it has one, and returns the exit status of the process.
pub(crate) fn exit_code(outcome: Result<(), CommandError>) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    if matches!(error, CommandError::ReaderGone) {
        return error.exit_code();
    }
    // Nothing can report that these fail: the reader may have gone away (`serow --help | head -1`).
    let _ = match &error {
        CommandError::Help(help) => help.print(),
        CommandError::Diagnostics(_) => write_line(&error.message().to_string()),
        _ => write_line(&format!("serow: {}", error.message())),
    };
    error.exit_code()
}

impl fmt::Display for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(error) => write!(f, "cannot write to standard output: {error}"),
            Self::System(error) => write!(f, "the system refuses what a server needs: {error}"),
            Self::Server(error) => error.fmt(f),
        }
    }
}

impl Error for ProcessError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Output(error) | Self::System(error) => Some(error),
            Self::Server(error) => Some(error),
        }
    }
}

impl From<ProcessError> for CommandError {
    fn from(error: ProcessError) -> Self {
        Self::Failed(Box::new(error))
    }
}

impl From<serow::Error> for CommandError {
    fn from(error: serow::Error) -> Self {
        ProcessError::Server(error).into()
    }
}

impl From<SupervisorError> for CommandError {
    fn from(error: SupervisorError) -> Self {
        Self::Failed(Box::new(error))
    }
}

impl From<AccessLogError> for CommandError {
    fn from(error: AccessLogError) -> Self {
        Self::Failed(Box::new(error))
    }
}

impl From<ConfigurationError> for CommandError {
    fn from(error: ConfigurationError) -> Self {
        match error {
            ConfigurationError::Unreadable(line) => Self::Usage(line),
            wrong @ ConfigurationError::Wrong(_) => Self::Diagnostics(Box::new(wrong)),
        }
    }
}

impl From<AcmeError> for CommandError {
    fn from(error: AcmeError) -> Self {
        Self::Failed(format!("automatic certificates: {error}").into())
    }
}

impl From<AdminError> for CommandError {
    fn from(error: AdminError) -> Self {
        Self::Failed(format!("--admin: {error}").into())
    }
}

impl From<AdminClientError> for CommandError {
    fn from(error: AdminClientError) -> Self {
        Self::FailedWithReport(Box::new(error))
    }
}

/// For settings that are options of the command line.
impl From<SettingError> for CommandError {
    fn from(error: SettingError) -> Self {
        Self::Usage(error.in_options())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_stays_on_one_line() {
        let error = CommandError::Usage("there is no folder a\nb".to_owned());
        assert_eq!(error.message(), r"there is no folder a\nb");
    }
}
