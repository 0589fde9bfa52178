//! Contents that are too large for memory, each in a file of its own beside that of its key.

use std::{
    collections::hash_map::RandomState,
    fs::{File, Metadata},
    hash::BuildHasher,
    io,
    os::unix::fs::MetadataExt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serow_cache::{ContentFile, ContentReference, NewContent};
use serow_message::{FileRange, FileVersion};

use crate::{
    disk_space::{DiskSpace, Reservation},
    folder::{FileName, Folder, rounded},
};

/// A content that is arriving. Dropped, its file is removed.
#[derive(Debug)]
pub(crate) struct ArrivingFile {
    folder: Arc<Folder>,
    record: FileName,
    file: Arc<File>,
    /// Nothing when it is finished.
    name: Option<FileName>,
    reservation: Option<Reservation>,
}

/// A content that is whole.
#[derive(Debug)]
pub(crate) struct KeptFile {
    folder: Arc<Folder>,
    space: Arc<DiskSpace>,
    name: FileName,
    reference: ContentReference,
    place: Mutex<Place>,
}

#[derive(Debug)]
enum Place {
    /// No record refers to it yet: the file is open, and has this name. What it takes is reserved.
    New {
        file: Arc<File>,
        name: FileName,
        _room: Reservation,
    },
    /// Where its own name says.
    Named,
    Removed,
}

impl ArrivingFile {
    /// A new file for a content of the key whose file has this name.
    pub(crate) fn create(folder: &Arc<Folder>, record: FileName, reservation: Reservation) -> io::Result<Self> {
        let (name, file) = folder.new_file()?;
        let (folder, file) = (Arc::clone(folder), Arc::new(file));
        Ok(Self { folder, record, file, name: Some(name), reservation: Some(reservation) })
    }
}

impl NewContent for ArrivingFile {
    fn file(&self) -> &Arc<File> {
        &self.file
    }

    fn reserve(&mut self, length: u64) -> bool {
        self.reservation.as_mut().is_some_and(|reservation| reservation.grow_to(length))
    }

    fn finish(mut self: Box<Self>, length: u64) -> Option<Arc<dyn ContentFile>> {
        let metadata = self.file.metadata().ok().filter(|metadata| metadata.len() == length)?;
        // Unpredictable, so that no two processes choose the same.
        let number = RandomState::new().hash_one(length);
        let reference = ContentReference { number, length, modified: modified(&metadata) };
        let (new, reservation) = (self.name.take()?, self.reservation.take()?);
        let (folder, space, name) = (Arc::clone(&self.folder), reservation.space(), self.record.with_number(number));
        let place = Mutex::new(Place::New { file: Arc::clone(&self.file), name: new, _room: reservation });
        Some(Arc::new(KeptFile { folder, space, name, reference, place }))
    }
}

impl Drop for ArrivingFile {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = self.folder.remove(name);
        }
    }
}

impl KeptFile {
    /// The content that a record refers to.
    pub(crate) fn referred(
        folder: &Arc<Folder>,
        space: &Arc<DiskSpace>,
        record: &FileName,
        reference: ContentReference,
    ) -> Self {
        let (folder, space) = (Arc::clone(folder), Arc::clone(space));
        let name = record.with_number(reference.number);
        Self { folder, space, name, reference, place: Mutex::new(Place::Named) }
    }

    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ContentFile for KeptFile {
    fn reference(&self) -> ContentReference {
        self.reference
    }

    fn open(&self) -> Option<FileRange> {
        let file = match &*self.lock() {
            Place::New { file, .. } => Arc::clone(file),
            Place::Named => Arc::new(self.folder.file(&self.name).ok()?),
            Place::Removed => return None,
        };
        let metadata = file.metadata().ok()?;
        let ContentReference { length, modified: expected, .. } = self.reference;
        // What a crash of the machine or somebody else has cut off or written to is another content.
        if !metadata.is_file() || metadata.len() != length || modified(&metadata) != expected {
            return None;
        }
        Some(FileRange { file, offset: 0, length, version: Some(FileVersion::of(&metadata)) })
    }

    fn keep(&self) -> io::Result<()> {
        let mut place = self.lock();
        match &*place {
            Place::New { name, .. } => self.folder.rename(name, &self.name)?,
            Place::Named | Place::Removed => return Ok(()),
        }
        *place = Place::Named;
        self.space.add(&self.name, rounded(self.reference.length));
        Ok(())
    }

    fn abandon(&self) {
        match std::mem::replace(&mut *self.lock(), Place::Removed) {
            Place::New { name, .. } => drop(self.folder.remove(&name)),
            Place::Named => {
                if self.folder.remove(&self.name).is_ok_and(|was_there| was_there) {
                    self.space.subtract(&self.name, rounded(self.reference.length));
                }
            }
            Place::Removed => {}
        }
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        if let Place::New { name, .. } = &*self.lock() {
            let _ = self.folder.remove(name);
        }
    }
}

fn modified(metadata: &Metadata) -> u64 {
    let nanoseconds = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    u64::try_from(nanoseconds).unwrap_or_default()
}
