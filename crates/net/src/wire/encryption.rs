//! The TLS of a connection, between its socket and the protocol above.

use std::{
    io,
    task::{Context, Poll, ready},
};

use bytes::BytesMut;
use serow_tls::{MAX_RECORD_PLAINTEXT, TlsError, TlsSession, UnexpectedProtocol};

use super::make_room;
use crate::{Buffers, More, Socket};

/// A TLS session with its buffers, which it has only while they are not empty.
pub(super) struct Encryption {
    session: TlsSession,
    /// Received and not decrypted yet: a part of a record.
    received: BytesMut,
    /// Bytes received, those included.
    received_in_all: u64,
    /// Encrypted and not sent yet.
    sealed: Vec<u8>,
    /// How much of that has been sent.
    sent: usize,
    /// Whether some of that is the session's own, which only the receiving side sends.
    answers: bool,
    /// Bytes handed to the kernel before those.
    sent_before: u64,
    record_length: usize,
    /// The error of the session, until the plaintext before it has been received.
    failed: Option<io::Error>,
}

impl Encryption {
    pub(super) fn new(mut session: TlsSession, received: BytesMut) -> Self {
        let mut sealed = Vec::new();
        session.begin(&mut sealed);
        Self {
            session,
            received_in_all: received.len() as u64,
            received,
            answers: !sealed.is_empty(),
            sealed,
            sent: 0,
            sent_before: 0,
            record_length: MAX_RECORD_PLAINTEXT,
            failed: None,
        }
    }

    pub(super) fn session(&self) -> &TlsSession {
        &self.session
    }

    /// Whether the handshake has begun and is not complete.
    pub(super) fn is_handshaking(&self) -> bool {
        self.received_in_all > 0 && !self.session.is_established()
    }

    pub(super) fn has_received(&self) -> bool {
        !self.received.is_empty()
    }

    /// Bytes of records that were decrypted.
    pub(super) fn understood(&self) -> u64 {
        self.received_in_all - self.received.len() as u64
    }

    /// Bytes handed to the kernel so far.
    pub(super) fn sent(&self) -> u64 {
        self.sent_before + self.sent as u64
    }

    pub(super) fn set_record_length(&mut self, length: usize) {
        self.record_length = length;
    }

