//! A laboratory for slow links: a server and a client in two networks, and a link between them that has a rate, a delay, a
//! queue and loss.
//!
//! | what | file |
//! | --- | --- |
//! | the command line | `arguments.rs`, `quantity.rs` |
//! | the whole, from the first namespace to the last signal | `laboratory.rs` |
//! | a side: its namespace, its device, its processes | `namespace.rs`, `tunnel.rs`, `init.rs`, `listening.rs` |
//! | between them: the model of a link, and the relay that carries the packets | `link.rs`, `relay.rs` |
//! | reports and traces | `report.rs`, `trace.rs` |

mod arguments;
mod init;
mod laboratory;
mod link;
mod listening;
mod namespace;
mod quantity;
mod relay;
mod report;
mod trace;
mod tunnel;

use std::{env, ffi::OsString, process::ExitCode};

use self::arguments::Task;

fn main() -> ExitCode {
    let given: Vec<OsString> = env::args_os().collect();
    if let [_, first, parent, command @ ..] = given.as_slice()
        && first == init::KEEP
    {
        return init::keep(parent, command).map_or_else(|error| failed(&error), ExitCode::from);
    }
    match arguments::read(given.into_iter()) {
        Ok(Task::Check(experiment)) => check(&experiment),
        Ok(Task::Run(experiment)) => {
            laboratory::run(&experiment).map_or_else(|error| failed(&error.to_string()), ExitCode::from)
        }
        Err(error) => {
            let _ = error.print();
            ExitCode::from(if error.use_stderr() { MISUSE } else { 0 })
        }
    }
}

fn check(experiment: &arguments::Experiment) -> ExitCode {
    match laboratory::check(experiment) {
        Ok(()) => {
            println!("netlab: networks may be made here");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("netlab: no networks may be made here: {error}");
            ExitCode::from(NOT_PERMITTED)
        }
    }
}

fn failed(problem: &str) -> ExitCode {
    eprintln!("netlab: {problem}");
    ExitCode::from(LABORATORY_FAILED)
}

/// The exit code of `--check` where networks are not permitted.
const NOT_PERMITTED: u8 = 2;
/// EX_USAGE in sysexits.h.
const MISUSE: u8 = 64;
/// EX_OSERR in sysexits.h, so that it is not taken for the client's.
const LABORATORY_FAILED: u8 = 71;
