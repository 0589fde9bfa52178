//! Contents that are large, each in a file of its own beside that of its key.

use std::{
    collections::hash_map::RandomState,
    fs::{File, Metadata},
    hash::BuildHasher,
    io,
    os::unix::fs::{FileExt, MetadataExt},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use rustix::io::Errno;
use serow_cache::{ContentFile, ContentReference, ContentWriter, KeptContent};
use serow_message::{FileRange, FileVersion};
use serow_net::monotonic;

use crate::{
    disk_health::DiskHealth,
    disk_space::{DiskSpace, Reservation},
    file_name::FileName,
    folder::{Folder, TOUCH_INTERVAL, rounded},
    pending::Pending,
};

/// A content that is arriving. Dropped before it is finished, its file is removed.
#[derive(Debug)]
pub(crate) struct ArrivingFile {
    folder: Arc<Folder>,
    health: Arc<DiskHealth>,
    pending: Arc<Pending>,
    record: FileName,
    file: Arc<File>,
    /// Bytes that have been written.
    length: AtomicU64,
    /// Nothing when it is finished.
    name: Mutex<Option<FileName>>,
    reservation: Arc<Reservation>,
}

/// A content that is whole.
#[derive(Debug)]
pub(crate) struct KeptFile {
    folder: Arc<Folder>,
    space: Arc<DiskSpace>,
    record: FileName,
    reference: ContentReference,
    place: Mutex<ContentPlace>,
    /// When its record was marked as used last, in seconds of the monotonic clock.
    touched: AtomicU64,
}

#[derive(Debug)]
enum ContentPlace {
    /// No record refers to it yet: the file is open, and has this name.
    New {
        file: Arc<File>,
        name: FileName,
        room: Arc<Reservation>,
    },
    /// Where its own name says. It is removed with the record that refers to it.
    Named,
    Removed,
}

impl ArrivingFile {
    /// A new file for a content of the key whose file has this name.
    pub(crate) fn create(
        folder: &Arc<Folder>,
        health: &Arc<DiskHealth>,
        pending: &Arc<Pending>,
        record: FileName,
        reservation: Reservation,
    ) -> io::Result<Self> {
        let (name, file) = folder.new_file()?;
        Ok(Self {
            folder: Arc::clone(folder),
            health: Arc::clone(health),
            pending: Arc::clone(pending),
            record,
            file: Arc::new(file),
            length: AtomicU64::new(0),
            name: Mutex::new(Some(name)),
            reservation: Arc::new(reservation),
        })
    }

    fn take_name(&self) -> Option<FileName> {
        self.name.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ContentWriter for ArrivingFile {
    fn file(&self) -> &Arc<File> {
        &self.file
    }

    fn write(&self, pieces: &[Bytes]) -> io::Result<u64> {
        let start = self.length.load(Ordering::Relaxed);
        let bytes: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
        if !self.reservation.grow_to(start + bytes) {
            // Others are arriving, and their responses are stored.
            self.health.note_dropped();
            return Err(Errno::FBIG.into());
        }
        let mut offset = start;
        for piece in pieces {
            self.file.write_all_at(piece, offset).inspect_err(|error| self.health.fail(error))?;
            offset += piece.len() as u64;
        }
        self.reservation.add_arrived(bytes);
        if self.reservation.space().is_exceeded() {
            self.pending.wake();
        }
        self.length.store(offset, Ordering::Relaxed);
        Ok(offset)
    }

    fn finish(&self) -> Option<Arc<dyn ContentFile>> {
        let length = self.length.load(Ordering::Relaxed);
        let metadata = self.file.metadata().ok().filter(|metadata| metadata.len() == length)?;
        // Unpredictable, so that no two processes choose the same.
        let number = RandomState::new().hash_one(length);
        let reference = ContentReference { number, length, modified: modified(&metadata) };
        let (file, room) = (Arc::clone(&self.file), Arc::clone(&self.reservation));
        Some(Arc::new(KeptFile {
            folder: Arc::clone(&self.folder),
            space: Arc::clone(self.reservation.space()),
            record: self.record.clone(),
            reference,
            place: Mutex::new(ContentPlace::New { file, name: self.take_name()?, room }),
            touched: AtomicU64::new(seconds()),
        }))
    }
}

impl Drop for ArrivingFile {
    fn drop(&mut self) {
        if let Some(name) = self.take_name() {
            self.folder.discard(name, Some(Arc::clone(&self.reservation)));
            self.pending.wake();
        }
    }
}

impl KeptFile {
    /// The content that a record refers to.
    pub(crate) fn referred(
        folder: &Arc<Folder>,
        space: &Arc<DiskSpace>,
        record: FileName,
        reference: ContentReference,
    ) -> Self {
        let (folder, space) = (Arc::clone(folder), Arc::clone(space));
        let (place, touched) = (Mutex::new(ContentPlace::Named), AtomicU64::new(seconds()));
        Self { folder, space, record, reference, place, touched }
    }

    fn name(&self) -> FileName {
        self.record.with_number(self.reference.number)
    }

    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, ContentPlace> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the record as used, since it is not read for each request.
    fn touch(&self) {
        let (before, now) = (self.touched.load(Ordering::Relaxed), seconds());
        if now - before >= TOUCH_INTERVAL.as_secs() {
            self.touched.store(now, Ordering::Relaxed);
            // Only the order of removals depends on it.
            let _ = self.folder.touch(&self.record);
        }
    }

    /// The file, if it is there.
    fn file(&self) -> io::Result<Option<Arc<File>>> {
        match &*self.lock() {
            ContentPlace::New { file, .. } => Ok(Some(Arc::clone(file))),
            ContentPlace::Named => match self.folder.file(&self.name()) {
                Ok(file) => Ok(Some(Arc::new(file))),
                Err(Errno::NOENT | Errno::LOOP) => Ok(None),
                Err(error) => Err(error.into()),
            },
            ContentPlace::Removed => Ok(None),
        }
    }
}

impl ContentFile for KeptFile {
    fn reference(&self) -> ContentReference {
        self.reference
    }

    fn open(&self) -> io::Result<Option<FileRange>> {
        let Some(file) = self.file()? else { return Ok(None) };
        let metadata = file.metadata()?;
        let ContentReference { length, modified: expected, .. } = self.reference;
        // A file that was written to has another content. After a crash of the machine, a file has only the bytes that
        // had reached the disk: it is too short.
        if !metadata.is_file() || metadata.len() != length || modified(&metadata) != expected {
            return Ok(None);
        }
        self.touch();
        Ok(Some(FileRange { file, offset: 0, length, version: Some(FileVersion::of(&metadata)) }))
    }

    fn keep(&self) -> io::Result<KeptContent> {
        let mut place = self.lock();
        let room = match &*place {
            ContentPlace::New { name, room, .. } => match self.folder.rename(name, &self.name()) {
                Ok(()) => Arc::clone(room),
                // It took longer than files are left there.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    *place = ContentPlace::Removed;
                    return Ok(KeptContent::Gone);
                }
                Err(error) => return Err(error),
            },
            ContentPlace::Named => return Ok(KeptContent::WasNamed),
            ContentPlace::Removed => return Ok(KeptContent::Gone),
        };
        *place = ContentPlace::Named;
        room.release();
        self.space.add(&self.record, rounded(self.reference.length));
        Ok(KeptContent::Named)
    }

    fn discard(&self) {
        let mut place = self.lock();
        if let ContentPlace::New { name, room, .. } = &*place {
            self.folder.discard(name.clone(), Some(Arc::clone(room)));
            *place = ContentPlace::Removed;
        }
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        self.discard();
    }
}

fn modified(metadata: &Metadata) -> u64 {
    let nanoseconds = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    u64::try_from(nanoseconds).unwrap_or_default()
}

fn seconds() -> u64 {
    monotonic().as_secs()
}
