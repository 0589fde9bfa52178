//! A body that is compressed while it is sent.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::Frame;
use serow_message::{Body, BoxError};

use crate::{Encoder, EncoderSettings, Permit};

/// A body that is compressed while it is sent: a piece is read only when the client has taken the pieces before it, and
/// compressed bytes are sent as soon as the source has no more. Pieces that arrive without a pause are gathered before
/// an encoder is taken, so that bodies that arrive at the same time use the same one, one after the other: its tables,
/// some hundred kilobytes, are then in the processor's cache.
pub struct CompressedBody {
    stage: BodyStage,
    output: Vec<u8>,
}

/// How far it is.
enum BodyStage {
    /// The source is read.
    Open(Box<Open>),
    /// All of it was compressed; these trailers follow.
    Ended(Option<HeaderMap>),
    /// The source has failed, so the body must not end like a complete one.
    Failed,
}

/// A source that is read.
struct Open {
    source: Body,
    settings: EncoderSettings,
    /// Taken when there is something to compress.
    encoder: Option<Encoder>,
    /// Pieces that were read before there was an encoder.
    gathered: VecDeque<Bytes>,
    gathered_bytes: usize,
    /// The rest of the piece that is compressed.
    rest: Bytes,
    has_ended: bool,
    trailers: Option<HeaderMap>,
    /// Whether each piece is sent by itself, like an event.
    is_live: bool,
    progress: Progress,
    /// Bytes compressed since others had their turn.
    since_turn: usize,
    /// Given back when the body is dropped.
    _permit: Permit,
}

/// Whether all bytes that were read are in the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// They are: a client can decode them.
    Flushed,
    /// Some may be in the encoder.
    Behind,
    /// The same; others had their turn meanwhile, who may have had more for the source.
    Waited,
}

impl CompressedBody {
    /// Compresses a body.
    pub fn new(source: Body, settings: EncoderSettings, is_live: bool, permit: Permit) -> Self {
        let open = Open {
            source,
            settings,
            encoder: None,
            gathered: VecDeque::new(),
            gathered_bytes: 0,
            rest: Bytes::new(),
            has_ended: false,
            trailers: None,
            is_live,
            progress: Progress::Flushed,
            since_turn: 0,
            _permit: permit,
        };
        Self { stage: BodyStage::Open(Box::new(open)), output: Vec::new() }
    }

    /// The body of a HEAD: nothing, of a length that is not known.
    pub fn ended() -> Self {
        Self { stage: BodyStage::Ended(None), output: Vec::new() }
    }

    /// Takes the compressed bytes; there may be none.
    fn take_output(&mut self) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.output).into()))))
    }

    fn fail(&mut self, error: BoxError) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.stage = BodyStage::Failed;
        Poll::Ready(Some(Err(error)))
    }

    /// Ends the coded body; its trailers follow.
    fn end(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.stage, BodyStage::Failed) {
            BodyStage::Open(open) => {
                let Open { settings, encoder, trailers, .. } = *open;
                encoder.map_or_else(|| Encoder::new(settings), Ok)?.finish(&mut self.output)?;
                self.stage = BodyStage::Ended(trailers);
            }
            other => self.stage = other,
        }
        Ok(())
    }
}

/// The outcome of a step.
enum CompressionStep {
    /// There is more to do.
    Again,
    /// The output is to be sent.
    Send,
    /// Others get their turn.
    GiveWay,
    /// The source has nothing at the moment.
    Wait,
    /// The source has ended.
    End,
}