    /// Ready when the handshake is complete and all of ours has left; bytes after it stay where they are.
    pub(super) fn poll_handshake(
        &mut self,
        socket: &Socket,
        context: &mut Context<'_>,
        buffers: &Buffers,
    ) -> Poll<io::Result<()>> {
        while !self.session.is_established() {
            if !self.received.is_empty() {
                let sealed_before = self.sealed.len();
                let outcome = self.session.shake_hands(&mut self.received, &mut self.sealed);
                if self.answer(outcome, sealed_before, socket, context)? {
                    break;
                }
            }
            self.send_answers(socket, context)?;
            if ready!(self.poll_fill(socket, context, buffers))? == 0 {
                let error = io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the peer closed the connection during the TLS handshake",
                );
                return Poll::Ready(Err(error));
            }
        }
        self.poll_flush(socket, context)
    }

    /// Receives until there is plaintext; sends the session's own answers.
    pub(super) fn poll_receive(
        &mut self,
        socket: &Socket,
        context: &mut Context<'_>,
        input: &mut BytesMut,
        buffers: &Buffers,
    ) -> Poll<io::Result<usize>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Err(error));
        }
        loop {
            if !self.received.is_empty() {
                let (before, sealed_before) = (input.len(), self.sealed.len());
                make_room(input, buffers);
                let outcome = self.session.receive(&mut self.received, input, &mut self.sealed);
                if let Err(error) = self.answer(outcome, sealed_before, socket, context) {
                    if input.len() == before {
                        return Poll::Ready(Err(error));
                    }
                    // Plaintext before the bad record is as valid as if it had come alone.
                    self.failed = Some(error);
                }
                if input.len() > before {
                    return Poll::Ready(Ok(input.len() - before));
                }
            }
            // Whether it came with the data before or only now, and though the socket may stay open.
            if self.session.is_closed_by_peer() {
                return Poll::Ready(Ok(0));
            }
            self.send_answers(socket, context)?;
            if ready!(self.poll_fill(socket, context, buffers))? == 0 {
                return Poll::Ready(Ok(0));
            }
        }
    }

    /// Receives more of what is to be decrypted; 0 is the end.
    fn poll_fill(&mut self, socket: &Socket, context: &mut Context<'_>, buffers: &Buffers) -> Poll<io::Result<usize>> {
        let count = ready!(socket.poll_receive(context, &mut self.received, |received| make_room(received, buffers)))?;
        self.received_in_all += count as u64;
        Poll::Ready(Ok(count))
    }

    /// Sends what the session itself has appended after the first `sealed_before` bytes: flights of a handshake, and the alert of
    /// a failed one. What the kernel does not take now leaves later.
    fn answer<T>(
        &mut self,
        outcome: Result<T, TlsError>,
        sealed_before: usize,
        socket: &Socket,
        context: &mut Context<'_>,
    ) -> io::Result<T> {
        if let Err(TlsError::NotTls(UnexpectedProtocol::HttpRequest)) = outcome {
            self.sealed.extend_from_slice(PLAIN_HTTP);
        }
        self.answers |= self.sealed.len() > sealed_before;
        let sending = self.send_answers(socket, context);
        // The first error is the cause.
        let outcome = outcome.map_err(io::Error::other)?;
        sending.map(|()| outcome)
    }

    /// Sends what is waiting if some of it is the session's own. Only then: for the rest another task may wait (a tunnel has two
    /// halves), which the socket would no longer wake.
    fn send_answers(&mut self, socket: &Socket, context: &mut Context<'_>) -> io::Result<()> {
        if self.answers
            && let Poll::Ready(Err(error)) = self.poll_flush(socket, context)
        {
            return Err(error);
        }
        Ok(())
    }

    /// Encrypts pieces, once earlier output has left, and sends as much as the kernel takes.
    pub(super) fn poll_send(
        &mut self,
        socket: &Socket,
        context: &mut Context<'_>,
        pieces: &[&[u8]],
        more: More,
        buffers: &Buffers,
    ) -> Poll<io::Result<usize>> {
        if self.sealed.len() >= SEALED_AT_ONCE || more == More::Nothing {
            ready!(self.poll_flush(socket, context))?;
        }
        if self.sealed.capacity() == 0 {
            let is_much = pieces.iter().map(|piece| piece.len()).sum::<usize>() >= MAX_RECORD_PLAINTEXT / 2;
            self.sealed = if is_much { buffers.take_large_output() } else { buffers.take_output() };
        }
        let mut taken = 0;
        for piece in pieces {
            let length = piece.len().min(SEALED_AT_ONCE - taken);
            self.session.seal(&piece[..length], self.record_length, &mut self.sealed).map_err(io::Error::other)?;
            taken += length;
        }
        if more == More::Nothing
            && let Poll::Ready(Err(error)) = self.poll_flush(socket, context)
        {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(taken))
    }

    /// Ready when all that was encrypted has been sent.
    pub(super) fn poll_flush(&mut self, socket: &Socket, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.sealed.len() {
            self.sent += ready!(socket.poll_send(context, &self.sealed[self.sent..], More::Nothing))?;
        }
        self.sealed.clear();
        self.answers = false;
        self.sent_before += std::mem::take(&mut self.sent) as u64;
        Poll::Ready(Ok(()))
    }

    /// Gives back the buffers that are empty.
    pub(super) fn rest(&mut self, buffers: &Buffers) {
        if self.received.is_empty() && self.received.capacity() != 0 {
            buffers.give_input(std::mem::take(&mut self.received));
        }
        if self.sealed.is_empty() && self.sealed.capacity() != 0 {
            buffers.give_output(std::mem::take(&mut self.sealed));
        }
    }

    /// Sends a close_notify after all that was encrypted; ready when that has left.
    pub(super) fn poll_close(&mut self, socket: &Socket, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.session.close(&mut self.sealed);
        self.poll_flush(socket, context)
    }
}

/// As nginx: a user who typed http:// for https:// sees why there is no page.
const PLAIN_HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n\
    content-length: 59\r\nconnection: close\r\n\r\n400 Bad Request: this port speaks TLS; ask for https://...\n";

