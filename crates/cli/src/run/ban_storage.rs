//! The bans of a generation, which later generations continue with.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, sync_channel},
    },
    thread,
    time::Duration,
};

use serow_limits::Bans;
use serow_net::monotonic;
use serow_supervisor::master::SharedState;

/// Leaves the bans of this generation for later ones, until it is stopped: then another one does.
#[derive(Clone, Debug, Default)]
pub(super) struct BanStorage {
    is_stopped: Arc<AtomicBool>,
}

impl BanStorage {
    /// Continues with the bans of earlier generations, and leaves those of this one from now on.
    ///
    /// # Errors
    ///
    /// The system refuses a thread.
    pub(super) fn start(bans: &Bans, shared: Option<SharedState>) -> io::Result<Self> {
        let this = Self::default();
        let Some(mut shared) = shared else { return Ok(this) };
        match shared.read() {
            Ok(snapshot) => bans.restore(&snapshot, monotonic()),
            Err(error) => tracing::warn!(%error, "the bans of the generation before are lost"),
        }
        // One change that waits to be stored is enough: all bans are stored each time.
        let (sender, changes) = sync_channel(1);
        bans.subscribe(move |_| {
            let _ = sender.try_send(());
        });
        let (storage, bans) = (this.clone(), bans.clone());
        thread::Builder::new().name("serow-bans".to_owned()).spawn(move || storage.run(&bans, &changes, shared))?;
        Ok(this)
    }

    /// Leaves no more bans.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    fn run(&self, bans: &Bans, changes: &Receiver<()>, mut shared: SharedState) {
        while changes.recv().is_ok() && !self.is_stopped.load(Ordering::Relaxed) {
            if let Err(error) = shared.write(&bans.snapshot(monotonic())) {
                tracing::warn!(%error, "a reload would lose bans");
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Under attack there may be thousands of bans in a second, and all are written each time.
const PAUSE: Duration = Duration::from_millis(500);
