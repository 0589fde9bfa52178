//! Files of the folder that nobody sees yet, and those that are removed later.

use std::{
    collections::hash_map::RandomState,
    fs::File,
    hash::BuildHasher,
    io::{self, Write},
    sync::{Arc, PoisonError},
};

use rustix::fs::{OFlags, futimens, openat, renameat};
use serow_net::time;

use crate::{
    disk_space::Reservation,
    file_name::FileName,
    folder::{FILE_MODE, Folder, NEW, NOW, UNFINISHED_AGE},
};

/// A record that was written, and that nobody sees yet.
#[derive(Debug)]
pub(crate) enum NewRecord {
    /// It is gone when it is closed.
    Nameless(File),
    /// In `new`.
    Named(FileName),
}

impl Folder {
    /// Creates a file in which a content arrives.
    pub(crate) fn new_file(&self) -> io::Result<(FileName, File)> {
        let name = new_name();
        if let Some(file) = self.spares.take() {
            // It may have waited for long, and what is old there is removed.
            futimens(&file, &NOW)?;
            if self.spares.give_name(&file, &self.directory, &name) {
                return Ok((name, file));
            }
        }
        let file = self.create(&name)?;
        Ok((name, file))
    }

    fn create(&self, name: &FileName) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(openat(&self.directory, name.path(), flags, FILE_MODE)?.into())
    }

    /// Whether the thread that writes should create a file before it is needed.
    pub(crate) fn wants_spare_file(&self) -> bool {
        self.spares.are_wanted()
    }

    /// Creates a file before it is needed.
    pub(crate) fn add_spare_file(&self) {
        self.spares.add(&self.directory);
    }

    /// Writes a record that nobody sees yet.
    pub(crate) fn write_record(&self, content: &[u8]) -> io::Result<NewRecord> {
        match self.spares.take() {
            Some(mut file) => file.write_all(content).map(|()| NewRecord::Nameless(file)),
            None => self.write_named(content).map(NewRecord::Named),
        }
    }

    /// Writes a file with a name in `new`.
    fn write_named(&self, content: &[u8]) -> io::Result<FileName> {
        let name = new_name();
        if let Err(error) = self.create(&name)?.write_all(content) {
            // It may be what fills the disk.
            let _ = self.remove(&name);
            return Err(error);
        }
        Ok(name)
    }

    /// Gives a record with this content its name, in place of the one before.
    pub(crate) fn publish(&self, record: NewRecord, content: &[u8], name: &FileName) -> io::Result<()> {
        let new = match record {
            NewRecord::Nameless(file) => {
                if self.spares.give_name(&file, &self.directory, name) {
                    return Ok(());
                }
                // There is one before, which only a rename replaces; or files without names cannot get any here.
                let new = new_name();
                match self.spares.give_name(&file, &self.directory, &new) {
                    true => new,
                    false => self.write_named(content)?,
                }
            }
            NewRecord::Named(new) => new,
        };
        self.rename(&new, name).inspect_err(|_| drop(self.remove(&new)))
    }

    /// Removes a record that nobody is to see.
    pub(crate) fn withdraw(&self, record: NewRecord) {
        if let NewRecord::Named(new) = record {
            let _ = self.remove(&new);
        }
    }

    /// Gives a new file its name, in place of the file before.
    pub(crate) fn rename(&self, new: &FileName, name: &FileName) -> io::Result<()> {
        Ok(renameat(&self.directory, new.path(), &self.directory, name.path())?)
    }

    /// Has a file removed by the thread that writes.
    pub(crate) fn discard(&self, name: FileName, room: Option<Arc<Reservation>>) {
        self.discarded.lock().unwrap_or_else(PoisonError::into_inner).push((name, room));
    }

    /// The files that are to be removed.
    pub(crate) fn take_discarded(&self) -> Vec<(FileName, Option<Arc<Reservation>>)> {
        std::mem::take(&mut *self.discarded.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Removes what a crash has left while it was being written; if others may be writing, only what is old.
    pub(crate) fn remove_unfinished(&self, is_alone: bool) -> io::Result<()> {
        for file in self.files(NEW, 0)? {
            if is_alone || time::wall().duration_since(file.used).is_ok_and(|age| age > UNFINISHED_AGE) {
                self.remove(&file.name)?;
            }
        }
        Ok(())
    }
}

/// A name in `new`. It is unpredictable: two processes in containers of their own may have the same number.
fn new_name() -> FileName {
    let number = RandomState::new().hash_one(0_u8);
    FileName::of(format!("{NEW}/{number:016x}"), 0)
}
