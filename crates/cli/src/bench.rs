//! `serow bench`: load for a web server.
//!
//! | step | file |
//! | --- | --- |
//! | what the options mean | `bench/plan.rs`, `bench/target.rs` |
//! | several URLs with weights | `bench/url_list.rs` |
//! | whether the server is there at all | `bench/probe.rs` |
//! | while it runs: a live line, and Ctrl-C | `bench/watcher.rs`, `bench/interrupt.rs` |
//! | what goes wrong | `bench/failure.rs` |

mod failure;
mod interrupt;
mod plan;
mod probe;
pub(crate) mod target;
mod url_list;
mod watcher;

use std::{
    cell::RefCell,
    fs,
    io::{self, Write},
};

use serow_load::{Results, Run, report};

pub(crate) use self::failure::BenchFailure;
use self::{plan::Prepared, watcher::Watcher};
use crate::{
    arguments::{BenchArguments, BenchCommand, ReportArguments},
    failure::Failure,
    waterfall,
};

/// Makes load and prints what came of it.
pub(crate) fn run(arguments: BenchArguments) -> Result<(), Failure> {
    if let Some(BenchCommand::Waterfall(arguments)) = arguments.other {
        return waterfall::run(*arguments);
    }
    if arguments.version {
        return print(&format!("serow {} (serow bench; wrk's command line)\n", env!("CARGO_PKG_VERSION")));
    }
    let written = arguments.report;
    let Prepared { plan, url, socket, encryption } = Prepared::new(
        arguments.url,
        arguments.script_arguments,
        arguments.load,
        arguments.request,
        arguments.connection,
    )?;
    let words = !written.json && !written.csv;
    if words {
        print(&report::opening(&url, plan.duration, plan.threads, plan.connections))?;
    }
    let watcher = RefCell::new(Watcher::new(plan.duration));
    let run = Run::new(plan);
    interrupt::stop_on_signals(run.stopper()).map_err(Failure::System)?;
    let describe = |results| Results { url, socket, encryption, ..results };
    // What the script's `done` prints comes behind the report, as with wrk.
    let mut printed = Ok(());
    let outcome = run.run(
        |step| watcher.borrow_mut().show(step),
        |results| {
            watcher.borrow_mut().end();
            let results = describe(results);
            printed = present(&results, &written);
            results
        },
    );
    watcher.borrow_mut().end();
    let results = outcome.map_err(|failure| Failure::Bench(BenchFailure::Run(failure)))?;
    printed?;
    if written.fail_on_error && (results.errors.all() > 0 || results.requests == 0) {
        return Err(Failure::Bench(BenchFailure::Errors(results.errors)));
    }
    Ok(())
}

/// Prints the results in the form that was asked for.
fn present(results: &Results, written: &ReportArguments) -> Result<(), Failure> {
    if written.json {
        print(&report::json(results))?;
    } else if written.csv {
        print(&report::csv(results))?;
    } else {
        print(&report::text(results, written.latency))?;
    }
    match &written.html {
        None => Ok(()),
        Some(path) => {
            fs::write(path, report::html(results)).map_err(|error| BenchFailure::Page(path.clone(), error).into())
        }
    }
}

fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(Failure::Output)
}
