//! Why a command did not do what it was told, in one line.

use std::{io, path::PathBuf, process::ExitCode};

use clap::error::ErrorKind;
use serow::Address;
use serow_files::FilesError;
use serow_supervisor::SupervisorError;

use crate::{
    admin::NoAnswer, bench::BenchFailure, configuration::ConfigurationError, misuse, settings::Contradiction,
    waterfall::WaterfallFailure,
};

/// Why a command ended.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Help or the version was asked for, which is no failure.
    Help(clap::Error),
    /// The command line cannot be understood.
    Misuse(String),
    /// The settings file is not what it should be.
    Configuration(ConfigurationError),
    /// The folder, or what was said about it.
    Folder(FilesError),
    /// The access log's file cannot be opened.
    AccessLog(PathBuf, io::Error),
    /// The server cannot be started, or broke down.
    Server(serow::Error),
    /// The door for administration cannot be opened.
    Admin(serow::Error),
    /// The load generator cannot do what it is to do.
    Bench(BenchFailure),
    /// There is nothing to draw, or not all that was asked for.
    Waterfall(WaterfallFailure),
    /// The supervisor does not start, or cannot be told what to do.
    Supervisor(SupervisorError),
    /// What the settings file says cannot be run; why, in as many lines as it takes.
    NotStarted(String),
    /// A running server does not say how it is.
    Status(NoAnswer),
    /// The server with this admin socket was told to stop and still runs.
    StillRunning(Address),
    /// Standard output cannot be written to.
    Output(io::Error),
    /// The system refused what every program needs.
    System(io::Error),
}

impl Failure {
    /// What clap has to say of the command line, which begins with this command.
    pub(crate) fn of_command_line(command: &str, error: clap::Error) -> Self {
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Self::Help(error),
            _ => Self::Misuse(misuse::line(command, &error)),
        }
    }

    /// What is wrong and what to do, on one line whatever text it quotes.
    pub(crate) fn line(&self) -> String {
        let line = match self {
            // These are made for a terminal, with the line of the file.
            Self::NotStarted(reason) => return lines(reason),
            Self::Status(no_answer) => return lines(&no_answer.to_string()),
            Self::Help(error) => error.to_string(),
            Self::Misuse(line) => line.clone(),
            Self::Configuration(error) => error.to_string(),
            Self::Folder(error) => match Contradiction::of_folder(error) {
                Some(contradiction) => contradiction.in_options(),
                None => match error {
                    FilesError::Missing(folder) => {
                        format!("{error}{}", misuse::hint_for_folder(folder).unwrap_or_default())
                    }
                    error => error.to_string(),
                },
            },
            Self::AccessLog(path, error) => {
                let path = path.display();
                format!("cannot write the access log {path}: {error}; name another file with --access-log")
            }
            Self::Server(error) => error.to_string(),
            // The library knows of one option that says where to listen.
            Self::Admin(error) => format!("--admin: {}", error.to_string().replace("with --listen", "with --admin")),
            Self::Bench(failure) => failure.to_string(),
            Self::Supervisor(error) => error.to_string(),
            Self::Waterfall(failure) => failure.to_string(),
            Self::StillRunning(address) => format!(
                "the server at {address} still runs: 'serow status --admin {address}' shows what is in progress; wait \
                 longer with --timeout, or shorten the --grace of the server"
            ),
            Self::Output(error) => format!("cannot write to standard output: {error}"),
            Self::System(error) => format!("the system refuses what a server needs: {error}"),
        };
        on_one_line(&line)
    }

    /// What the process ends with: 2 where what was written is wrong, as clap and most programs have it, else 1.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Misuse(_) | Self::Configuration(_) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}

impl From<FilesError> for Failure {
    fn from(error: FilesError) -> Self {
        Self::Folder(error)
    }
}

impl From<serow::Error> for Failure {
    fn from(error: serow::Error) -> Self {
        Self::Server(error)
    }
}

/// Several lines, each as [`on_one_line`] has it. Backtraces are indented with tabs.
fn lines(text: &str) -> String {
    text.trim_end().lines().map(|line| on_one_line(&line.replace('\t', "    "))).collect::<Vec<_>>().join("\n")
}

/// Shows control characters as escapes: names of folders may hold anything.
pub(crate) fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() { line.extend(character.escape_default()) } else { line.push(character) }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_quoted_stays_on_one_line() {
        let failure = Failure::Folder(FilesError::Missing("a\nb\x1b[31m é".into()));
        assert_eq!(failure.line(), r"there is no folder a\nb\u{1b}[31m é: create it, or name another one");
    }
}
