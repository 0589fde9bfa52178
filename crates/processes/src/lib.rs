//! The processes of an application: a manager starts them, watches them, replaces them and reloads the application.
//!
//! | subject | file |
//! | --- | --- |
//! | how an application is run, whatever it is | `settings.rs` |
//! | the thread that manages its generations | `manager.rs`, `handle.rs` |
//! | the running processes, and their reload | `workers.rs`; in development by changed files, `file_watcher.rs` |
//! | a process, and its output line by line | `process.rs`, `output.rs` |
//! | a folder for their sockets | `private_folder.rs` |
//! | the time between two attempts to start | `backoff.rs` |
//! | a start that fails, or is not needed any more | `start_error.rs`, `start_cancellation.rs` |
//!
//! The kinds of applications implement [`WorkerGeneration`]: `serow-apps` for code that an interpreter calls, `serow-programs`
//! for programs that serve HTTP themselves.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure real time"))]

mod backoff;
mod file_watcher;
mod handle;
mod manager;
mod output;
mod private_folder;
mod process;
mod settings;
mod start_cancellation;
mod start_error;
mod workers;

pub use self::{
    backoff::{Backoff, RESTART},
    manager::{MessageSender, WorkerGeneration, start},
    output::{log_lines, read_lines},
    private_folder::PrivateFolder,
    process::Process,
    settings::{Lifetime, Output, RunSettings},
    start_cancellation::StartCancellation,
    start_error::StartError,
    workers::{Reloader, Workers},
};
