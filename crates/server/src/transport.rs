//! The transport of a connection: its wire with buffers and a deadline, for both versions of HTTP.

use std::{
    future::poll_fn,
    io,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use serow_message::{FileChanged, FileRange, Handler, PipedBytes};
use serow_net::{More, Socket, Wire};
use tokio::task::yield_now;

use crate::{connection_deadline::ConnectionDeadline, worker::Worker};

/// The transport of one connection. It holds buffers only while they are not empty.
pub(crate) struct Transport<H> {
    worker: Rc<Worker<H>>,
    pub(crate) wire: Wire,
    /// Received and not yet parsed.
    pub(crate) input: BytesMut,
    /// Generated and not yet sent.
    pub(crate) output: Vec<u8>,
    /// The bytes of the output already sent.
    sent: usize,
    pub(crate) deadline: ConnectionDeadline,
    /// The value of Alt-Svc for responses, where HTTP/3 is served at the same address.
    pub(crate) alternative: Option<Arc<[u8]>>,
    /// Bytes sent since this task last yielded to the others of its thread.
    sent_in_turn: usize,
    /// Whether the sending side is shut down.
    is_finished: bool,
}

/// The error of a connection that cannot be used any more.
#[derive(Debug)]
pub(crate) enum TransportError {
    /// The peer closed the connection, or it failed.
    Lost(io::Error),
    /// The peer took too long.
    TimedOut,
    /// The response cannot be finished: a file changed while it was sent, or a body has another length than announced.
    Unfinished(io::Error),
}

/// Whether a task may go on sending.
enum Turn {
    Done,
    /// The task has to yield to the others.
    Over,
}

impl<H: Handler> Transport<H> {
    pub(crate) fn new(worker: Rc<Worker<H>>, socket: Socket) -> Self {
        let deadline = ConnectionDeadline::new(worker.deadlines.register());
        Self {
            worker,
            wire: Wire::new(socket),
            input: BytesMut::new(),
            output: Vec::new(),
            sent: 0,
            deadline,
            alternative: None,
            sent_in_turn: 0,
            is_finished: false,
        }
    }

    /// The peer has this long from now.
    #[inline]
    pub(crate) fn allow(&mut self, time: Duration) {
        self.deadline.allow(time);
    }

    /// The idle peer has this long from now; less if other connections wait for room.
    #[inline]
    pub(crate) fn allow_idle(&mut self, time: Duration) {
        self.deadline.allow_idle(time);
    }

    /// Removes the deadline.
    #[inline]
    pub(crate) fn allow_any_time(&mut self) {
        self.deadline.allow_any_time();
    }

    /// Ready when the peer has sent nothing for a further moment and the draining connection may be closed. The time
    /// begins with the first call.
    pub(crate) fn poll_drain_grace(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let socket = self.wire.socket();
        // A unix socket has none.
        let round_trip = || socket.tcp_info().map_or(0, |info| info.round_trip);
        self.deadline.poll_drain_grace(context, || Duration::from_micros(round_trip().into()))
    }

    /// Ready when the peer did not receive the output in time; call it while the peer does not.
    pub(crate) fn poll_unread(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.deadline.poll_sending(context, self.worker.settings.timeouts.body)
    }

    /// Ready when the peer did not send the body in time that the handler waits for; in this time, if the handler's route
    /// sets one.
    pub(crate) fn poll_unsent(&mut self, context: &mut Context<'_>, time: Option<Duration>) -> Poll<()> {
        let worker = &*self.worker;
        self.deadline.poll_receiving(context, time.unwrap_or(worker.settings.timeouts.body), &worker.clock)
    }

    /// Notes that this many bytes of a body were received.
    pub(crate) fn note_received(&mut self, bytes: usize) {
        self.deadline.note_received(bytes, &self.worker.clock);
    }

    /// Notes that the handler does not wait for the body at present.
    pub(crate) fn pause_receiving(&mut self) {
        self.deadline.pause(&self.worker.clock);
    }

    /// Notes that this many bytes were sent.
    #[inline]
    fn note_sent(&mut self, bytes: usize) {
        self.sent_in_turn += bytes;
        self.deadline.note_sent(bytes, self.worker.settings.timeouts.body);
    }

    /// Receives more into the input; returns the number of bytes, 0 at the end of the stream.
    #[inline]
    pub(crate) fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<Result<usize, TransportError>> {
        let received = self.wire.poll_receive(context, &mut self.input, &self.worker.buffers);
        if received.is_pending() {
            self.rest();
        }
        received.map_err(TransportError::Lost)
    }

    /// Returns empty buffers to the thread's pool.
    #[inline]
    pub(crate) fn rest(&mut self) {
        if self.input.is_empty() && self.input.capacity() != 0 {
            self.worker.buffers.give_input(std::mem::take(&mut self.input));
        }
        if self.output.is_empty() && self.output.capacity() != 0 {
            self.worker.buffers.give_output(std::mem::take(&mut self.output));
        }
        self.wire.rest(&self.worker.buffers);
    }

    /// Returns the buffers of a connection that has ended to the thread's pool, whatever they hold.
    pub(crate) fn give_back(&mut self) {
        self.input.clear();
        self.output.clear();
        self.rest();
    }

    /// Whether the input is empty.
    pub(crate) fn is_silent(&self) -> bool {
        self.input.is_empty() && !self.wire.has_undecrypted()
    }

    /// The buffer for output.
    #[inline]
    pub(crate) fn output(&mut self) -> &mut Vec<u8> {
        if self.output.capacity() == 0 {
            self.output = self.worker.buffers.take_output();
        }
        &mut self.output
    }

    /// Takes a large output buffer, if one is free.
    pub(crate) fn expect_much(&mut self) {
        if self.output.capacity() == 0 {
            self.output = self.worker.buffers.take_large_output();
        }
    }

    /// Sends the output; the caller sets the deadline.
    #[inline]
    pub(crate) fn poll_flush(&mut self, context: &mut Context<'_>, more: More) -> Poll<Result<(), TransportError>> {
        while self.sent < self.output.len() {
            let rest = &self.output[self.sent..];
            let sent =
                ready!(self.wire.poll_send(context, rest, more, &self.worker.buffers)).map_err(TransportError::Lost)?;
            self.sent += sent;
            self.note_sent(sent);
        }
        if more == More::Nothing {
            ready!(self.wire.poll_flush(context)).map_err(TransportError::Lost)?;
        }
        // Where there was nothing to send, the peer may still owe it to take what the kernel holds (see `http2::pace`).
        if !self.output.is_empty() {
            self.output.clear();
            self.sent = 0;
            self.deadline.note_all_sent();
        }
        Poll::Ready(Ok(()))
    }

    /// Tries to send the output without waiting; returns whether the kernel took all of it.
    #[inline]
    pub(crate) fn send_at_once(&mut self) -> Result<bool, TransportError> {
        self.sent += self.wire.send(&self.output[self.sent..]).map_err(TransportError::Lost)?;
        if self.sent < self.output.len() {
            return Ok(false);
        }
        self.output.clear();
        self.sent = 0;
        Ok(true)
    }

    /// Sends the output, within the time for bodies.
    #[inline]
    pub(crate) async fn flush(&mut self, more: More) -> Result<(), TransportError> {
        if !self.output.is_empty() {
            self.sending(|transport, context| transport.poll_flush(context, more).map_ok(|()| Turn::Done)).await?;
        }
        Ok(())
    }

    /// Sends the output and these bytes behind it, in as few calls as the kernel allows. Bytes that could not be sent
    /// stay in `bytes`.
    pub(crate) async fn flush_with(&mut self, bytes: &mut Bytes, more: More) -> Result<(), TransportError> {
        self.sending(|transport, context| {
            while !bytes.is_empty() {
                if transport.has_had_its_turn() {
                    return Poll::Ready(Ok(Turn::Over));
                }
                let head = &transport.output[transport.sent..];
                let head_length = head.len();
                let buffers = &transport.worker.buffers;
                let sent = ready!(transport.wire.poll_send_pieces(context, [head, &bytes[..]], more, buffers))
                    .map_err(TransportError::Lost)?;
                transport.sent += sent.min(head_length);
                let of_body = sent.saturating_sub(head_length);
                bytes.advance(of_body);
                transport.worker.counters.body_bytes_sent.add(of_body as u64);
                transport.note_sent(sent);
            }
            transport.poll_flush(context, more).map_ok(|()| Turn::Done)
        })
        .await
    }

    /// Sends the output and a range of a file behind it. The part that could not be sent stays in `range`, except for
    /// bytes that were copied.
    ///
    /// The last bytes are read before another look at the file, and sent after it: if it is no longer the announced
    /// version, the response remains incomplete, so that no client takes a mixture of two versions for the file. A file
    /// that is overwritten in place after that look can still change in the kernel's send buffer (sendfile(2)).
    pub(crate) async fn flush_with_file(&mut self, range: &mut FileRange, more: More) -> Result<(), TransportError> {
        // Content that is copied leaves in one call with the head.
        if self.wire.is_encrypted() || range.version.is_some() && range.length <= HELD_BACK {
            return self.flush_with_copied_file(range, more).await;
        }
        self.flush(More::Follows).await?;
        if range.version.is_some() {
            self.send_file(range, range.length.min(HELD_BACK)).await?;
            return self.flush_with_copied_file(range, more).await;
        }
        self.send_file(range, 0).await
    }

    /// Sends the output and the bytes of a pipe behind it. Bytes that could not be sent stay in the pipe.
    pub(crate) async fn flush_with_pipe(&mut self, bytes: &mut PipedBytes) -> Result<(), TransportError> {
        self.flush(More::Follows).await?;
        self.sending(|transport, context| {
            while bytes.length() > 0 {
                if transport.has_had_its_turn() {
                    return Poll::Ready(Ok(Turn::Over));
                }
                let socket = transport.wire.socket();
                let sent = ready!(bytes.poll_take(|pipe, left| socket.poll_send_piped(context, pipe, left)))
                    .map_err(TransportError::Lost)?;
                transport.note_sent(sent);
                transport.worker.counters.body_bytes_sent.add(sent as u64);
            }
            Poll::Ready(Ok(Turn::Done))
        })
        .await
    }

    /// Sends a range that is read first: content to be encrypted, and the last bytes of a file.
    async fn flush_with_copied_file(&mut self, range: &mut FileRange, more: More) -> Result<(), TransportError> {
        while range.length > 0 {
            let length = range.read_into(self.output(), COPIED_AT_ONCE).map_err(TransportError::Unfinished)?;
            self.flush(if range.length == 0 { more } else { More::Nothing }).await?;
            self.worker.counters.body_bytes_sent.add(length as u64);
            self.give_way().await;
        }
        Ok(())
    }

    /// Sends the part of the range that exceeds `rest`.
    async fn send_file(&mut self, range: &mut FileRange, rest: u64) -> Result<(), TransportError> {
        let file: &std::fs::File = &range.file;
        let (offset, length) = (&mut range.offset, &mut range.length);
        self.sending(|transport, context| {
            while *length > rest {
                if transport.has_had_its_turn() {
                    return Poll::Ready(Ok(Turn::Over));
                }
                let sent = ready!(transport.wire.socket().poll_send_file(context, file, offset, *length - rest))
                    .map_err(TransportError::Lost)?;
                if sent == 0 {
                    return Poll::Ready(Err(TransportError::Unfinished(FileChanged.into())));
                }
                *length -= sent as u64;
                transport.note_sent(sent);
                transport.worker.counters.body_bytes_sent.add(sent as u64);
            }
            Poll::Ready(Ok(Turn::Done))
        })
        .await
    }

    /// Drives a sending closure; the deadline applies only while the peer does not receive.
    #[inline]
    async fn sending(
        &mut self,
        mut poll: impl FnMut(&mut Self, &mut Context<'_>) -> Poll<Result<Turn, TransportError>>,
    ) -> Result<(), TransportError> {
        loop {
            let turn = poll_fn(|context| match poll(self, context) {
                Poll::Pending => self.poll_unread(context).map(|()| Err(TransportError::TimedOut)),
                ready => ready,
            });
            match turn.await? {
                Turn::Done => break,
                Turn::Over => yield_now().await,
            }
        }
        self.deadline.note_all_sent();
        Ok(())
    }

    /// Whether this task has sent so much without a pause that it has to yield; then its count begins again.
    pub(crate) fn has_had_its_turn(&mut self) -> bool {
        let over = self.sent_in_turn >= SENT_IN_TURN;
        if over {
            self.sent_in_turn = 0;
        }
        over
    }

    /// Yields to the other tasks of this thread, if this task has sent much.
    pub(crate) async fn give_way(&mut self) {
        if self.has_had_its_turn() {
            yield_now().await;
        }
    }

    /// Notes that a new response begins.
    pub(crate) fn begin_turn(&mut self) {
        self.sent_in_turn = 0;
    }

    /// Sends the output, and shuts down the sending side: the last bytes leave in one packet with the end, which saves the
    /// kernel sending, and the peer receiving, another one. Over TLS, a client that gets no close_notify must take the
    /// response for truncated (RFC 8446 §6.1).
    pub(crate) async fn finish_sending(&mut self) -> Result<(), TransportError> {
        if self.is_finished {
            return Ok(());
        }
        self.sending(|transport, context| {
            ready!(transport.poll_flush(context, More::Follows))?;
            transport.wire.poll_shut_down(context).map_ok(|()| Turn::Done).map_err(TransportError::Lost)
        })
        .await?;
        self.is_finished = true;
        Ok(())
    }

    /// Lingering close, so that the peer gets all that was sent: shuts down the sending side, and discards input for a
    /// moment. (A socket closed with unread input is reset, and the reset may overtake the response: RFC 9112 §9.6.)
    pub(crate) async fn close_gently(&mut self) {
        if self.finish_sending().await.is_err() {
            return;
        }
        self.allow(LINGER);
        poll_fn(|context| {
            loop {
                self.input.clear();
                match self.poll_fill(context) {
                    Poll::Ready(Ok(1..)) => {}
                    Poll::Ready(_) => return Poll::Ready(()),
                    Poll::Pending => return self.deadline.poll_overdue(context),
                }
            }
        })
        .await;
    }

    /// Closes a connection that timed out: as [`Self::close_gently`], but at once if other connections wait for room.
    pub(crate) async fn close_overdue(&mut self) {
        if self.worker.is_full() {
            let _ = self.finish_sending().await;
        } else {
            self.close_gently().await;
        }
    }

    /// Resets the connection, so that the peer cannot take a partial response for a complete one.
    pub(crate) fn cut(&self) {
        self.wire.socket().reset_on_close();
    }

    /// The wire, and the input that was received and not parsed.
    pub(crate) fn into_parts(self) -> (Wire, Bytes) {
        (self.wire, self.input.freeze())
    }
}

/// Bytes of a file that are held back, and read for the last check: few enough that copying them costs little and that
/// the packets before them are full.
const HELD_BACK: u64 = 4 * 1024;

/// Bytes of a file that are read and encrypted at a time.
const COPIED_AT_ONCE: usize = 64 * 1024;

/// How long a lingering close lasts, however much the peer sends: a client that sends everything before it reads gets
/// its response. nginx allows 5 s without a byte, 30 s in all.
const LINGER: Duration = Duration::from_secs(2);

/// Bytes that a task sends before it yields: what the kernel takes in a few tenths of a millisecond.
const SENT_IN_TURN: usize = 1 << 20;
