//! Connections over TLS end so that nobody takes a cut one for whole, nor a whole one for cut (RFC 8446 §6.1).

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    sync::Arc,
    thread::{self, JoinHandle},
};

use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serow::{Address, Error, HandlerExt, Request, Response, Server, Stopper, TlsSettings};
use serow_tls::{Certificates, SelfSigned};

use crate::support::TIMEOUT;

/// A server with a client's settings, which trust it.
struct Running {
    address: std::net::SocketAddr,
    config: Arc<ClientConfig>,
    stopper: Stopper,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

type Client = StreamOwned<ClientConnection, TcpStream>;

impl Running {
    /// Sends back what it gets, and `hello` to whoever sends nothing.
    fn new() -> Self {
        let certificate = SelfSigned::new().unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.certificate().to_vec().into()).unwrap();
        let settings =
            TlsSettings { certificates: Certificates::SelfSigned(certificate), ..TlsSettings::self_signed().unwrap() };
        let server = Server::new().listen_tls("127.0.0.1:0").tls(settings).workers(1).bind().unwrap();
        let Some(Address::Tcp(address)) = server.addresses().next().cloned() else { panic!("no address") };
        let stopper = server.stopper();
        let thread = thread::spawn(move || {
            let handler = |request: Request| async move {
                match request.target.as_str() {
                    "/echo" => Response::default().body(request.body),
                    "/local" => Response::text(format!("{:?}", request.connection().local())),
                    _ => Response::text("hello"),
                }
            };
            server.run(handler.boxed())
        });
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        Self { address, config: Arc::new(config), stopper, thread: Some(thread) }
    }

    fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let connection = ClientConnection::new(Arc::clone(&self.config), "localhost".try_into().unwrap()).unwrap();
        StreamOwned::new(connection, stream)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        self.stopper.stop();
        self.thread.take().unwrap().join().unwrap().unwrap();
    }
}

/// All up to the end; an error where the end is only that of the socket.
fn rest(client: &mut Client) -> io::Result<String> {
    let mut text = String::new();
    client.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn every_end_is_said() {
    let server = Running::new();
    for request in [
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "POST /echo HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ] {
        let mut client = server.connect();
        client.write_all(request.as_bytes()).unwrap();
        let answer = rest(&mut client).unwrap_or_else(|error| panic!("{request:?}: {error}"));
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello"), "{request:?}: {answer}");
    }
    // Bytes that are not a request.
    let mut client = server.connect();
    client.write_all(b"what?\r\n\r\n").unwrap();
    let answer = rest(&mut client).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

/// A client that has closed its sending side gets its response.
#[test]
fn half_a_connection_is_enough() {
    let server = Running::new();
    let mut client = server.connect();
    // All in one go.
    client.conn.complete_io(&mut client.sock).unwrap();
    client.conn.writer().write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    client.conn.send_close_notify();
    let answer = rest(&mut client).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello"), "{answer}");
}

#[test]
fn handlers_see_the_local_address() {
    let server = Running::new();
    let mut client = server.connect();
    client.write_all(b"GET /local HTTP/1.0\r\n\r\n").unwrap();
    let answer = rest(&mut client).unwrap();
    assert!(answer.ends_with(&format!("\r\n\r\n{:?}", Some(server.address))), "{answer}");
}

/// A reload does not break a connection whose handshake takes another round trip.
#[test]
fn a_handshake_under_way_when_the_server_stops_is_completed() {
    let server = Running::new();
    let mut silent = TcpStream::connect(server.address).unwrap();
    let mut client = server.connect();
    // The ClientHello, and the server's answer to it.
    client.conn.write_tls(&mut client.sock).unwrap();
    client.sock.peek(&mut [0]).unwrap();
    server.stopper.stop();
    // As long as a connection has that says nothing.
    silent.set_read_timeout(Some(TIMEOUT)).unwrap();
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let answer = rest(&mut client).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\r\nconnection: close\r\n"), "{answer}");
}

/// RFC 9113 §3.3: HTTP/2 over TLS is agreed upon in the handshake, or not spoken.
#[test]
fn http2_must_be_agreed_upon() {
    let server = Running::new();
    let mut client = server.connect();
    client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    let answer = rest(&mut client).unwrap();
    assert!(answer.starts_with("HTTP/1.1 505 "), "{answer:?}");
}
