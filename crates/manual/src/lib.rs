//! The manual and the completions of the command line of [Serow](https://serow.example), from the same source as its help: a [`clap::Command`]
//! with all its subcommands and options.
//!
//! | subject | file |
//! | --- | --- |
//! | the manual in Markdown | `markdown.rs` |
//! | serow.1, and a man page for each command; their examples | `commands.rs`; `examples.rs` |
//! | serow.toml.5 | `settings_file.rs` |
//! | roff, which man pages are written in; their date | `roff.rs`; `date.rs` |
//! | an option, as all of them show it | `option_text.rs` |
//! | the words that can follow those of a line, as shells read them | `completion_line.rs`, `candidates.rs` |
#![forbid(unsafe_code)]

mod candidates;
mod commands;
mod completion_line;
mod date;
mod examples;
mod markdown;
mod option_text;
mod roff;
mod settings_file;

use clap::Command;

use self::completion_line::Line;
pub use self::{markdown::markdown, roff::ManPage};

/// The manual of a command as man pages: one for each of its subcommands, and that of the settings file.
#[must_use]
pub fn man_pages(mut command: Command) -> Vec<ManPage> {
    command.build();
    let mut pages = commands::pages(&command);
    pages.push(settings_file::page());
    pages
}

/// The words to which the last of these can be completed, in lines for a shell: `word TAB description`, and at last `:` with the
/// kind of names that the shell completes itself.
#[must_use]
pub fn completions<W: AsRef<str>>(mut command: Command, words: &[W]) -> String {
    command.build();
    match words.split_last() {
        Some((current, before)) => Line::of(&command, before).candidates(current.as_ref()).to_string(),
        None => String::new(),
    }
}
