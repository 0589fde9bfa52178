//! The command `serow`.
//!
//! | subject | file |
//! | --- | --- |
//! | options and their values; those of the settings file too are in crate config | `command_line.rs`, `arguments/` |
//! | `PORT` and `WEB_CONCURRENCY`, by which hosting platforms say where and how a server runs | `environment_port.rs`, `web_concurrency.rs` |
//! | errors: of a command; of the command line | `command_error.rs`; `usage.rs` |
//! | `serow files`, `proxy`, `app`, and what they share | `folder.rs`, `proxy.rs`, `app.rs`; `serving.rs` |
//! | `serow run`: a settings file, supervised | `run.rs`, `sandbox.rs` |
//! | `serow check`, `schema` | `check.rs` |
//! | `serow status`, `reload`, `stop`, `upstream` | `status.rs`, `reload.rs`, `stop.rs`, `upstream.rs`; `admin_client.rs` |
//! | `serow config`, `route`: added settings files | `config.rs`; `route.rs`, `route/` and the crate `serow-route-settings` |
//! | `serow ban`, `maintenance` | `ban.rs`, `maintenance.rs` |
//! | `serow cache`, `purge` | `cache.rs`, `purge.rs` |
//! | `serow password` | `password.rs` |
//! | automatic certificates; `serow certificates`, `acme` | `certificates.rs` |
//! | `serow bench`, with the cargo feature `bench`; without it | `bench.rs`, `bench/`; `bench_missing.rs` |
//! | `serow supervise` | `supervise.rs` |
//! | `serow init` | `init.rs` and the crate `serow-project` |
//! | completion in shells | `completions.rs` |
//! | the manual, from the same source as the help, by the crate `serow-manual`: in Markdown; as man pages | `manual.rs`; `man.rs` |
//! | the folder of admin sockets without settings | `runtime_folder.rs` |
//! | the folder for certificates that are kept between starts | `state_folder.rs` |
//! | the folder in which stored responses are kept | `cache_folder.rs` |
//! | what applications take from this process; processes that they leave behind | `application_host.rs`, `descriptors.rs`; `orphans.rs` |
//! | the first line on standard error; requests on a terminal; the error log | `announcement.rs`; `terminal_lines.rs`; `error_log.rs` |
#![forbid(unsafe_code)]

mod admin_client;
mod announcement;
mod app;
mod application_host;
mod arguments;
mod ban;
#[cfg(feature = "bench")]
mod bench;
#[cfg(not(feature = "bench"))]
mod bench_missing;
mod cache;
mod cache_folder;
mod certificates;
mod check;
mod command_error;
mod command_line;
mod completions;
mod config;
mod descriptors;
mod environment_port;
mod error_log;
mod examination;
mod folder;
mod import;
mod init;
mod maintenance;
mod man;
mod manual;
mod orphans;
mod password;
mod proxy;
mod purge;
mod reload;
mod response_options;
mod route;
mod run;
mod runtime_folder;
mod sandbox;
mod script_option;
mod script_test;
mod serving;
mod state_folder;
mod static_files;
mod status;
mod stop;
mod supervise;
mod terminal_lines;
mod upstream;
mod usage;
mod web_concurrency;

use std::{env, process::ExitCode};

use mimalloc::MiMalloc;

#[cfg(not(feature = "bench"))]
use self::bench_missing as bench;
use self::{
    command_error::exit_code,
    command_line::{Command, CommandLine},
};

/// Faster than the system's, above all for many small pieces of several threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let command = CommandLine::read(env::args_os());
    if !matches!(command, Ok(Command::Supervise(_))) {
        // The programs that a supervisor starts would inherit it, and may be made for the limit as it is.
        descriptors::raise_limit();
    }
    let outcome = match command {
        Ok(Command::Files(arguments)) => folder::FolderSettings::new(*arguments).and_then(folder::serve),
        Ok(Command::Proxy(arguments)) => proxy::ProxySettings::new(*arguments).and_then(proxy::serve),
        Ok(Command::App(arguments)) => {
            return orphans::reap_while(|| exit_code(app::AppSettings::new(*arguments).and_then(app::serve)));
        }
        Ok(Command::Bench(arguments)) => bench::run(arguments),
        Ok(Command::Supervise(arguments)) => return supervise::run(*arguments),
        Ok(Command::Run(arguments)) => return run::run(arguments),
        Ok(Command::Status(arguments)) => status::run(&arguments),
        Ok(Command::Acme(arguments)) => certificates::run(arguments),
        Ok(Command::Certificates(arguments)) => certificates::print(&arguments),
        Ok(Command::Check(arguments)) => check::run(&arguments),
        Ok(Command::Reload(arguments)) => reload::run(&arguments),
        Ok(Command::Stop(arguments)) => stop::run(&arguments),
        Ok(Command::Ban(arguments)) => ban::run(arguments),
        Ok(Command::Maintenance(arguments)) => maintenance::run(arguments),
        Ok(Command::Purge(arguments)) => purge::run(arguments),
        Ok(Command::Cache(arguments)) => cache::run(&arguments),
        Ok(Command::Config(arguments)) => config::run(arguments),
        Ok(Command::Route(arguments)) => route::run(arguments),
        Ok(Command::Upstream(arguments)) => upstream::run(arguments),
        Ok(Command::Password(arguments)) => password::run(&arguments),
        Ok(Command::Schema) => check::print_schema(),
        Ok(Command::Import(arguments)) => import::run(&arguments),
        Ok(Command::Init(arguments)) => init::run(&arguments),
        Ok(Command::Completions(arguments)) => completions::print_script(&arguments),
        Ok(Command::Complete(arguments)) => completions::complete(&arguments),
        Ok(Command::Reference) => check::print_reference(),
        Ok(Command::Man(arguments)) => man::write(&arguments),
        Ok(Command::Manual) => manual::print(),
        Err(failure) => Err(failure),
    };
    exit_code(outcome)
}
