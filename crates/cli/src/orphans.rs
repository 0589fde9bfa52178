//! Orphans: as process 1, as in containers, this process becomes the parent of all processes whose parents have ended,
//! and has to reap them (waitpid(2)), or they stay as zombies.

use std::{process, thread};

use rustix::process::{WaitOptions, wait};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
};

/// Runs a command; as process 1, in another thread, while this one reaps orphans.
///
/// The kernel makes them children of the first thread, which is this. Children of the command belong to the threads that
/// started them and wait for them.
pub(crate) fn reap_while<T: Send>(command: impl FnOnce() -> T + Send) -> T {
    let ends = if process::id() == 1 { Ends::new().ok() } else { None };
    let Some(Ends { runtime, mut signal }) = ends else { return command() };
    thread::scope(|scope| {
        let (sender, ended) = oneshot::channel::<()>();
        let running = scope.spawn(move || {
            let outcome = command();
            drop(sender);
            outcome
        });
        runtime.block_on(async {
            let reap = async {
                loop {
                    while let Ok(Some(_)) = wait(WaitOptions::NOHANG | OF_THIS_THREAD) {}
                    signal.recv().await;
                }
            };
            tokio::select! {
                () = reap => {}
                _ = ended => {}
            }
        });
        running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// CHLD, by which the kernel reports that processes have ended.
struct Ends {
    runtime: Runtime,
    signal: Signal,
}

impl Ends {
    fn new() -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let signal = {
            let _context = runtime.enter();
            signal(SignalKind::child())?
        };
        Ok(Self { runtime, signal })
    }
}

/// __WNOTHREAD: only children of this thread.
const OF_THIS_THREAD: WaitOptions = WaitOptions::from_bits_retain(0x2000_0000);
