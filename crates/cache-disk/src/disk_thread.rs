//! The thread that writes files.

use std::{io, sync::Arc, thread, time::Duration};

use serow_cache::{MemoryStore, encode};

use crate::{disk_store::DiskStore, folder::rounded, pending::Work, sweep::Sweep};

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
        if disk.is_claimed() {
            sweep.make_room(disk, store);
        }
        let wants_spare_file = disk.folder.wants_spare_file();
        let pause = if wants_spare_file { Duration::ZERO } else { sweep.pause() };
        match disk.pending.next(pause) {
            Work::Write(key, resource) => {
                let record = encode(&key, &resource);
                // It counts before it is there.
                disk.space.set_writing(rounded(record.len() as u64));
                sweep.make_room(disk, store);
                disk.write(&key, &resource, &record);
                disk.space.set_writing(0);
                if sweep.is_overdue() && disk.is_claimed() {
                    sweep.step(disk, store);
                }
            }
            Work::Idle if wants_spare_file => disk.folder.add_spare_file(),
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
