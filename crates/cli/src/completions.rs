//! `serow completions`: the completion scripts of shells.
//!
//! A script contains no options: it calls `serow __complete` with the words of the line, and so offers what the
//! installed version knows. `completions/line.rs` finds the words that can follow; `completions/candidates.rs` writes
//! them for the shell.

mod candidates;
mod line;

use std::io::{self, Write};

use clap::CommandFactory;

use self::line::Line;
use crate::{
    arguments::{CompleteArguments, CompletionsArguments, Shell},
    command_error::CommandError,
    command_line::CommandLine,
};

/// Prints the script for a shell.
pub(crate) fn print_script(arguments: &CompletionsArguments) -> Result<(), CommandError> {
    let script = match arguments.shell {
        Shell::Bash => include_str!("completions/serow.bash"),
        Shell::Zsh => include_str!("completions/serow.zsh"),
        Shell::Fish => include_str!("completions/serow.fish"),
    };
    io::stdout().write_all(script.as_bytes()).map_err(CommandError::output)
}

/// Prints what the last word can be completed to, for a script.
pub(crate) fn complete(arguments: &CompleteArguments) -> Result<(), CommandError> {
    let mut command = CommandLine::command();
    command.build();
    // A word that is not text is the name of a file, which is not looked at.
    let words: Vec<_> = arguments.words.iter().map(|word| word.to_string_lossy()).collect();
    let text = match words.split_last() {
        Some((current, before)) => Line::of(&command, before).candidates(current).to_string(),
        None => String::new(),
    };
    io::stdout().write_all(text.as_bytes()).map_err(CommandError::output)
}
