//! A connection's socket with its buffers and its deadline: what every version of HTTP reads from and writes to.

use std::{
    fs::File,
    future::poll_fn,
    io::{self, IoSlice},
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use serow_message::{FileChanged, FileRange, Handler};
use serow_net::{Deadline, INPUT_LENGTH, More, Socket};

use crate::{Timeouts, worker::Worker};

/// The socket of one connection. It holds buffers only while there is something in them.
pub(crate) struct Transport<H> {
    worker: Rc<Worker<H>>,
    socket: Socket,
    /// Received and not yet understood.
    pub(crate) input: BytesMut,
    /// Made and not yet sent.
    pub(crate) output: Vec<u8>,
    /// How much of the output has been sent.
    sent: usize,
    deadline: Deadline,
    patience: Patience,
}

/// Whether the time for a body runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    /// The deadline is none, or one for another purpose.
    Unbounded,
    /// The peer is to move bytes; so many it has moved since its time began. See [`Timeouts::RENEWAL`].
    Moved(usize),
}

/// Why the connection is of no more use.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The peer closed it, or it failed.
    Lost(io::Error),
    /// The peer took too long.
    TimedOut,
    /// A file was changed while it was sent, or a body broke its word: the response cannot be finished.
    Unfinished(io::Error),
}

impl<H: Handler> Transport<H> {
    pub(crate) fn new(worker: Rc<Worker<H>>, socket: Socket) -> Self {
        let deadline = worker.deadlines.register();
        Self {
            worker,
            socket,
            input: BytesMut::new(),
            output: Vec::new(),
            sent: 0,
            deadline,
            patience: Patience::Unbounded,
        }
    }

    /// The peer has this long from now.
    #[inline]
    pub(crate) fn allow(&mut self, time: Duration) {
        self.deadline.set(time);
        self.patience = Patience::Unbounded;
    }

    /// The peer is not waited for.
    #[inline]
    pub(crate) fn allow_any_time(&mut self) {
        self.deadline.clear();
        self.patience = Patience::Unbounded;
    }

    /// Ready when the peer, which is to move a body, took too long. Its time begins with the first call, and again
    /// whenever it has moved enough ([`Self::note_moved`]).
    pub(crate) fn poll_impatient(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.patience == Patience::Unbounded {
            self.allow(self.worker.settings.timeouts.body);
            self.patience = Patience::Moved(0);
        }
        self.poll_overdue(context)
    }

    /// So many bytes of a body have moved.
    #[inline]
    pub(crate) fn note_moved(&mut self, bytes: usize) {
        if let Patience::Moved(before) = self.patience {
            self.patience = Patience::Moved(before + bytes);
            if before + bytes >= Timeouts::RENEWAL {
                self.patience = Patience::Unbounded;
            }
        }
    }

    /// Ready when the peer took too long; otherwise the task is woken then, and when the worker begins to drain.
    #[inline]
    pub(crate) fn poll_overdue(&self, context: &mut Context<'_>) -> Poll<()> {
        self.deadline.poll_expired(context)
    }

    /// Receives more into the input; 0 is the end.
    #[inline]
    pub(crate) fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<Result<usize, Broken>> {
        let buffers = &self.worker.buffers;
        let received = self.socket.poll_receive(context, &mut self.input, |input| {
            if input.capacity() == 0 {
                *input = buffers.take_input();
            } else if input.len() == input.capacity() {
                input.reserve(INPUT_LENGTH);
            }
        });
        if received.is_pending() {
            self.rest();
        }
        received.map_err(Broken::Lost)
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
    }

    /// A place for what is to be sent.
    #[inline]
    pub(crate) fn output(&mut self) -> &mut Vec<u8> {
        if self.output.capacity() == 0 {
            self.output = self.worker.buffers.take_output();
        }
        &mut self.output
    }

    /// Sends the output; how long that may take is the caller's business.
    #[inline]
    pub(crate) fn poll_flush(&mut self, context: &mut Context<'_>, more: More) -> Poll<Result<(), Broken>> {
        while self.sent < self.output.len() {
            let rest = &self.output[self.sent..];
            let sent = ready!(self.socket.poll_send(context, rest, more)).map_err(Broken::Lost)?;
            self.sent += sent;
            self.note_moved(sent);
        }
        self.output.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
    }

    /// Sends the output, if the kernel takes all of it without waiting; says whether it did.
    #[inline]
    pub(crate) fn send_at_once(&mut self) -> Result<bool, Broken> {
        self.sent += self.socket.send(&self.output[self.sent..]).map_err(Broken::Lost)?;
        if self.sent < self.output.len() {
            return Ok(false);
        }
        self.output.clear();
        self.sent = 0;
        Ok(true)
    }

