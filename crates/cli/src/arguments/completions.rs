//! The options of `serow completions`, and of the command that its scripts call.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

/// The options of `serow completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell.
    pub(crate) shell: Shell,
}

/// A shell that a completion script is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// Bash 4.4 or newer.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
}

/// The arguments that a completion script passes.
#[derive(Debug, Args)]
pub(crate) struct CompleteArguments {
    /// The words behind `serow`, up to the one with the cursor.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}
