//! Ctrl-C: the first one ends the run early, with its report; a second one ends the process at once, as does one before
//! there is a run.

use std::{
    io,
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use serow_load::Stopper;
use serow_net::{process::exit_at_once, time};
use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

/// INT and TERM, which are caught as long as the process lives.
pub(crate) struct Interrupts {
    run: Arc<OnceLock<Stopper>>,
}

impl Interrupts {
    /// Catches them from now on. One that comes earlier has the effect that the parent chose: it ends the process, or
    /// is lost where the parent ignores it, as shells do in what they start in the background.
    pub(crate) fn catch() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let (mut interrupt, mut terminate) = {
            let _context = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        let run: Arc<OnceLock<Stopper>> = Arc::default();
        let stopped = Arc::clone(&run);
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(async {
                let mut first: Option<Instant> = None;
                while first.is_none_or(|first| time::now().duration_since(first) < SAME) {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                    }
                    let Some(run) = stopped.get() else { return };
                    run.stop();
                    first.get_or_insert_with(time::now);
                }
            });
            // The others may be amid a TLS handshake.
            exit_at_once(INTERRUPTED);
        })?;
        Ok(Self { run })
    }

    /// From now on, the first one stops this run.
    pub(crate) fn stop(&self, run: Stopper) {
        // There is one run in the life of the process.
        let _ = self.run.set(run);
    }
}

/// A second signal so soon after the first is the same one: timeout(1) sends it to the process and to its group.
const SAME: Duration = Duration::from_millis(200);

/// The exit code that shells give for a process that SIGINT has ended: 128 + 2.
const INTERRUPTED: i32 = 130;