    /// Sends the output, within the time for bodies.
    #[inline]
    pub(crate) async fn flush(&mut self, more: More) -> Result<(), Broken> {
        if !self.output.is_empty() {
            self.sending(|transport, context| transport.poll_flush(context, more)).await?;
        }
        Ok(())
    }

    /// Sends the output and these bytes behind it, in as few calls as the kernel allows.
    pub(crate) async fn flush_with(&mut self, mut bytes: Bytes) -> Result<(), Broken> {
        self.sending(|transport, context| {
            while !bytes.is_empty() {
                let head = &transport.output[transport.sent..];
                let head_length = head.len();
                let pieces = [IoSlice::new(head), IoSlice::new(&bytes)];
                let sent = ready!(transport.socket.poll_send_pieces(context, &pieces)).map_err(Broken::Lost)?;
                transport.sent += sent.min(head_length);
                bytes.advance(sent.saturating_sub(head_length));
                transport.note_moved(sent);
            }
            transport.poll_flush(context, More::Nothing)
        })
        .await
    }

    /// Sends the output and a range of a file behind it.
    ///
    /// The last bytes leave only after another look at the file: if it is no longer the version that was promised, the
    /// response stays unfinished, and no client takes a mixture for whole.
    pub(crate) async fn flush_with_file(&mut self, mut range: FileRange) -> Result<(), Broken> {
        self.flush(More::Follows).await?;
        let held_back = if range.version.is_some() { range.length.min(HELD_BACK) } else { 0 };
        range.length -= held_back;
        self.send_file(&mut range).await?;
        if held_back > 0 {
            range.length = held_back;
            range.check().map_err(Broken::Unfinished)?;
            self.send_file(&mut range).await?;
        }
        Ok(())
    }

    async fn send_file(&mut self, range: &mut FileRange) -> Result<(), Broken> {
        let file: &File = &range.file;
        let (offset, length) = (&mut range.offset, &mut range.length);
        self.sending(|transport, context| {
            while *length > 0 {
                let sent =
                    ready!(transport.socket.poll_send_file(context, file, offset, *length)).map_err(Broken::Lost)?;
                if sent == 0 {
                    return Poll::Ready(Err(Broken::Unfinished(FileChanged.into())));
                }
                *length -= sent as u64;
                transport.note_moved(sent);
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Drives a sending closure; only while the peer does not take what is sent, its time runs.
    #[inline]
    async fn sending(
        &mut self,
        mut poll: impl FnMut(&mut Self, &mut Context<'_>) -> Poll<Result<(), Broken>>,
    ) -> Result<(), Broken> {
        poll_fn(|context| match poll(self, context) {
            Poll::Pending => self.poll_impatient(context).map(|()| Err(Broken::TimedOut)),
            ready => ready,
        })
        .await?;
        if self.patience != Patience::Unbounded {
            self.allow_any_time();
        }
        Ok(())
    }

    /// Closes the connection so that the peer gets what was sent: says that nothing more comes, and takes in what the
    /// peer is still sending, for a moment. (A socket closed with unread input is reset, and the reset may overtake the
    /// response: RFC 9112 §9.6.)
    pub(crate) async fn close_gently(&mut self) {
        if self.socket.shut_down().is_err() {
            return;
        }
        self.allow(LINGER);
        let mut left = LINGER_BYTES;
        poll_fn(|context| {
            loop {
                self.input.clear();
                match self.poll_fill(context) {
                    Poll::Ready(Ok(count @ 1..)) if count < left => left -= count,
                    Poll::Ready(_) => return Poll::Ready(()),
                    Poll::Pending => return self.poll_overdue(context),
                }
            }
        })
        .await;
    }

    /// Cuts the connection: the peer sees it reset, and cannot take what it has for whole.
    pub(crate) fn cut(&self) {
        self.socket.reset_on_close();
    }

    /// The socket, and what was received and not understood.
    pub(crate) fn into_parts(self) -> (Socket, Bytes) {
        (self.socket, self.input.freeze())
    }
}

/// Bytes of a file that are held back for the last look: enough that the check is seldom a call for nothing, few enough
/// that the packets before it are full.
const HELD_BACK: u64 = 4 * 1024;

/// How long a peer may go on sending after the last response; nginx has 5 s.
const LINGER: Duration = Duration::from_secs(2);

/// How much a peer may go on sending after the last response: what a fast client sends before it sees an early answer.
const LINGER_BYTES: usize = 1 << 20;
