//! `serow bench`: load for a web server.
//!
//! | step | file |
//! | --- | --- |
//! | what the options mean | `bench/plan.rs`, `bench/target.rs` |
//! | several URLs with weights | `bench/url_list.rs` |
//! | whether the server is there at all | `bench/probe.rs` |
//! | while it runs: a live line, and Ctrl-C | `bench/watcher.rs`, `bench/interrupt.rs` |
//! | a drawing of streams over one connection | `bench/waterfall.rs` |
//! | what goes wrong | `bench/error.rs` |

mod error;
mod interrupt;
mod plan;
mod probe;
mod target;
mod url_list;
mod watcher;
mod waterfall;

use std::{
    cell::RefCell,
    fs::File,
    io::{self, Write},
    path::PathBuf,
};

use serow_load::{Results, Run, report};

use self::error::BenchError;
use self::{interrupt::Interrupts, plan::Prepared, watcher::Watcher};
use crate::{
    arguments::{BenchArguments, BenchCommand, ReportArguments},
    command_error::CommandError,
};

/// Makes load and prints what came of it.
pub(crate) fn run(arguments: Box<BenchArguments>) -> Result<(), CommandError> {
    let arguments = *arguments;
    if let Some(BenchCommand::Waterfall(arguments)) = arguments.other {
        return waterfall::run(*arguments);
    }
    if arguments.version {
        return print(&format!("serow {} (serow bench; wrk's command line)\n", env!("CARGO_PKG_VERSION")));
    }
    // Before anything that takes time, and before the first line is printed: whoever has read it may interrupt the run.
    let interrupts = Interrupts::catch().map_err(CommandError::system)?;
    let written = arguments.report;
    let Prepared { plan, url, socket, encryption } = Prepared::new(
        arguments.url,
        arguments.script_arguments,
        arguments.load,
        arguments.request,
        arguments.connection,
    )?;
    // An unwritable file is reported before the run, not after it.
    let page = written.html.clone().map(Page::create).transpose()?;
    let words = !written.json && !written.csv;
    let opening = words.then(|| report::opening(&url, plan.duration, plan.threads, plan.connections));
    let watcher = RefCell::new(Watcher::new(plan.duration));
    let run = Run::new(plan);
    interrupts.stop(run.stopper());
    opening.map_or(Ok(()), |opening| print(&opening))?;
    let describe = |results| Results { url, socket, encryption, ..results };
    // The output of the script's `done` comes behind the report, as with wrk.
    let mut printed = Ok(());
    let outcome = run.run(
        |step| watcher.borrow_mut().show(step),
        |results| {
            watcher.borrow_mut().end();
            let results = describe(results);
            let shown = print(&shape(&results, &written));
            // The page is written though nobody may read what is printed.
            printed = page.map_or(Ok(()), |page| page.write(&results)).and(shown);
            results
        },
    );
    watcher.borrow_mut().end();
    let results = outcome.map_err(|failure| CommandError::from(BenchError::Run(failure)))?;
    printed?;
    if written.fail_on_error && (results.errors.all() > 0 || results.requests == 0) {
        return Err(CommandError::from(BenchError::Errors(results.errors)));
    }
    Ok(())
}

/// The results in the form that was asked for.
fn shape(results: &Results, written: &ReportArguments) -> String {
    if written.json {
        report::json(results)
    } else if written.csv {
        report::csv(results)
    } else {
        report::text(results, written.latency)
    }
}

/// The file that the page goes to.
struct Page {
    path: PathBuf,
    file: File,
}

impl Page {
    fn create(path: PathBuf) -> Result<Self, BenchError> {
        match File::create(&path) {
            Ok(file) => Ok(Self { path, file }),
            Err(error) => Err(BenchError::Page(path, error)),
        }
    }

    fn write(mut self, results: &Results) -> Result<(), CommandError> {
        let written = self.file.write_all(report::html(results).as_bytes());
        written.map_err(|error| BenchError::Page(self.path, error).into())
    }
}

fn print(text: &str) -> Result<(), CommandError> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(CommandError::output)
}
