//! The command `serow`.
//!
//! | step | file |
//! | --- | --- |
//! | what was written: options and their values | `command_line.rs`, `arguments/`, `written/` |
//! | the same in a settings file; whether one is right | `configuration.rs`, `configuration/`, `check.rs` |
//! | what it means: the settings of the parts, checked | `settings.rs`, `settings/`, `encryption.rs` |
//! | what is said where it means nothing | `failure.rs`, `usage.rs` |
//! | serving a folder; other servers; an application; what all do alike | `folder.rs`; `proxy.rs`; `app.rs`, `application.rs`; `serving.rs` |
//! | at sockets that a supervisor opened | `inherited.rs` |
//! | handlers around it, where there is TLS | `strict_transport.rs`, `to_tls.rs` |
//! | everything a settings file says | `run.rs`, `configuration.rs` |
//! | making load | `bench.rs` |
//! | keeping any server running | `supervise.rs` |
//! | who gets which bytes when | `waterfall.rs` |
//! | whether its user may read the folders | `readable.rs` |
//! | where it can be seen | `announcement.rs` |
//! | how the server is doing: who tells it, who asks | `admin.rs` |
//! | a line for each request | `access_log.rs` |
//! | a line for what goes wrong | `error_log.rs` |
//! | the manual, from the same source as the help | `manual.rs` |
#![forbid(unsafe_code)]

mod admin;
mod announcement;
mod app;
mod application_host;
mod arguments;
mod bench;
mod check;
mod command_error;
mod command_line;
mod descriptors;
mod encryption;
mod error_log;
mod folder;
mod manual;
mod proxy;
mod run;
mod sandbox;
mod serving;
mod strict_transport;
mod supervise;
mod to_tls;
mod usage;
mod waterfall;

use std::{env, process::ExitCode};

use mimalloc::MiMalloc;

use self::{
    admin::Action,
    command_error::exit_code,
    command_line::{Command, CommandLine},
};

/// Faster than the system's, above all for many small pieces of several threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let command = CommandLine::read(env::args_os());
    if !matches!(command, Ok(Command::Supervise(_))) {
        // What a supervisor starts would inherit it, and may be made for the limit as it is.
        descriptors::raise_limit();
    }
    let outcome = match command {
        Ok(Command::Files(arguments)) => folder::FolderSettings::new(*arguments).and_then(folder::serve),
        Ok(Command::Proxy(arguments)) => proxy::ProxySettings::new(*arguments).and_then(proxy::serve),
        Ok(Command::App(arguments)) => app::AppSettings::new(*arguments).and_then(app::serve),
        Ok(Command::Bench(arguments)) => bench::run(*arguments),
        Ok(Command::Supervise(arguments)) => return supervise::run(*arguments),
        Ok(Command::Run(arguments)) => return run::run(arguments),
        Ok(Command::Status(arguments)) => admin::print_status(&arguments),
        Ok(Command::Check(arguments)) => check::run(&arguments),
        Ok(Command::Reload(arguments)) => admin::reload(&arguments),
        Ok(Command::Drain(arguments)) => admin::drain(arguments),
        Ok(Command::Up(arguments)) => admin::wish(arguments, Action::Up, None),
        Ok(Command::Down(arguments)) => admin::wish(arguments, Action::Down, None),
        Ok(Command::Weight(arguments)) => admin::wish(arguments.wish, Action::Weight, Some(arguments.weight)),
        Ok(Command::Add(arguments)) => admin::wish(arguments, Action::Add, None),
        Ok(Command::Remove(arguments)) => admin::wish(arguments, Action::Remove, None),
        Ok(Command::Schema) => check::print_schema(),
        Ok(Command::Reference) => check::print_reference(),
        Ok(Command::Manual) => manual::print(),
        Err(failure) => Err(failure),
    };
    exit_code(outcome)
}
