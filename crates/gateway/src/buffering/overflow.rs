//! Parts of responses that wait in files until slow clients read them.

use std::{
    fmt,
    fs::File,
    io,
    os::unix::fs::FileExt,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use tokio::{sync::Semaphore, task::spawn_blocking};

use super::{BufferError, BufferSettings, spool::SpoolShare, unnamed_file};

/// A file without a name for the parts of one response that its client has not read yet. It is gone, and its share of
/// the [`SpoolSpace`](crate::SpoolSpace) free again, when all of its [parts](OverflowPart) are.
#[derive(Debug)]
pub struct OverflowFile {
    file: File,
    share: Mutex<SpoolShare>,
    /// Bytes that were written.
    end: AtomicU64,
}

/// A part of a response in a file.
#[derive(Debug)]
pub struct OverflowPart {
    file: Arc<OverflowFile>,
    /// The bytes of the file that were not read yet.
    offset: u64,
    length: u64,
    reading: Option<Reading>,
}

/// A read in progress.
struct Reading(Pin<Box<dyn Future<Output = io::Result<Bytes>> + Send>>);

impl fmt::Debug for Reading {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Reading")
    }
}

impl OverflowFile {
    /// Writes pieces behind those that the file has; makes a file if there is none.
    ///
    /// # Errors
    ///
    /// [`BufferError::SpoolFull`] if other bodies leave less space than this response has, and
    /// [`BufferError::Storage`]; the pieces are not in the file then.
    pub async fn append(
        file: Option<Arc<Self>>,
        settings: &BufferSettings,
        pieces: Vec<Bytes>,
    ) -> Result<OverflowPart, BufferError> {
        let length = pieces.iter().map(|piece| piece.len() as u64).sum();
        let full = |limit| BufferError::SpoolFull { limit };
        let mut share = SpoolShare::new(&settings.spool);
        match &file {
            Some(file) => file.share().grow_fairly(length).map_err(full)?,
            None => share.grow_fairly(length).map_err(full)?,
        }
        let folder = settings.folder.clone();
        let written = on_disk(move || {
            let file = match file {
                Some(file) => file,
                None => {
                    let file = unnamed_file::make(&folder)?;
                    Arc::new(Self { file, share: Mutex::new(share), end: AtomicU64::new(0) })
                }
            };
            file.write(&pieces, length)
        });
        written.await.map_err(BufferError::Storage)
    }

    fn write(self: Arc<Self>, pieces: &[Bytes], length: u64) -> io::Result<OverflowPart> {
        let offset = self.end.load(Ordering::Relaxed);
        let mut end = offset;
        for piece in pieces {
            if let Err(error) = self.file.write_all_at(piece, end) {
                self.share().give_back(length);
                return Err(error);
            }
            end += piece.len() as u64;
        }
        self.end.store(end, Ordering::Relaxed);
        Ok(OverflowPart { file: self, offset, length, reading: None })
    }

    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn share(&self) -> MutexGuard<'_, SpoolShare> {
        self.share.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OverflowPart {
    /// The file that it is in.
    #[must_use]
    pub fn file(&self) -> &Arc<OverflowFile> {
        &self.file
    }

    /// Reads the next bytes, some of them at a time; `None` behind the last one.
    ///
    /// # Errors
    ///
    /// The file system's.
    pub fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.reading.is_none() && self.length == 0 {
            return Poll::Ready(None);
        }
        let (file, offset, length) = (&self.file, self.offset, self.length.min(READ));
        let reading = self.reading.get_or_insert_with(|| {
            let file = Arc::clone(file);
            // No more than a constant. Of this thread, which also frees it: other threads keep what is freed for themselves.
            let mut bytes = vec![0; length as usize];
            Reading(Box::pin(on_disk(move || {
                file.file.read_exact_at(&mut bytes, offset)?;
                Ok(bytes.into())
            })))
        });
        let read = ready!(reading.0.as_mut().poll(context));
        self.reading = None;
        let read = read.inspect(|bytes: &Bytes| {
            self.offset += bytes.len() as u64;
            self.length -= bytes.len() as u64;
        });
        Poll::Ready(Some(read))
    }
}

/// Does this on another thread, since it blocks when the disk is slow.
async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    // It is never closed.
    let turn = TURNS.acquire().await.map_err(io::Error::other)?;
    let done = spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    done.await.unwrap_or_else(|panic| Err(io::Error::other(panic)))
}

/// How many files are written and read at the same time: more would not make a disk faster, and hundreds of clients that
/// read on at once would have hundreds of threads.
static TURNS: Semaphore = Semaphore::const_new(8);

/// Bytes that are read at a time: a fraction of what the kernel buffers for a client.
const READ: u64 = 64 * 1024;
