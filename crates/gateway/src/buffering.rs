//! Request bodies that are read completely before the request is passed on: in memory, or in an unnamed file if they
//! are long. Responses that their clients do not read as fast as they come: likewise.
//!
//! Slow clients then keep no server busy, and a request can be sent to several servers one after the other.

mod backlog;
mod buffered_sender;
mod overflow;
mod spool;
mod unnamed_file;

use std::{
    error::Error,
    fmt,
    fs::File,
    future::poll_fn,
    io,
    io::Write,
    mem,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use serow_message::{Body, BoxError, FileRange, Headers, StatusCode};
use tokio::task::spawn_blocking;

use self::spool::SpoolShare;
pub use self::{
    buffered_sender::{BufferedSender, ResponseBuffering},
    overflow::{OverflowFile, OverflowPart},
    spool::SpoolSpace,
};
use crate::trailers::with_trailers;

/// How bodies are buffered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferSettings {
    /// Bytes that are kept in memory; longer bodies go to a file. 64 KiB.
    pub memory: usize,
    /// The folder for the files, which have no name there.
    pub folder: PathBuf,
    /// The space for all of them; by default that of the process, 1 GiB.
    pub spool: SpoolSpace,
}

impl Default for BufferSettings {
    fn default() -> Self {
        Self { memory: 64 * 1024, folder: std::env::temp_dir(), spool: SpoolSpace::default() }
    }
}

/// A body that is all here, and can be sent any number of times.
#[derive(Debug)]
pub struct BufferedBody {
    content: BufferedContent,
    trailers: Option<Headers>,
}

/// The place of a buffered body.
#[derive(Debug)]
pub enum BufferedContent {
    /// In memory.
    Memory(Bytes),
    /// In a file that has no name.
    File(SpooledFile),
}

/// A body in a file that has no name. When this is dropped, its share of the [`SpoolSpace`] is free again.
#[derive(Debug)]
pub struct SpooledFile {
    file: Arc<File>,
    length: u64,
    _share: SpoolShare,
}

/// Why a body is not here.
#[derive(Debug)]
pub enum BufferError {
    /// The client did not send all of the body.
    Client(BoxError),
    /// It could not be put into a file.
    Storage(io::Error),
    /// Other bodies occupy the space for files.
    SpoolFull {
        /// Bytes of all of them.
        limit: u64,
    },
}

impl BufferedBody {
    /// Reads a complete body. The server in front of this handler limits its time and size.
    ///
    /// # Errors
    ///
    /// The client's and the file system's.
    pub async fn read(mut body: Body, settings: &BufferSettings) -> Result<Self, BufferError> {
        let mut store = Store { settings, gathered: Vec::new(), file: None, written: 0, share: None };
        let mut trailers = None;
        while let Some(frame) = poll_fn(|context| body.poll_next(context)).await {
            match frame.map_err(BufferError::Client)?.into_data() {
                Ok(data) => store.add(&data).await?,
                Err(frame) => trailers = frame.trailers_ref().and_then(|trailers| trailers.try_into().ok()),
            }
        }
        let content = store.finish().await?;
        Ok(Self { content, trailers })
    }

    /// The body without its trailers.
    #[must_use]
    pub fn into_content(self) -> BufferedContent {
        self.content
    }

    /// The body, from its start.
    pub fn body(&self) -> Body {
        match &self.trailers {
            Some(trailers) => with_trailers(self.data(), trailers.clone()),
            None => self.data(),
        }
    }

    /// The body without its trailers: bytes in memory, or a file.
    fn data(&self) -> Body {
        match &self.content {
            BufferedContent::Memory(bytes) => bytes.clone().into(),
            BufferedContent::File(SpooledFile { file, length, .. }) => {
                // The file has no name and is open nowhere else, so its content cannot change.
                Body::file(FileRange { file: Arc::clone(file), offset: 0, length: *length, version: None })
            }
        }
    }
}

