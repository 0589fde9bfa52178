//! The part of a response that its server has sent and its client has not read: a little in memory, the rest in a file.

use std::{
    collections::VecDeque,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use serow_message::{BodySender, Headers, IncomingError, Wanted};
use serow_net::WarningPace;

use super::{BufferError, BufferSettings, MIN_WRITE, OverflowFile, OverflowPart};

/// The part of a response that its client has not read.
pub(super) struct Backlog {
    settings: Arc<BufferSettings>,
    /// In the file; these come first.
    parts: VecDeque<OverflowPart>,
    /// On its way into the file.
    writing: Option<Writing>,
    /// Data that could not be written. Nothing more is taken until the client has read it.
    unwritten: Bytes,
    /// Behind all that. Copied together, since a small piece can be a slice of a large buffer, which it would keep.
    gathered: Vec<u8>,
    end: Option<End>,
}

/// Data on its way into the file.
struct Writing {
    bytes: Bytes,
    writing: Pin<Box<dyn Future<Output = Result<OverflowPart, BufferError>> + Send>>,
}

/// How a response ends.
pub(super) enum End {
    /// It is whole, with these trailers.
    Whole(Option<Headers>),
    /// The rest will not come.
    Failed(IncomingError),
}

/// How far the client is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lag {
    /// It has not read everything.
    Behind,
    /// It has read everything, and waits for more.
    None,
    /// It has everything, and the end.
    Ended,
    /// It is gone, or cannot get the rest.
    Abandoned,
}

impl Backlog {
    /// Nothing yet.
    pub(super) fn new(settings: Arc<BufferSettings>) -> Self {
        let (parts, unwritten, gathered) = (VecDeque::new(), Bytes::new(), Vec::new());
        Self { settings, parts, writing: None, unwritten, gathered, end: None }
    }

    /// Whether it takes another piece.
    pub(super) fn has_room(&self) -> bool {
        self.writing.is_none() && self.unwritten.is_empty() && self.gathered.len() < self.most_gathered()
    }

    /// Adds a piece.
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.gathered.extend_from_slice(piece);
    }

    /// Nothing comes behind this.
    pub(super) fn end(&mut self, end: End) {
        self.end = Some(end);
    }

    /// Hands over pieces as the client asks for them, and writes to the file.
    pub(super) fn poll_deliver(&mut self, sender: &BodySender, context: &mut Context<'_>) -> Lag {
        loop {
            self.poll_write(context);
            match sender.poll_wanted(context) {
                Poll::Ready(Wanted::More) => {}
                Poll::Ready(Wanted::Nothing) => return Lag::Abandoned,
                Poll::Pending => return Lag::Behind,
            }
            match self.poll_next(context) {
                Poll::Ready(Ok(Some(piece))) => sender.push(piece, context),
                Poll::Ready(Ok(None)) => match self.end.take() {
                    None => return Lag::None,
                    Some(End::Whole(trailers)) => {
                        sender.finish(trailers);
                        return Lag::Ended;
                    }
                    Some(End::Failed(error)) => {
                        sender.fail(error);
                        return Lag::Ended;
                    }
                },
                Poll::Ready(Err(error)) => {
                    log(&error, &self.settings, "the client does not get the rest");
                    sender.fail(IncomingError::ResponseCutOff);
                    return Lag::Abandoned;
                }
                Poll::Pending if sender.poll_abandoned(context).is_ready() => return Lag::Abandoned,
                Poll::Pending => return Lag::Behind,
            }
        }
    }

    /// The next piece, if there is one.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, BufferError>> {
        while let Some(part) = self.parts.front_mut() {
            match ready!(part.poll_read(context)) {
                Some(read) => return Poll::Ready(read.map(Some).map_err(BufferError::Storage)),
                None => self.parts.pop_front(),
            };
        }
        if !self.unwritten.is_empty() {
            return Poll::Ready(Ok(Some(mem::take(&mut self.unwritten))));
        }
        if self.writing.is_some() {
            return Poll::Pending;
        }
        let gathered = mem::take(&mut self.gathered);
        Poll::Ready(Ok((!gathered.is_empty()).then(|| gathered.into())))
    }

    /// Writes what is too much for memory.
    fn poll_write(&mut self, context: &mut Context<'_>) {
        loop {
            if let Some(Writing { writing, bytes }) = &mut self.writing {
                match writing.as_mut().poll(context) {
                    Poll::Pending => return,
                    Poll::Ready(Ok(part)) => self.parts.push_back(part),
                    Poll::Ready(Err(error)) => {
                        log(&error, &self.settings, "an upstream server waits for the client: free space there");
                        self.unwritten = mem::take(bytes);
                    }
                }
                self.writing = None;
            }
            if self.gathered.len() < self.most_gathered() || !self.unwritten.is_empty() {
                return;
            }
            let bytes = Bytes::from(mem::take(&mut self.gathered));
            let (settings, pieces) = (Arc::clone(&self.settings), vec![bytes.clone()]);
            let file = self.parts.back().map(|part| Arc::clone(part.file()));
            let writing = Box::pin(async move { OverflowFile::append(file, &settings, pieces).await });
            self.writing = Some(Writing { bytes, writing });
        }
    }

    fn most_gathered(&self) -> usize {
        self.settings.memory.max(MIN_WRITE)
    }
}

/// Logs why servers have to wait for slow clients, or why one of these does not get its response.
fn log(error: &BufferError, settings: &BufferSettings, consequence: &str) {
    static PACE: WarningPace = WarningPace::new();
    if !PACE.is_due() {
        return;
    }
    let folder = settings.folder.display();
    match error {
        BufferError::SpoolFull { limit } => tracing::warn!(
            "responses to slow clients fill their part of the {limit} bytes in {folder}: upstream servers wait for these \
             clients; --max-spool (max-spool) sets the limit"
        ),
        BufferError::Client(error) => {
            tracing::error!("cannot buffer a response to a slow client: {error}; {consequence}")
        }
        BufferError::Storage(error) => {
            tracing::error!("cannot buffer a response to a slow client in {folder}: {error}; {consequence}")
        }
    }
}
