//! The body of a request, whole: in memory, or a file that the worker will open.

use std::{
    fs::{self, File},
    future::poll_fn,
    io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use rustix::fs::{AtFlags, CWD, linkat};
use serow_message::{Body, BodyKind};
use serow_proxy::{BufferFailure, BufferSettings, Whole};

use crate::{
    exchange::{Event, Exchange},
    failure::Failure,
    pool::Ticket,
    words,
};

/// The body of a request. Workers are not bothered before it is whole, so that slow clients keep none of them busy.
#[derive(Debug)]
pub(crate) enum Upload {
    Nothing,
    Memory(Bytes),
    File {
        file: Arc<File>,
        length: u64,
        folder: PathBuf,
    },
    /// It follows when the application asks for it.
    Later,
    /// None, but messages in both directions.
    WebSocket,
}

impl Upload {
    /// Takes all of a body.
    pub(crate) async fn of(body: Body, settings: &BufferSettings) -> Result<Self, Failure> {
        if body.is_end() {
            return Ok(Self::Nothing);
        }
        let whole = Whole::of(body, settings).await.map_err(|failure| match failure {
            BufferFailure::Client(error) => Failure::Client(error),
            BufferFailure::Storage(error) => Failure::Storage(error),
        })?;
        Ok(match whole.data().into_kind() {
            BodyKind::Bytes(bytes) if bytes.is_empty() => Self::Nothing,
            BodyKind::Bytes(bytes) => Self::Memory(bytes),
            BodyKind::File(range) => {
                Self::File { file: Arc::clone(&range.file), length: range.length, folder: settings.folder.clone() }
            }
            // What is whole is of no other kind.
            _ => Self::Nothing,
        })
    }

    /// Whether a body is worth handing over as it comes: others are here as soon as the request.
    pub(crate) fn is_long(body: &Body) -> bool {
        !body.is_end() && body.length().is_none_or(|length| length > words::PIECE as u64)
    }

    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Nothing | Self::Later | Self::WebSocket => 0,
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }
}

/// Hands a body over as the application has room for it.
pub(crate) async fn hand_over(mut body: Body, exchange: Arc<Exchange>, ticket: Ticket) {
    let mut room = 0_usize;
    loop {
        while room == 0 {
            room = poll_fn(|context| exchange.poll_given(context)).await;
        }
        let Some(link) = exchange.link() else { return };
        match body.chunk().await {
            Some(Ok(chunk)) => {
                room = room.saturating_sub(chunk.len());
                chunk.chunks(words::PIECE).for_each(|piece| link.tell(words::BODY_PIECE, ticket, piece));
            }
            Some(Err(error)) => {
                link.tell(words::CANCEL, ticket, b"");
                return exchange.push(Event::Failed(Failure::Client(error)));
            }
            None => return link.tell(words::BODY_END, ticket, b""),
        }
    }
}

/// Gives a file without a name one, by which a worker opens it; the worker deletes it then.
pub(crate) fn name(file: &File, folder: &Path) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!(".serow-upload-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = folder.join(name);
    let here = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, &here, CWD, &path, AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => Ok(path),
        // Where its file system knows no files without names, it had one, and cannot have another.
        Err(_) => fs::copy(&here, &path).map(|_| path),
    }
}
