//! Our own unidirectional streams (RFC 9114 §6.2, RFC 9204 §4.2): what waits to be sent on them.

use alloc::vec::Vec;

use bytes::BytesMut;

use crate::{
    ErrorCode, ProtocolError,
    connection::{Connection, too_much},
    unidirectional::{CONTROL, QPACK_DECODER, QPACK_ENCODER},
    varint,
};

/// One of the unidirectional streams that each end opens when the connection begins, and never closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnStream {
    /// RFC 9114 §6.2.1.
    Control,
    /// RFC 9204 §4.2: changes of the table that our field sections refer to.
    QpackEncoder,
    /// RFC 9204 §4.2: acknowledgements of the peer's.
    QpackDecoder,
}

impl OwnStream {
    /// All of them, in the order in which what waits is best sent.
    pub const ALL: [Self; 3] = [Self::Control, Self::QpackEncoder, Self::QpackDecoder];
}

/// The bytes that wait to be sent on each.
#[derive(Debug, Default)]
pub(crate) struct OwnStreams {
    waiting: [BytesMut; OwnStream::ALL.len()],
    /// Where QPACK's instructions are put together.
    scratch: Vec<u8>,
}

impl OwnStreams {
    /// Each begins with its type.
    pub(crate) fn new() -> Self {
        let mut streams = Self::default();
        for (stream, kind) in OwnStream::ALL.into_iter().zip([CONTROL, QPACK_ENCODER, QPACK_DECODER]) {
            varint::write(kind, streams.waiting(stream));
        }
        streams
    }

    pub(crate) fn waiting(&mut self, stream: OwnStream) -> &mut BytesMut {
        &mut self.waiting[stream as usize]
    }

    pub(crate) fn release_memory(&mut self) {
        self.scratch = Vec::new();
        for waiting in &mut self.waiting {
            if waiting.is_empty() {
                *waiting = BytesMut::new();
            }
        }
    }
}

impl Connection {
    /// Whether something waits on any of them.
    pub(crate) fn has_control(&self) -> bool {
        self.own.waiting.iter().any(|waiting| !waiting.is_empty())
            || self.encoder.has_output()
            || self.decoder.has_output()
    }

    /// The bytes that wait to be sent on one of them.
    pub(crate) fn control(&mut self, stream: OwnStream) -> &mut BytesMut {
        let waiting = &mut self.own.waiting[stream as usize];
        // QPACK merges instructions that were not taken yet, and goes without its table where the peer does not read.
        if waiting.is_empty() {
            match stream {
                OwnStream::Control => {}
                OwnStream::QpackEncoder => self.encoder.write(&mut self.own.scratch),
                OwnStream::QpackDecoder => self.decoder.write(&mut self.own.scratch),
            }
            waiting.extend_from_slice(&self.own.scratch);
            self.own.scratch.clear();
        }
        waiting
    }

    /// A peer that makes us write on these streams and does not read them: a stalled control stream (CVE-2019-9517's way
    /// over HTTP/3).
    pub(crate) fn check_control(&self) -> Result<(), ProtocolError> {
        match self.own.waiting.iter().any(|waiting| waiting.len() > self.limits.control) {
            true => Err(too_much("our control stream is not read")),
            false => Ok(()),
        }
    }
}

/// RFC 9114 §6.2.1, RFC 9204 §4.2.
pub(crate) const CLOSED: ProtocolError =
    ProtocolError::new(ErrorCode::CLOSED_CRITICAL_STREAM, "a stream was closed that the connection needs");
