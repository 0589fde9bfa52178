//! Files that are created before they are needed.

use std::{
    fs::File,
    os::fd::{AsFd, AsRawFd},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::{
    fs::{AtFlags, CWD, OFlags, linkat, openat},
    io::Errno,
};

use crate::{
    file_name::FileName,
    folder::{FILE_MODE, NEW},
};

/// Files that are created before they are needed, since that may take ten times as long as to write and to rename one: ext4
/// passes over all inodes of files that were deleted in the last seconds.
///
/// They have no names yet (`O_TMPFILE`): nobody else sees them, and none is left when the process ends, however it ends.
#[derive(Debug, Default)]
pub(crate) struct SpareFiles {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
enum State {
    /// No spare file has been requested yet, or none since the system refused one.
    #[default]
    Unwanted,
    Wanted(Vec<File>),
}

impl SpareFiles {
    /// An empty file, if there is a spare one. From now on, others are wanted.
    pub(crate) fn take(&self) -> Option<File> {
        match &mut *self.lock() {
            State::Wanted(files) => files.pop(),
            state => {
                *state = State::Wanted(Vec::new());
                None
            }
        }
    }

    /// Gives one that was taken this name below the folder, if no file has it; whether it has it now.
    pub(crate) fn give_name(&self, file: &File, folder: impl AsFd, name: &FileName) -> bool {
        // To name the descriptor itself (AT_EMPTY_PATH) takes a privilege.
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        match linkat(CWD, link, folder, name.path(), AtFlags::SYMLINK_FOLLOW) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => {
                // Those that are left are no better.
                self.refuse(error);
                false
            }
        }
    }

    /// Whether another one is wanted.
    pub(crate) fn are_wanted(&self) -> bool {
        matches!(&*self.lock(), State::Wanted(files) if files.len() < MAX_SPARES)
    }

    /// Creates another one.
    pub(crate) fn add(&self, folder: impl AsFd) {
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        match openat(folder, NEW, flags, FILE_MODE) {
            Ok(file) => {
                if let State::Wanted(files) = &mut *self.lock() {
                    files.push(file.into());
                }
            }
            Err(error) => self.refuse(error),
        }
    }

    /// The system refuses them: none is wanted until the next call of [`take`](Self::take).
    fn refuse(&self, error: Errno) {
        tracing::debug!("cache: no spare files: {error}");
        *self.lock() = State::Unwanted;
    }

    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Twice what a burst of responses takes until the thread that writes is idle again, in `tests/cache`. Each takes a
/// descriptor.
const MAX_SPARES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_them_is_asked_once_for_each_file() {
        let (spares, folder) = (SpareFiles::default(), File::open("/proc/self").unwrap());
        assert!(!spares.are_wanted(), "nothing has been stored");
        for _ in 0..2 {
            assert!(spares.take().is_none() && spares.are_wanted());
            spares.add(&folder);
            assert!(!spares.are_wanted());
        }
    }

    #[test]
    fn a_file_that_cannot_be_named_is_the_last() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(NEW)).unwrap();
        let (spares, directory) = (SpareFiles::default(), File::open(folder.path()).unwrap());
        assert!(spares.take().is_none());
        (0..3).for_each(|_| spares.add(&directory));
        let (first, second) = (spares.take().unwrap(), spares.take().unwrap());
        let name = |text: &str| FileName::of(text.to_owned(), 0);
        assert!(spares.give_name(&first, &directory, &name("a")));
        assert!(!spares.give_name(&second, &directory, &name("a")) && spares.are_wanted(), "it has another one");
        assert!(!spares.give_name(&second, &directory, &name("none/a")) && !spares.are_wanted());
        assert!(spares.take().is_none());
    }
}
