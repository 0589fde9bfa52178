//! The output of a program, as a response.

use std::{
    fmt,
    future::poll_fn,
    io,
    os::fd::OwnedFd,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use serow_fastcgi::{CgiError, CgiEvent, CgiResponse, ResponseForm, SectionLimits};
use serow_message::{Method, StatusCode};
use tokio::{
    net::unix::pipe::Receiver,
    time::{Instant, Sleep, sleep, timeout},
};

use crate::cgi::{handler::Asked, program::Lifeline};

/// The output of a program. Dropped before its end, it ends the program.
pub(crate) struct Output {
    pipe: Receiver,
    response: CgiResponse,
    /// Output that was read and is not parsed yet.
    piece: Bytes,
    timeout: Duration,
    deadline: Pin<Box<Sleep>>,
    lifeline: Option<Lifeline>,
    asked: Asked,
}

/// Why a response is not whole.
#[derive(Debug)]
pub(crate) enum OutputError {
    /// It cannot be read.
    Pipe(io::Error),
    /// It is not one.
    Invalid(CgiError),
    /// The program has been silent for so long.
    TimedOut(Duration),
}

impl Output {
    /// The output in this pipe, to a request with this method.
    pub(crate) fn new(
        pipe: OwnedFd,
        lifeline: Lifeline,
        method: &Method,
        timeout: Duration,
        asked: Asked,
    ) -> io::Result<Self> {
        Ok(Self {
            pipe: Receiver::from_owned_fd(pipe)?,
            response: CgiResponse::new(LIMITS, ResponseForm::Cgi, method),
            piece: Bytes::new(),
            timeout,
            deadline: Box::pin(sleep(timeout)),
            lifeline: Some(lifeline),
            asked,
        })
    }

    /// The next part of the response; nothing at its end.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<CgiEvent>, OutputError>> {
        loop {
            match self.response.receive(&mut self.piece).map_err(OutputError::Invalid)? {
                Some(CgiEvent::Excess) => {
                    self.asked
                        .warn(format_args!("the response is longer than its Content-Length; the rest is dropped"));
                    continue;
                }
                Some(event) => return Poll::Ready(Ok(Some(event))),
                None => {}
            }
            let Poll::Ready(readable) = self.pipe.poll_read_ready(context) else {
                ready!(self.deadline.as_mut().poll(context));
                return Poll::Ready(Err(OutputError::TimedOut(self.timeout)));
            };
            readable.map_err(OutputError::Pipe)?;
            let mut room = BytesMut::with_capacity(ROOM);
            match self.pipe.try_read_buf(&mut room) {
                Ok(0) => {
                    let ended = self.response.handle_end().map_err(OutputError::Invalid);
                    if ended.is_ok()
                        && let Some(lifeline) = self.lifeline.take()
                    {
                        lifeline.release();
                    }
                    return Poll::Ready(ended.map(|()| None));
                }
                Ok(_) => {
                    self.piece = room.freeze();
                    self.note_progress();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(OutputError::Pipe(error))),
            }
        }
    }

    /// The time limit begins again: the program was not the one that was waited for.
    pub(crate) fn note_progress(&mut self) {
        self.deadline.as_mut().reset(Instant::now() + self.timeout);
    }

    /// Whether all of the response is known: the rest of the output does not belong to it.
    pub(crate) fn is_whole(&self) -> bool {
        self.response.is_complete()
    }

    /// Reads the rest, which belongs to no response, so that the program can finish its work: for a time, since one that
    /// writes without end has no client any more whose end would be its own.
    pub(crate) async fn drain(mut self) {
        let (limit, asked) = (self.timeout, self.asked.clone());
        let rest = async { while let Ok(Some(_)) = poll_fn(|context| self.poll_next(context)).await {} };
        if timeout(limit, rest).await.is_err() {
            asked.warn(format_args!("the program still writes {limit:?} after its response; killed"));
        }
    }

    pub(crate) fn asked(&self) -> &Asked {
        &self.asked
    }
}

impl OutputError {
    /// The status for the client, where none was sent.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Pipe(_) | Self::Invalid(_) => StatusCode::BAD_GATEWAY,
            Self::TimedOut(_) => StatusCode::GATEWAY_TIMEOUT,
        }
    }
}

impl fmt::Display for OutputError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pipe(error) => write!(formatter, "its output cannot be read: {error}"),
            Self::Invalid(error) => error.fmt(formatter),
            Self::TimedOut(limit) => write!(formatter, "it wrote nothing for {limit:?} (`timeout`); killed"),
        }
    }
}

/// As for FastCGI: a program that never ends its header section must not fill the memory.
const LIMITS: SectionLimits = SectionLimits { bytes: 256 * 1024, fields: 1000 };

/// Bytes of one read. A pipe holds 64 KiB.
const ROOM: usize = 16 * 1024;
