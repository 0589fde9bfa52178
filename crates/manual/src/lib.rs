//! The manual of the command line of [Serow](https://serow.example), from the same source as its help: a [`clap::Command`]
//! with all its subcommands and options.
//!
//! | subject | file |
//! | --- | --- |
//! | the manual in Markdown | `markdown.rs` |
//! | serow.1, and a man page for each command; their examples | `commands.rs`; `examples.rs` |
//! | serow.toml.5 | `settings_file.rs` |
//! | roff, which man pages are written in; their date | `roff.rs`; `date.rs` |
//! | an option, as all of them show it | `option_text.rs` |
#![forbid(unsafe_code)]

mod commands;
mod date;
mod examples;
mod markdown;
mod option_text;
mod roff;
mod settings_file;

use clap::Command;

pub use self::{markdown::markdown, roff::ManPage};

/// The manual of a command as man pages: one for each of its subcommands, and that of the settings file.
#[must_use]
pub fn man_pages(mut command: Command) -> Vec<ManPage> {
    command.build();
    let mut pages = commands::pages(&command);
    pages.push(settings_file::page());
    pages
}
