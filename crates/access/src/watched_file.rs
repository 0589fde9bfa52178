//! Files that are read again when they change.

use std::{
    fmt, fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, SystemTime},
};

/// A file with its parsed content, and the function that parses it.
pub struct WatchedFile<T> {
    path: PathBuf,
    parse: fn(&str) -> Result<T, String>,
    current: RwLock<Arc<T>>,
    seen: Mutex<Option<Seen>>,
}

/// Why a file cannot be used: one line with its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedFileError(String);

/// The attributes that tell one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    modified: Option<SystemTime>,
    length: u64,
    device: u64,
    inode: u64,
}

impl<T: Send + Sync + 'static> WatchedFile<T> {
    /// Reads a file. `parse` says what its text means, or what is wrong with it.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is larger than 64 MB, or its text has no meaning.
    pub fn open(path: &Path, parse: fn(&str) -> Result<T, String>) -> Result<Self, WatchedFileError> {
        let seen = Seen::of(path);
        let current = read(path, parse)?;
        Ok(Self { path: path.to_owned(), parse, current: RwLock::new(Arc::new(current)), seen: Mutex::new(seen.ok()) })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its parsed content now.
    #[must_use]
    pub fn current(&self) -> Arc<T> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the file again if it has changed. If it cannot be used, that is logged, and the earlier content stays.
    fn read_again(&self) {
        let seen = Seen::of(&self.path).ok();
        let mut before = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *before == seen {
            return;
        }
        *before = seen;
        match read(&self.path, self.parse) {
            Ok(read) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(read);
                tracing::info!("{}: the file has changed and is in use", self.path.display());
            }
            Err(error) => tracing::warn!("{error}: the file stays in use as it was before"),
        }
    }
}

impl<T> fmt::Debug for WatchedFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WatchedFile").field(&self.path).finish()
    }
}

fn read<T>(path: &Path, parse: fn(&str) -> Result<T, String>) -> Result<T, WatchedFileError> {
    let refuse = |error: &dyn fmt::Display| WatchedFileError(format!("{}: {error}", path.display()));
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() > MAX_SIZE) {
        return Err(refuse(&"the file is larger than 64 MB"));
    }
    let text = fs::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => refuse(&"there is no such file: create it, or name another one"),
        _ => refuse(&error),
    })?;
    let text = String::from_utf8(text).map_err(|_| refuse(&"the file is not written in UTF-8"))?;
    parse(&text).map_err(|error| refuse(&error))
}

impl Seen {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            modified: metadata.modified().ok(),
            length: metadata.len(),
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

impl fmt::Display for WatchedFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WatchedFileError {}

/// A thread that reads files again when they change, until this is dropped.
#[derive(Debug, Default)]
pub struct FileWatch {
    ended: Option<(Sender<()>, thread::JoinHandle<()>)>,
}

/// A file that can be looked at.
trait Watched: Send + Sync {
    fn look(&self);
}

impl<T: Send + Sync + 'static> Watched for WatchedFile<T> {
    fn look(&self) {
        self.read_again();
    }
}

/// Files to watch.
#[derive(Default)]
pub struct WatchedFiles(Vec<Arc<dyn Watched>>);

impl WatchedFiles {
    /// Adds a file.
    pub fn add<T: Send + Sync + 'static>(&mut self, file: Arc<WatchedFile<T>>) {
        self.0.push(file);
    }

    /// Looks at the files in a thread of its own, each second.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub fn watch(self) -> io::Result<FileWatch> {
        if self.0.is_empty() {
            return Ok(FileWatch::default());
        }
        let (end, ended) = channel::<()>();
        let watch = move || {
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                self.0.iter().for_each(|file| file.look());
            }
        };
        let thread = thread::Builder::new().name("serow-access".to_owned()).spawn(watch)?;
        Ok(FileWatch { ended: Some((end, thread)) })
    }
}

impl fmt::Debug for WatchedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WatchedFiles").field(&self.0.len()).finish()
    }
}

impl Drop for FileWatch {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.ended.take() {
            drop(end);
            // A panic of the thread is in the log.
            let _ = thread.join();
        }
    }
}

/// A list of all networks of the Internet has 20 MB.
const MAX_SIZE: u64 = 64 << 20;

/// Someone who has changed a file tries it at once.
const INTERVAL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<u32, String> {
        text.trim().parse().map_err(|_| "expected a number".to_owned())
    }

    #[test]
    fn a_file_that_changes_is_read_again_and_one_that_is_wrong_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("number");
        assert!(WatchedFile::open(&path, number).is_err());
        fs::write(&path, "1").unwrap();
        let file = WatchedFile::open(&path, number).unwrap();
        for (text, expected) in [(Some("1"), 1), (Some("22"), 22), (Some("x"), 22), (None, 22), (Some("333"), 333)] {
            match text {
                Some(text) => fs::write(&path, text).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            file.read_again();
            assert_eq!(*file.current(), expected, "{text:?}");
        }
        fs::write(&path, "x").unwrap();
        assert_eq!(
            WatchedFile::open(&path, number).unwrap_err().to_string(),
            format!("{}: expected a number", path.display())
        );
    }
}
