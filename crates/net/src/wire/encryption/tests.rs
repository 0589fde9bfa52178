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
