//! Responses over TLS that end with the connection: whole only where TLS says so as well (RFC 9112 §9.8).

use std::{future::poll_fn, net::TcpListener, os::fd::OwnedFd, rc::Rc, time::Duration};

use bytes::{Bytes, BytesMut};
use serow_client::{
    Buffers, ClientEncryption, ClientError, Destination, Dialer, Http1, TlsClientSettings, TlsConnector, Trust,
};
use serow_http1::{Event, Limits};
use serow_message::Method;
use serow_net::{More, Socket, Wire};
use serow_tls::{TlsAcceptor, TlsSession, TlsSettings};
use tokio::{runtime::Builder, time::timeout};

/// How the server's side ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    /// With the alert that says so.
    CloseNotify,
    /// With a FIN that anybody on the way can send.
    Fin,
}

/// A server of one connection, which sends this in response to any request.
async fn serve(listener: TcpListener, response: &'static str, ending: Ending) {
    let buffers = Buffers::new();
    let (connection, _) = listener.accept().unwrap();
    connection.set_nonblocking(true).unwrap();
    let mut wire = Wire::new(Socket::new(OwnedFd::from(connection)).unwrap());
    let acceptor = TlsAcceptor::new(TlsSettings::self_signed().unwrap()).unwrap();
    wire.encrypt(TlsSession::accept(&acceptor).unwrap(), BytesMut::new());
    poll_fn(|context| wire.poll_handshake(context, &buffers)).await.unwrap();
    let mut request = BytesMut::new();
    poll_fn(|context| wire.poll_receive(context, &mut request, &buffers)).await.unwrap();
    let sent = poll_fn(|context| wire.poll_send(context, response.as_bytes(), More::Nothing, &buffers)).await;
    assert_eq!(sent.unwrap(), response.len());
    poll_fn(|context| wire.poll_flush(context)).await.unwrap();
    if ending == Ending::CloseNotify {
        poll_fn(|context| wire.poll_shut_down(context)).await.unwrap();
    }
}

/// The response as far as it is received; an error where it is not whole.
async fn receive(destination: Destination) -> Result<Vec<u8>, ClientError> {
    let connector = TlsConnector::new(TlsClientSettings { trust: Trust::Unchecked, ..TlsClientSettings::default() });
    let encryption =
        Some(ClientEncryption { connector: connector.unwrap(), server_name: "localhost".into(), protocol: None });
    let buffers = Rc::new(Buffers::new());
    let wire = Dialer { destination, encryption, timeout: TIMEOUT }.dial(&buffers).await.unwrap();
    let mut connection = Http1::new(wire, buffers, Limits::default());
    connection.send_written(Bytes::from_static(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    connection.expect(&Method::GET).unwrap();
    let mut body = Vec::new();
    loop {
        let event = poll_fn(|context| {
            let _ = connection.poll_flush(context);
            connection.poll_receive(context)
        });
        match event.await? {
            Event::Head(_) => {}
            Event::Data(data) => body.extend_from_slice(&data),
            Event::End(_) => return Ok(body),
        }
    }
}

fn received(response: &'static str, ending: Ending) -> Result<Vec<u8>, ClientError> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let destination = Destination::Tcp(listener.local_addr().unwrap());
        let both = async { tokio::join!(receive(destination), serve(listener, response, ending)).0 };
        timeout(TIMEOUT, both).await.expect("in time")
    })
}

#[test]
fn a_body_that_lasts_until_the_end_needs_close_notify() {
    let response = "HTTP/1.1 200 OK\r\n\r\ntransfer 100 EUR to Bob";
    assert_eq!(received(response, Ending::CloseNotify).unwrap(), b"transfer 100 EUR to Bob");
    let cut = received(response, Ending::Fin);
    assert!(matches!(cut, Err(ClientError::Truncated)), "{cut:?}");
}

#[test]
fn a_body_whose_end_is_known_needs_no_close_notify() {
    for response in [
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n0\r\n\r\n",
    ] {
        for ending in [Ending::CloseNotify, Ending::Fin] {
            assert_eq!(received(response, ending).unwrap(), b"text", "{ending:?}");
        }
    }
}

/// Nothing waits for so long.
const TIMEOUT: Duration = Duration::from_secs(20);