/// The part of a body that has been read.
struct Store<'a> {
    settings: &'a BufferSettings,
    /// Not in the file; never more than the settings allow.
    gathered: Vec<u8>,
    file: Option<File>,
    /// Bytes in the file.
    written: u64,
    /// The share of the space for files, once there is a file.
    share: Option<SpoolShare>,
}

impl Store<'_> {
    async fn add(&mut self, mut data: &[u8]) -> Result<(), BufferError> {
        loop {
            let room = self.settings.memory.max(MIN_WRITE) - self.gathered.len();
            let (now, later) = data.split_at(room.min(data.len()));
            // Data up to the limit stays in memory; a file takes everything beyond.
            if later.is_empty() {
                self.gathered.extend_from_slice(now);
                return Ok(());
            }
            self.gathered.extend_from_slice(now);
            self.write().await?;
            data = later;
        }
    }

    /// Writes the gathered data to the file. Usually that is a copy to the page cache, but it blocks when the disk is
    /// slow, and other requests must not wait for that.
    async fn write(&mut self) -> Result<(), BufferError> {
        let share = self.share.get_or_insert_with(|| SpoolShare::new(&self.settings.spool));
        share.grow(self.gathered.len() as u64).map_err(|limit| BufferError::SpoolFull { limit })?;
        let (mut gathered, file) = (mem::take(&mut self.gathered), self.file.take());
        let folder = file.is_none().then(|| self.settings.folder.clone());
        let length = gathered.len() as u64;
        let written = spawn_blocking(move || {
            let mut file = match file {
                Some(file) => file,
                None => unnamed_file::make(folder.as_deref().unwrap_or(Path::new("/tmp")))?,
            };
            file.write_all(&gathered)?;
            gathered.clear();
            Ok((file, gathered))
        });
        let (file, gathered) =
            written.await.unwrap_or_else(|panic| Err(io::Error::other(panic))).map_err(BufferError::Storage)?;
        (self.file, self.gathered) = (Some(file), gathered);
        self.written += length;
        Ok(())
    }

    async fn finish(mut self) -> Result<BufferedContent, BufferError> {
        if self.file.is_some() && !self.gathered.is_empty() {
            self.write().await?;
        }
        Ok(match self.file.zip(self.share) {
            Some((file, share)) => {
                BufferedContent::File(SpooledFile { file: Arc::new(file), length: self.written, _share: share })
            }
            None => BufferedContent::Memory(self.gathered.into()),
        })
    }
}

impl SpooledFile {
    /// The file. Its position is wherever its last reader has left it.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its length in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }
}

impl fmt::Display for BufferError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => write!(formatter, "request body incomplete: {error}"),
            Self::Storage(error) => write!(formatter, "cannot buffer a request body: {error}"),
            Self::SpoolFull { limit } => write!(formatter, "buffered request bodies would exceed {limit} bytes"),
        }
    }
}

impl Error for BufferError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Client(error) => Some(&**error),
            Self::Storage(error) => Some(error),
            Self::SpoolFull { .. } => None,
        }
    }
}

impl BufferError {
    /// The status for the client.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Client(_) => StatusCode::BAD_REQUEST,
            // RFC 4918 §11.5: temporary, and not the client's fault.
            Self::Storage(_) => StatusCode::INSUFFICIENT_STORAGE,
            // There is room again when other requests have been forwarded.
            Self::SpoolFull { .. } => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Logs the error with its remedy.
    pub fn log(&self, upstream: &str, settings: &BufferSettings) {
        match self {
            Self::Client(error) => tracing::debug!(upstream, %error, "request body incomplete"),
            Self::Storage(error) => {
                let folder = settings.folder.display();
                tracing::error!(upstream, "cannot buffer a request body in {folder}: {error}; free space there");
            }
            Self::SpoolFull { limit } => tracing::error!(
                upstream,
                "request refused: buffered request bodies would exceed {limit} bytes in {}; --max-spool (max-spool) sets the \
                 limit",
                settings.folder.display()
            ),
        }
    }
}

/// The minimum of a write, since each one costs a thread switch.
const MIN_WRITE: usize = 16 * 1024;

#[cfg(test)]
mod response_tests;
#[cfg(test)]
mod tests;
