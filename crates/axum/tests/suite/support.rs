//! Servers and clients.

use std::{net::SocketAddr, time::Duration};

use axum::body::Bytes;
use http_body_util::Full;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serow::Server;
use serow_axum::Routes;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::timeout,
};

/// No wait lasts longer.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// Waits until nobody listens there.
pub(crate) async fn refuses(address: SocketAddr) {
    let knock = async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    timeout(TIMEOUT, knock).await.unwrap();
}

/// A server that serves until it is stopped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    signal: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Running {
    pub(crate) async fn new(routes: impl Routes + Sync) -> Self {
        Self::with(Server::new(), routes).await
    }

    pub(crate) async fn with(settings: Server, routes: impl Routes + Sync) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (signal, signalled) = oneshot::channel::<()>();
        let server = serow_axum::serve(listener, routes).with_settings(settings);
        let server = server.with_graceful_shutdown(async { _ = signalled.await });
        Self { address, signal, serving: tokio::spawn(server.into_future()) }
    }

    /// Stops gracefully, and waits until the server has ended.
    pub(crate) async fn stop(self) {
        self.signal.send(()).unwrap();
        tokio::time::timeout(TIMEOUT, self.serving).await.unwrap().unwrap().unwrap();
    }

    /// Sends a request with this head, up to its empty line, and this body.
    pub(crate) async fn begin(&self, head: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = format!("{head}\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
        stream
    }

    /// Sends a request with this head, up to its empty line, and this body; gives all of the response.
    pub(crate) async fn ask(&self, head: &str, body: &[u8]) -> String {
        let mut stream = self.begin(head, body).await;
        let mut response = String::new();
        tokio::time::timeout(TIMEOUT, stream.read_to_string(&mut response)).await.unwrap().unwrap();
        response
    }

    /// Connects as a client of HTTP/2 in cleartext, with prior knowledge.
    pub(crate) async fn connect_http2(&self) -> SendRequest<Full<Bytes>> {
        let stream = TokioIo::new(TcpStream::connect(self.address).await.unwrap());
        let (client, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// Opens a WebSocket with these further fields; the head of the response, and the connection.
    pub(crate) async fn open_web_socket(&self, fields: &str) -> (String, TcpStream) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = format!(
            "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{fields}\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut response = Vec::new();
        while !response.ends_with(b"\r\n\r\n") {
            response.push(tokio::time::timeout(TIMEOUT, stream.read_u8()).await.unwrap().unwrap());
        }
        (String::from_utf8(response).unwrap().to_lowercase(), stream)
    }
}
