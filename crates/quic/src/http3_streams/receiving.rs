//! Receiving: what has arrived on the peer's streams is passed to the machine.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use quinn_proto::{Dir, Event, ReadError, StreamEvent, StreamId as QuicStream};
use serow_http3::{Endpoint, ErrorCode, ProtocolError, StreamId};

use super::{Http3Streams, Http3StreamsError, of_quic};

/// Streams that may have something to read, in the order in which they got it.
#[derive(Debug, Default)]
pub(super) struct Readable {
    streams: VecDeque<QuicStream>,
    /// Those whose readers have to catch up first.
    paused: Vec<QuicStream>,
}

/// Whether the peer has received a stream to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// None.
    Nothing,
    /// One at least.
    Stream,
}

/// The next item on a stream.
enum Next {
    Data(Bytes),
    /// Data, and the end behind it.
    Last(Bytes),
    End,
    Reset(ErrorCode),
    /// More has to arrive, or the stream is over.
    Nothing,
}

impl Readable {
    fn add(&mut self, stream: QuicStream) {
        // Twice does no harm.
        if self.streams.back() != Some(&stream) {
            self.streams.push_back(stream);
        }
    }
}

impl Http3Streams {
    /// Handles what QUIC tells.
    ///
    /// # Errors
    ///
    /// If the connection cannot go on.
    pub fn handle_events<Role>(
        &mut self,
        machine: &mut Endpoint<Role>,
        now: Duration,
    ) -> Result<Delivery, Http3StreamsError> {
        let mut delivery = Delivery::Nothing;
        while let Some(event) = self.quic.next_event() {
            match event {
                Event::Stream(StreamEvent::Opened { dir }) => self.accept(dir),
                Event::Stream(StreamEvent::Readable { id }) => self.readable.add(id),
                Event::Stream(StreamEvent::Writable { id }) => self.note_writable(machine, id),
                Event::Stream(StreamEvent::Finished { id }) => {
                    self.undelivered.forget(of_quic(id));
                    delivery = Delivery::Stream;
                }
                Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                    let (stream, code) = (of_quic(id), ErrorCode(error_code.into_inner()));
                    self.forget(stream);
                    machine.receive_stop(stream, code, now).map_err(Http3StreamsError::Protocol)?;
                }
                Event::ConnectionLost { reason } => return Err(Http3StreamsError::Lost(reason)),
                _ => {}
            }
        }
        Ok(delivery)
    }

    /// Passes the next piece that has arrived to the machine, of a stream that the machine and its reader (`has_room`)
    /// want more of; false if there is none. Take the machine's events before the next one.
    ///
    /// # Errors
    ///
    /// If the peer has violated HTTP/3.
    pub fn receive_next<Role>(
        &mut self,
        machine: &mut Endpoint<Role>,
        now: Duration,
        has_room: impl Fn(StreamId) -> bool,
    ) -> Result<bool, ProtocolError> {
        while let Some(&id) = self.readable.streams.front() {
            let stream = of_quic(id);
            if !wants(machine, id, &has_room) {
                self.readable.streams.pop_front();
                if !self.readable.paused.contains(&id) {
                    self.readable.paused.push(id);
                }
                continue;
            }
            let next = self.read(id);
            if !matches!(next, Next::Data(_)) {
                self.readable.streams.pop_front();
            }
            match next {
                Next::Data(data) => {
                    self.received += data.len() as u64;
                    machine.receive(stream, data, false, now)?;
                }
                Next::Last(data) => {
                    self.received += data.len() as u64;
                    machine.receive(stream, data, true, now)?;
                }
                Next::End => machine.receive(stream, Bytes::new(), true, now)?,
                Next::Reset(code) => machine.receive_reset(stream, code, now)?,
                Next::Nothing => continue,
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether there are streams to be read that the machine and their readers want more of: back-pressure reaches the
    /// peer as windows that stay shut.
    pub fn has_readable<Role>(&mut self, machine: &Endpoint<Role>, has_room: impl Fn(StreamId) -> bool) -> bool {
        let Readable { streams, paused } = &mut self.readable;
        paused.retain(|id| {
            let wanted = wants(machine, *id, &has_room);
            if wanted {
                streams.push_back(*id);
            }
            !wanted
        });
        !streams.is_empty()
    }

    pub(super) fn accept(&mut self, dir: Dir) {
        while let Some(id) = self.quic.machine().streams().accept(dir) {
            if dir == Dir::Bi {
                self.accepted = id.index() + 1;
            }
            self.readable.add(id);
        }
    }

    fn read(&mut self, id: QuicStream) -> Next {
        let mut receiver = self.quic.machine().recv_stream(id);
        // It has been stopped or read to its end.
        let Ok(mut chunks) = receiver.read(true) else { return Next::Nothing };
        let next = chunks.next(usize::MAX);
        // A request whose end is known with its head has no body. To ask for nothing more leaves a next piece there.
        let is_last = matches!(next, Ok(Some(_))) && matches!(chunks.next(0), Ok(None));
        // The packet that opens windows is sent with the next ones.
        let _ = chunks.finalize();
        match next {
            Ok(Some(chunk)) if is_last => Next::Last(chunk.bytes),
            Ok(Some(chunk)) => Next::Data(chunk.bytes),
            Ok(None) => Next::End,
            Err(ReadError::Blocked) => Next::Nothing,
            Err(ReadError::Reset(code)) => Next::Reset(ErrorCode(code.into_inner())),
        }
    }
}

/// Whether what arrives on a stream has a place to go.
fn wants<Role>(machine: &Endpoint<Role>, id: QuicStream, has_room: impl Fn(StreamId) -> bool) -> bool {
    id.dir() == Dir::Uni || (machine.wants_data(of_quic(id)) && has_room(of_quic(id)))
}