impl Open {
    /// Reads or compresses a little.
    fn step(&mut self, output: &mut Vec<u8>, context: &mut Context<'_>) -> Result<CompressionStep, BoxError> {
        if !self.rest.is_empty() {
            return Ok(self.compress(output)?);
        }
        if self.encoder.is_some()
            && let Some(piece) = self.gathered.pop_front()
        {
            self.rest = piece;
            return Ok(CompressionStep::Again);
        }
        if self.has_ended {
            return Ok(CompressionStep::End);
        }
        match self.source.poll_next(context) {
            Poll::Ready(Some(frame)) => {
                match frame?.into_data() {
                    // Its source lets others have their turn.
                    Ok(piece) if piece.is_empty() => return Ok(self.give_way()),
                    Ok(piece) => self.take_in(piece)?,
                    Err(frame) => self.trailers = frame.into_trailers().ok(),
                }
                Ok(CompressionStep::Again)
            }
            Poll::Ready(None) => {
                self.has_ended = true;
                self.encoder()?;
                Ok(CompressionStep::Again)
            }
            Poll::Pending => match self.progress {
                Progress::Flushed => Ok(CompressionStep::Wait),
                Progress::Behind => {
                    self.progress = Progress::Waited;
                    Ok(self.give_way())
                }
                // It is compressed first, and the source asked once more.
                Progress::Waited if !self.gathered.is_empty() => {
                    self.encoder()?;
                    Ok(CompressionStep::Again)
                }
                Progress::Waited => {
                    self.flush(output)?;
                    Ok(CompressionStep::Send)
                }
            },
        }
    }

    /// A piece of the source: it is gathered with others, unless there is enough or each has to be sent.
    fn take_in(&mut self, piece: Bytes) -> io::Result<()> {
        if self.encoder.is_some() {
            self.rest = piece;
            return Ok(());
        }
        self.progress = Progress::Behind;
        self.gathered_bytes += piece.len().max(SMALL);
        self.gathered.push_back(piece);
        if self.is_live || self.gathered_bytes >= MAX_GATHERED {
            self.encoder()?;
        }
        Ok(())
    }

    /// The encoder, which is taken if there is none.
    fn encoder(&mut self) -> io::Result<&mut Encoder> {
        match &mut self.encoder {
            Some(encoder) => Ok(encoder),
            none => Ok(none.insert(Encoder::new(self.settings)?)),
        }
    }

    fn compress(&mut self, output: &mut Vec<u8>) -> io::Result<CompressionStep> {
        if self.since_turn >= MAX_TURN {
            return Ok(self.give_way());
        }
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        self.encoder()?.write(&piece, output)?;
        self.since_turn += length;
        self.progress = Progress::Behind;
        if self.is_live && self.rest.is_empty() {
            self.flush(output)?;
            return Ok(CompressionStep::Send);
        }
        Ok(if output.len() >= PIECE { CompressionStep::Send } else { CompressionStep::Again })
    }

    /// Others get their turn; what is in the output stays there.
    fn give_way(&mut self) -> CompressionStep {
        self.since_turn = 0;
        CompressionStep::GiveWay
    }

    fn flush(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        self.progress = Progress::Flushed;
        self.encoder()?.flush(output)
    }
}

impl http_body::Body for CompressedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let body = self.get_mut();
        loop {
            let step = match &mut body.stage {
                BodyStage::Open(open) => open.step(&mut body.output, context),
                BodyStage::Ended(trailers) => {
                    return Poll::Ready(trailers.take().map(|trailers| Ok(Frame::trailers(trailers))));
                }
                BodyStage::Failed => return Poll::Ready(None),
            };
            match step {
                Ok(CompressionStep::Again) => {}
                Ok(CompressionStep::Send) => return body.take_output(),
                // For an empty piece, the server lets others have their turn, and asks again.
                Ok(CompressionStep::GiveWay) => return Poll::Ready(Some(Ok(Frame::data(Bytes::new())))),
                Ok(CompressionStep::Wait) => return Poll::Pending,
                Ok(CompressionStep::End) => match body.end() {
                    Ok(()) => return body.take_output(),
                    Err(error) => return body.fail(error.into()),
                },
                Err(error) => return body.fail(error),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.output.is_empty() && matches!(self.stage, BodyStage::Ended(None))
    }
}

/// Bytes compressed at a time, and sent at a time.
const PIECE: usize = 16 * 1024;

/// Bytes that are gathered at most. Clients that read slowly have an encoder in memory after that, which takes more.
const MAX_GATHERED: usize = 64 * 1024;

/// A short piece counts as so many bytes: it may be a part of a buffer that it keeps.
const SMALL: usize = 1024;

/// Bytes that are compressed before other requests of the worker get their turn: about a millisecond.
const MAX_TURN: usize = 64 * 1024;

#[cfg(test)]
mod tests;
