//! Ctrl-C: the first one ends the run early, with its report; a second one ends the process at once.

use std::{
    io, process, thread,
    time::{Duration, Instant},
};

use serow_load::Stopper;
use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

/// Stops the run at INT and TERM; at the second, ends the process.
pub(crate) fn stop_on_signals(stopper: Stopper) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let (mut interrupt, mut terminate) = {
        let _context = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            let mut first: Option<Instant> = None;
            while first.is_none_or(|first| first.elapsed() < SAME) {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                stopper.stop();
                first.get_or_insert_with(Instant::now);
            }
        });
        process::exit(INTERRUPTED);
    })?;
    Ok(())
}

/// What comes so soon after the first is the same: timeout(1) sends its signal to the process and to its group.
const SAME: Duration = Duration::from_millis(200);

/// What shells give for a process that SIGINT has ended: 128 + 2.
const INTERRUPTED: i32 = 130;
