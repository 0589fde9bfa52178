//! A connection's wire with its buffers and its deadline: what every version of HTTP reads from and writes to.

use std::{
    future::poll_fn,
    io,
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use serow_message::{FileChanged, FileRange, Handler};
use serow_net::{More, Socket, Wire};
use serow_tls::TlsSession;
use tokio::task::yield_now;

use crate::{connection_deadline::ConnectionDeadline, worker::Worker};

/// The wire of one connection. It holds buffers only while there is something in them.
pub(crate) struct Transport<H> {
    worker: Rc<Worker<H>>,
    pub(crate) wire: Wire,
    /// Received and not yet understood.
    pub(crate) input: BytesMut,
    /// Made and not yet sent.
    pub(crate) output: Vec<u8>,
    /// How much of the output has been sent.
    sent: usize,
    pub(crate) deadline: ConnectionDeadline,
    /// Bytes sent since this task gave the others of its thread their turn.
    sent_in_turn: usize,
}

/// Why the connection is of no more use.
#[derive(Debug)]
pub(crate) enum TransportError {
    /// The peer closed it, or it failed.
    Lost(io::Error),
    /// The peer took too long.
    TimedOut,
    /// A file was changed while it was sent, or a body broke its word: the response cannot be finished.
    Unfinished(io::Error),
}

/// How far a task came with what it sends.
enum Turn {
    Done,
    /// It is the turn of the others.
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
            sent_in_turn: 0,
        }
    }

    /// The peer has this long from now.
    #[inline]
    pub(crate) fn allow(&mut self, time: Duration) {
        self.deadline.allow(time);
    }

    /// The peer, which nothing is done for, has this long from now; less where others wait for room.
    #[inline]
    pub(crate) fn allow_idle(&mut self, time: Duration) {
        self.deadline.allow_idle(time);
    }

    /// The peer is not waited for.
    #[inline]
    pub(crate) fn allow_any_time(&mut self) {
        self.deadline.allow_any_time();
    }

    /// Ready when the peer has said nothing for a moment more, and the connection is to end. Its time begins with the first
    /// call.
    pub(crate) fn poll_drain_grace(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let socket = self.wire.socket();
        // A unix socket has none.
        let round_trip = || socket.tcp_info().map_or(0, |info| info.round_trip);
        self.deadline.poll_drain_grace(context, || Duration::from_micros(round_trip().into()))
    }

    /// Ready when the peer does not take what is sent; to be called while it does not.
    pub(crate) fn poll_unread(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.deadline.poll_sending(context, self.worker.settings.timeouts.body)
    }

    /// Ready when the peer does not send the body that somebody waits for.
    pub(crate) fn poll_unsent(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let worker = &*self.worker;
        self.deadline.poll_receiving(context, worker.settings.timeouts.body, &worker.clock)
    }

    /// So many bytes of a body have come.
    pub(crate) fn note_received(&mut self, bytes: usize) {
        let worker = &*self.worker;
        self.deadline.note_received(bytes, worker.settings.timeouts.body, &worker.clock);
    }

    /// Nobody waits for the body just now.
    pub(crate) fn pause_receiving(&mut self) {
        self.deadline.pause(&self.worker.clock);
    }

    /// So many bytes have left.
    #[inline]
    fn note_sent(&mut self, bytes: usize) {
        self.sent_in_turn += bytes;
        self.deadline.note_sent(bytes, self.worker.settings.timeouts.body);
    }

    /// Receives more into the input; 0 is the end.
    #[inline]
    pub(crate) fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<Result<usize, TransportError>> {
        let received = self.wire.poll_receive(context, &mut self.input, &self.worker.buffers);
        if received.is_pending() {
            self.rest();
        }
        received.map_err(TransportError::Lost)
    }

    /// Gives back the buffers that are empty.
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

    /// From now on everything is encrypted, what has been received and not understood included.
    pub(crate) fn encrypt(&mut self, session: TlsSession) {
        self.wire.encrypt(session, std::mem::take(&mut self.input));
    }

    /// Whether nothing of what comes next has been received.
    pub(crate) fn is_silent(&self) -> bool {
        self.input.is_empty() && !self.wire.has_undecrypted()
    }

    /// A place for what is to be sent.
    #[inline]
    pub(crate) fn output(&mut self) -> &mut Vec<u8> {
        if self.output.capacity() == 0 {
            self.output = self.worker.buffers.take_output();
        }
        &mut self.output
    }

    /// Sees to it that the output has, if possible, room for much.
    pub(crate) fn expect_much(&mut self) {
        if self.output.capacity() == 0 {
            self.output = self.worker.buffers.take_large_output();
        }
    }

    /// Sends the output; how long that may take is the caller's business.
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

    /// Sends the output, if the kernel takes all of it without waiting; says whether it did.
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

    /// Sends the output and these bytes behind it, in as few calls as the kernel allows. What could not be sent stays in
    /// `bytes`.
    pub(crate) async fn flush_with(&mut self, bytes: &mut Bytes) -> Result<(), TransportError> {
        self.sending(|transport, context| {
            while !bytes.is_empty() {
                if transport.has_had_its_turn() {
                    return Poll::Ready(Ok(Turn::Over));
                }
                let head = &transport.output[transport.sent..];
                let head_length = head.len();
                let buffers = &transport.worker.buffers;
                let sent = ready!(transport.wire.poll_send_pieces(context, [head, &bytes[..]], buffers))
                    .map_err(TransportError::Lost)?;
                transport.sent += sent.min(head_length);
                let of_body = sent.saturating_sub(head_length);
                bytes.advance(of_body);
                transport.worker.counters.body_bytes_sent.add(of_body as u64);
                transport.note_sent(sent);
            }
            transport.poll_flush(context, More::Nothing).map_ok(|()| Turn::Done)
        })
        .await
    }

    /// Sends the output and a range of a file behind it. What could not be sent stays in `range`.
    ///
    /// The last bytes leave only after another look at the file: if it is no longer the version that was promised, the
    /// response stays stop_warning, and no client takes a mixture for whole.
    pub(crate) async fn flush_with_file(&mut self, range: &mut FileRange) -> Result<(), TransportError> {
        if self.wire.is_encrypted() {
            return self.flush_with_copied_file(range).await;
        }
        self.flush(More::Follows).await?;
        if range.version.is_some() {
            self.send_file(range, range.length.min(HELD_BACK)).await?;
            range.check().map_err(TransportError::Unfinished)?;
        }
        self.send_file(range, 0).await
    }

    /// What is encrypted has to be read first.
    async fn flush_with_copied_file(&mut self, range: &mut FileRange) -> Result<(), TransportError> {
        while range.length > 0 {
            let length = range.read_into(self.output(), COPIED_AT_ONCE).map_err(TransportError::Unfinished)?;
            self.flush(More::Nothing).await?;
            self.worker.counters.body_bytes_sent.add(length as u64);
            self.give_way().await;
        }
        Ok(())
    }

    /// Sends of the range what goes beyond `rest`.
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

    /// Drives a sending closure; only while the peer does not take what is sent, its time runs.
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

    /// Whether this task has sent so much in one go that it is the others' turn; after that it has another.
    pub(crate) fn has_had_its_turn(&mut self) -> bool {
        let over = self.sent_in_turn >= SENT_IN_TURN;
        if over {
            self.sent_in_turn = 0;
        }
        over
    }

    /// Lets the others of this thread have their turn, if this task has sent much.
    pub(crate) async fn give_way(&mut self) {
        if self.has_had_its_turn() {
            yield_now().await;
        }
    }

    /// A new response begins.
    pub(crate) fn begin_turn(&mut self) {
        self.sent_in_turn = 0;
    }

    /// Says that nothing more is sent. Over TLS, whoever is not told so must take the response for cut off (RFC 8446 §6.1).
    pub(crate) async fn finish_sending(&mut self) -> Result<(), TransportError> {
        self.sending(|transport, context| {
            transport.wire.poll_shut_down(context).map_ok(|()| Turn::Done).map_err(TransportError::Lost)
        })
        .await
    }

    /// Closes the connection so that the peer gets what was sent: says that nothing more comes, and takes in what the
    /// peer is still sending, for a moment. (A socket closed with unread input is reset, and the reset may overtake the
    /// response: RFC 9112 §9.6.)
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

    /// Closes a connection whose peer has had its time: as [`Self::close_gently`], but at once where others wait for room.
    pub(crate) async fn close_overdue(&mut self) {
        if self.worker.is_full() {
            let _ = self.finish_sending().await;
        } else {
            self.close_gently().await;
        }
    }

    /// Cuts the connection: the peer sees it reset, and cannot take what it has for whole.
    pub(crate) fn cut(&self) {
        self.wire.socket().reset_on_close();
    }

    /// The wire, and what was received and not understood.
    pub(crate) fn into_parts(self) -> (Wire, Bytes) {
        (self.wire, self.input.freeze())
    }
}

/// Bytes of a file that are held back for the last look: enough that the check is seldom a call for nothing, few enough
/// that the packets before it are full.
const HELD_BACK: u64 = 4 * 1024;

/// Bytes of a file that are read to be encrypted: what is encrypted in one go.
const COPIED_AT_ONCE: usize = 64 * 1024;

/// How long a peer may go on sending after the last response, however much: a client that sends all before it reads
/// gets its answer. nginx has 5 s without a byte, 30 s in all.
const LINGER: Duration = Duration::from_secs(2);

/// Bytes that a task sends before it is the others' turn: what the kernel takes in a few tenths of a millisecond.
const SENT_IN_TURN: usize = 1 << 20;