/// Bytes encrypted before the kernel is offered any: four records, so that a call is worth its cost.
const SEALED_AT_ONCE: usize = 4 * MAX_RECORD_PLAINTEXT;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use std::{
        future::poll_fn,
        io::{Read, Write},
        os::{fd::OwnedFd, unix::net::UnixStream},
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
        task::{Wake, Waker},
        thread,
        time::Duration,
    };

    use rustls::{ClientConfig, ClientConnection, RootCertStore};
    use serow_tls::{Certificates, SelfSigned, TlsAcceptor, TlsSettings};
    use tokio::{runtime, sync::Notify, time::timeout};

    use super::*;

    /// Sent repeatedly, until the buffers are full.
    static PIECE: [u8; 50_000] = [7; 50_000];

    /// A client, with what it does after the handshake.
    fn with_client<T: Send + 'static>(
        client: impl FnOnce(ClientConnection, UnixStream) -> T + Send + 'static,
        server: impl AsyncFnOnce(Encryption, Socket),
    ) -> T {
        let certificate = SelfSigned::new().unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.certificate().to_vec().into()).unwrap();
        let settings =
            TlsSettings { certificates: Certificates::SelfSigned(certificate), ..TlsSettings::self_signed().unwrap() };
        let session = TlsSession::accept(&TlsAcceptor::new(settings).unwrap()).unwrap();
        let (here, there) = UnixStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let client = thread::spawn(move || {
            let config = Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth());
            let mut connection = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
            let mut there = there;
            while connection.is_handshaking() {
                connection.complete_io(&mut there).unwrap();
            }
            client(connection, there)
        });
        let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let socket = Socket::new(OwnedFd::from(here)).unwrap();
            let encryption = Encryption::new(session, BytesMut::new());
            timeout(Duration::from_secs(20), server(encryption, socket)).await.expect("nobody waits for nothing");
        });
        client.join().unwrap()
    }

    async fn receive(encryption: &mut Encryption, socket: &Socket, input: &mut BytesMut) -> io::Result<usize> {
        let buffers = Buffers::new();
        poll_fn(|context| encryption.poll_receive(socket, context, input, &buffers)).await
    }

    /// A client that sends close_notify and waits for an answer gets it, though its side of the socket stays open.
    #[test]
    fn close_notify_ends_the_input_while_the_socket_is_open() {
        let answer = with_client(
            |mut client, mut stream| {
                client.writer().write_all(b"the question").unwrap();
                client.send_close_notify();
                // Both at once.
                client.write_tls(&mut stream).unwrap();
                let mut answer = Vec::new();
                rustls::Stream::new(&mut client, &mut stream).read_to_end(&mut answer).unwrap();
                answer
            },
            async |mut encryption, socket| {
                let mut input = BytesMut::new();
                assert_eq!(receive(&mut encryption, &socket, &mut input).await.unwrap(), 12);
                assert!(!encryption.has_received());
                assert_eq!(encryption.understood(), encryption.received_in_all);
                for _ in 0..2 {
                    assert_eq!(receive(&mut encryption, &socket, &mut input).await.unwrap(), 0, "the end");
                }
                assert_eq!(&input[..], b"the question");
                let (buffers, pieces) = (Buffers::new(), [&b"the "[..], b"answer"]);
                let sent = poll_fn(|context| encryption.poll_send(&socket, context, &pieces, More::Nothing, &buffers));
                assert_eq!(sent.await.unwrap(), 10);
                poll_fn(|context| encryption.poll_close(&socket, context)).await.unwrap();
            },
        );
        assert_eq!(answer, b"the answer");
    }

    #[test]
    fn data_before_a_bad_record_in_the_same_read_is_received_before_the_error() {
        with_client(
            |mut client, mut stream| {
                client.writer().write_all(b"the question").unwrap();
                let mut bytes = Vec::new();
                client.write_tls(&mut bytes).unwrap();
                // A record that nobody encrypted.
                bytes.extend([&[23, 3, 3, 0, 20][..], &[0; 20]].concat());
                stream.write_all(&bytes).unwrap();
                let mut answer = Vec::new();
                let error = rustls::Stream::new(&mut client, &mut stream).read_to_end(&mut answer).unwrap_err();
                assert!(error.to_string().contains("BadRecordMac"), "{error}");
            },
            async |mut encryption, socket| {
                let mut input = BytesMut::new();
                assert_eq!(receive(&mut encryption, &socket, &mut input).await.unwrap(), 12);
                assert_eq!(&input[..], b"the question");
                let error = receive(&mut encryption, &socket, &mut input).await.unwrap_err();
                assert_eq!(error.to_string(), "the peer violated the TLS protocol (alert bad_record_mac)");
            },
        );
    }

    /// A client that sends and does not read: what waits for it has a bound, and comes in order in the end.
    #[test]
    fn output_for_a_client_that_does_not_read_is_bounded() {
        let (read, sent) = (mpsc::channel(), Arc::new(AtomicUsize::new(0)));
        let all_sent = Arc::clone(&sent);
        let received = with_client(
            move |mut client, mut stream| {
                read.1.recv().unwrap();
                let mut answer = Vec::new();
                rustls::Stream::new(&mut client, &mut stream).read_to_end(&mut answer).unwrap();
                assert!(answer.iter().all(|byte| *byte == 7));
                answer.len()
            },
            async move |mut encryption, socket| {
                let (buffers, mut taken) = (Buffers::new(), 0);
                let mut input = BytesMut::new();
                poll_fn(|context| {
                    // The handshake; there is no data.
                    assert!(encryption.poll_receive(&socket, context, &mut input, &buffers).is_pending());
                    if encryption.session().is_established() { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
                for more in [More::Follows, More::Nothing] {
                    poll_fn(|context| {
                        loop {
                            match encryption.poll_send(&socket, context, &[&PIECE], more, &buffers) {
                                Poll::Ready(piece) => taken += piece.unwrap(),
                                Poll::Pending => return Poll::Ready(()),
                            }
                            assert!(encryption.sealed.len() < 2 * SEALED_AT_ONCE + 1000);
                        }
                    })
                    .await;
                }
                read.0.send(()).unwrap();
                // The kernel is full, and the end comes behind everything.
                poll_fn(|context| encryption.poll_close(&socket, context)).await.unwrap();
                sent.store(taken, Ordering::Release);
            },
        );
        assert_eq!(received, all_sent.load(Ordering::Acquire));
    }

    /// The halves of a tunnel may be in two tasks: the one that receives must not be woken in place of the other.
    #[test]
    fn a_waiting_sender_is_woken_while_another_task_receives() {
        let (read, all_sent) = (mpsc::channel(), Arc::new(Notify::new()));
        with_client(
            move |mut client, mut stream| {
                client.writer().write_all(b"read this").unwrap();
                client.complete_io(&mut stream).unwrap();
                read.1.recv().unwrap();
                rustls::Stream::new(&mut client, &mut stream).read_exact(&mut vec![0; 50_000]).unwrap();
                let _ = rustls::Stream::new(&mut client, &mut stream).read_to_end(&mut Vec::new());
            },
            async move |mut encryption, socket| {
                let (buffers, mut input) = (Buffers::new(), BytesMut::new());
                receive(&mut encryption, &socket, &mut input).await.unwrap();
                let waker = Waker::from(Arc::new(Sender(Arc::clone(&all_sent))));
                let mut sending = Context::from_waker(&waker);
                while encryption.poll_send(&socket, &mut sending, &[&PIECE], More::Nothing, &buffers).is_ready() {}
                let received = poll_fn(|context| {
                    Poll::Ready(encryption.poll_receive(&socket, context, &mut input, &buffers).is_pending())
                });
                assert!(received.await);
                read.0.send(()).unwrap();
                all_sent.notified().await;
            },
        );
    }

    /// The task that sends.
    struct Sender(Arc<Notify>);

    impl Wake for Sender {
        fn wake(self: Arc<Self>) {
            self.0.notify_one();
        }
    }

    #[test]
    fn plain_http_gets_a_400_that_names_https() {
        let (head, body) = PLAIN_HTTP.split_at(PLAIN_HTTP.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4);
        let length = format!("content-length: {}\r\n", body.len());
        assert!(std::str::from_utf8(head).unwrap().contains(&length), "{length}");
    }
}
