//! The thread that writes files.

use std::{io, sync::Arc, thread};

use serow_cache::MemoryStore;

use crate::{disk_store::DiskStore, pending::Work, sweep::Sweep};

/// A thread that writes files and makes room, until this is dropped: then what waits is written.
#[derive(Debug)]
pub struct DiskThread {
    disk: Arc<DiskStore>,
    thread: Option<thread::JoinHandle<()>>,
}

impl DiskThread {
    /// Claims the folder for a store whose responses are kept in it, and starts the thread.
    ///
    /// # Errors
    ///
    /// The system refuses the thread.
    pub fn start(disk: Arc<DiskStore>, store: Arc<MemoryStore>) -> io::Result<Self> {
        disk.claim(&store);
        let shared = Arc::clone(&disk);
        let thread = thread::Builder::new().name("serow-cache".to_owned()).spawn(move || run(&shared, &store))?;
        Ok(Self { disk, thread: Some(thread) })
    }
}

fn run(disk: &DiskStore, store: &MemoryStore) {
    let mut sweep = Sweep::new();
    loop {
        disk.remove_discarded();
        match disk.pending.next(sweep.pause()) {
            Work::Write(key, resource) => {
                disk.write(&key, &resource);
                sweep.make_room(disk, store);
            }
            Work::Idle => {
                disk.claim(store);
                if disk.is_claimed() {
                    sweep.step(disk, store);
                }
            }
            Work::End => return disk.remove_discarded(),
        }
    }
}

impl Drop for DiskThread {
    fn drop(&mut self) {
        self.disk.pending.end();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is in the log.
            let _ = thread.join();
        }
    }
}
