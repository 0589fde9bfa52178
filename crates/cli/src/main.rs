//! The command `serow`.
//!
//! | step | file |
//! | --- | --- |
//! | what was written: options and their values | `command_line.rs`, `arguments/`, `written/` |
//! | what it means: the settings of the parts, checked | `settings.rs`, `encryption.rs` |
//! | what is said where it means nothing | `failure.rs`, `misuse.rs` |
//! | serving a folder | `folder.rs` |
//! | handlers around it, where there is TLS | `strict_transport.rs`, `to_tls.rs` |
//! | making load | `bench.rs` |
//! | who gets which bytes when | `waterfall.rs` |
//! | how the server is doing: who tells it, who asks | `admin.rs` |
//! | a line for each request | `access_log.rs` |
//! | a line for what goes wrong | `error_log.rs` |
//! | the manual, from the same source as the help | `manual.rs` |
#![forbid(unsafe_code)]

mod access_log;
mod admin;
mod arguments;
mod bench;
mod command_line;
mod descriptors;
mod encryption;
mod error_log;
mod failure;
mod folder;
mod manual;
mod misuse;
mod settings;
mod strict_transport;
mod to_tls;
mod waterfall;
mod written;

use std::{
    env,
    io::{self, Write},
    process::ExitCode,
};

use mimalloc::MiMalloc;

use self::{
    command_line::{Command, CommandLine},
    failure::Failure,
};

/// Faster than the system's, above all for many small pieces of several threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    descriptors::raise_limit();
    let outcome = match CommandLine::read(env::args_os()) {
        Ok(Command::Files(arguments)) => settings::FolderSettings::new(*arguments).and_then(folder::serve),
        Ok(Command::Bench(arguments)) => bench::run(*arguments),
        Ok(Command::Status(arguments)) => admin::print_status(&arguments),
        Ok(Command::Manual) => manual::print(),
        Err(failure) => Err(failure),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Help(help)) => {
            // Whoever asked for it may have seen enough and left (`serow --help | head -1`).
            let _ = help.print();
            ExitCode::SUCCESS
        }
        Err(failure) => {
            // Where even this fails, nobody is left to be told.
            let _ = writeln!(io::stderr(), "serow: {}", failure.line());
            failure.exit_code()
        }
    }
}
