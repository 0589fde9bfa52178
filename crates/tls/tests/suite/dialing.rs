//! Our client on a real connection.

use std::{
    future::poll_fn,
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use bytes::BytesMut;
use serow_net::{Buffers, Destination, More, Wire};
use serow_tls::{TlsConnector, TlsError, TlsSession, TlsVersion};
use tokio::{runtime, time::timeout};

use crate::{
    authority::Authority,
    ends::{Delivery, Server, Site, VERSIONS},
};

/// A connection to a server, encrypted.
pub(crate) struct Dialed {
    pub(crate) wire: Wire,
    pub(crate) input: BytesMut,
    buffers: Buffers,
}

/// Connects and shakes hands.
pub(crate) async fn dial(destination: &Destination, connector: &TlsConnector) -> io::Result<Dialed> {
    let socket = destination.connect().await?;
    let mut this = Dialed { wire: Wire::new(socket), input: BytesMut::new(), buffers: Buffers::new() };
    this.wire.encrypt(TlsSession::connect(connector, "example.com").map_err(io::Error::other)?, BytesMut::new());
    poll_fn(|context| this.wire.poll_handshake(context, &this.buffers)).await?;
    assert!(this.wire.session().is_some_and(TlsSession::is_established));
    Ok(this)
}

impl Dialed {
    pub(crate) async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let sent = poll_fn(|context| self.wire.poll_send(context, bytes, More::Nothing, &self.buffers)).await?;
            bytes = &bytes[sent..];
        }
        poll_fn(|context| self.wire.poll_flush(context)).await
    }

    /// Receives once; 0 is the end.
    pub(crate) async fn receive(&mut self) -> io::Result<usize> {
        poll_fn(|context| self.wire.poll_receive(context, &mut self.input, &self.buffers)).await
    }

    /// Receives until what has come since the last call ends so.
    pub(crate) async fn receive_until(&mut self, end: &str) -> io::Result<()> {
        while !self.input.ends_with(end.as_bytes()) {
            if self.receive().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.input.clear();
        Ok(())
    }

    /// Says goodbye, and waits until the server has gone.
    pub(crate) async fn end(&mut self) -> io::Result<()> {
        poll_fn(|context| self.wire.poll_shut_down(context)).await?;
        self.receive_to_end().await
    }

    /// Receives all there is.
    pub(crate) async fn receive_to_end(&mut self) -> io::Result<()> {
        while self.receive().await? > 0 {}
        Ok(())
    }
}

/// Runs what may not take long.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { timeout(Duration::from_secs(30), work).await.expect("nobody waits for nothing") })
}

#[test]
fn a_server_without_tls_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let destination = Destination::Tcp(listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        for answer in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"220 example.com\r\n", b""] {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(answer).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            // The bytes of the client, its hello alone, must be read, or the kernel would discard the answer.
            let mut received = Vec::new();
            stream.read_to_end(&mut received).unwrap();
            assert_eq!(
                (received[0], received.len()),
                (22, 5 + usize::from(u16::from_be_bytes([received[3], received[4]])))
            );
        }
    });
    let connector = Site::new().connector(TlsVersion::Tls13);
    for line in [
        "the peer speaks HTTP, not TLS: use http://, or its port for https",
        "the peer does not speak TLS",
        "the peer closed the connection during the TLS handshake",
    ] {
        let Err(error) = run(dial(&destination, &connector)) else { panic!("{line}") };
        assert_eq!(error.to_string(), line);
    }
    server.join().unwrap();
}

/// In TLS 1.2 they come in one piece, and are received without waiting for more.
#[test]
fn data_with_the_last_flight_is_received() {
    let site = Site::new();
    for version in VERSIONS {
        let acceptor = site.acceptor();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let destination = Destination::Tcp(listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            serve(&mut stream, Server::new(&acceptor), b"the first words").unwrap();
        });
        run(async {
            let mut dialed = dial(&destination, &site.connector(version)).await.unwrap();
            assert!(version == TlsVersion::Tls13 || dialed.wire.has_undecrypted());
            assert_eq!((dialed.input.len(), dialed.receive().await.unwrap()), (0, 15));
            assert_eq!(dialed.input, "the first words");
            dialed.end().await.unwrap();
            assert!(dialed.wire.session().unwrap().is_closed_by_peer());
        });
        server.join().unwrap();
    }
}

/// A rejected server receives the reason as an alert.
#[test]
fn an_untrusted_server_gets_an_alert() {
    let (site, other) = (Site::new(), Site::with(Authority::named("another"), &[]));
    for version in VERSIONS {
        let acceptor = site.acceptor();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let destination = Destination::Tcp(listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            serve(&mut stream, Server::new(&acceptor), b"never").unwrap_err().to_string()
        });
        let Err(error) = run(dial(&destination, &other.connector(version))) else { panic!("{version:?}") };
        let line = "the peer's certificate is from an authority that is not trusted here, or its chain is incomplete";
        assert_eq!(error.to_string(), line);
        let error = error.downcast::<TlsError>().unwrap();
        assert!(matches!(error, TlsError::Certificate(_)));
        assert_eq!(server.join().unwrap(), "the peer does not accept the certificate (alert unknown_ca)");
    }
}

/// Says so much as soon as that is possible, and goodbye when the client has.
fn serve(stream: &mut TcpStream, mut server: Server, words: &[u8]) -> io::Result<()> {
    let mut buffer = [0; 4096];
    while server.closed == 0 {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let before = server.established;
        let outcome = server.receive(&buffer[..count], Delivery::Whole);
        if server.established > before {
            server.session.seal(words, words.len(), &mut server.sealed).map_err(io::Error::other)?;
        }
        stream.write_all(&std::mem::take(&mut server.sealed))?;
        outcome.map_err(io::Error::other)?;
    }
    server.session.close(&mut server.sealed);
    stream.write_all(&server.sealed)
}
