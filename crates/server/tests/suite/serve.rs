//! `serow::serve`: as `axum::serve`, within the runtime of a program.

use std::{
    io::{Read, Write},
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

#[cfg(feature = "tls")]
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serow::{BoxedHandler, HandlerExt, ListeningSocket, Request, Response, Server};
#[cfg(feature = "tls")]
use serow::{Certificates, SelfSigned, TlsSettings};
use tokio::sync::{oneshot, watch};

use crate::support::{Client, eventually};

/// Boxed, or the whole server would be compiled for each of the tests.
fn hello() -> BoxedHandler {
    (|_: Request| async { Response::text("hello") }).boxed()
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_finishes_requests_in_progress_when_the_signal_comes() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (signal, signalled) = oneshot::channel::<()>();
    let has_begun = Arc::new(AtomicBool::new(false));
    let begun = Arc::clone(&has_begun);
    let (go, wait) = watch::channel(false);
    let handler = move |request: Request| {
        let (begun, mut wait) = (Arc::clone(&begun), wait.clone());
        async move {
            if request.target.path() == "/slow" {
                begun.store(true, Ordering::Release);
                let _ = wait.wait_for(|go| *go).await;
            }
            "hello"
        }
    };
    let server = serow::serve(listener, handler.boxed()).with_graceful_shutdown(async { _ = signalled.await });
    let serving = tokio::spawn(server.into_future());
    let slow = tokio::task::spawn_blocking(move || Client::tcp(address).get("/slow").text().to_owned());
    blocking(move || eventually("the request begins", || has_begun.load(Ordering::Acquire))).await;
    signal.send(()).unwrap();
    let is_refusing = move || std::net::TcpStream::connect(address).is_err();
    blocking(move || eventually("it listens no more", is_refusing)).await;
    go.send(true).unwrap();
    assert_eq!(slow.await.unwrap(), "hello");
    serving.await.unwrap().unwrap();
    assert!(is_refusing());
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_with_its_future() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(serow::serve(listener, hello()).into_future());
    assert_eq!(blocking(move || Client::tcp(address).get("/").text().to_owned()).await, "hello");
    serving.abort();
    blocking(move || eventually("it ends", || std::net::TcpStream::connect(address).is_err())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_serves_on_unix_sockets() {
    let path = std::env::temp_dir().join(format!("serow-serve-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let serving = tokio::spawn(serow::serve(listener, hello()).into_future());
    let asked = path.clone();
    assert_eq!(blocking(move || Client::unix(&asked).get("/").text().to_owned()).await, "hello");
    serving.abort();
    std::fs::remove_file(&path).unwrap();
}

#[cfg(feature = "tls")]
#[tokio::test(flavor = "multi_thread")]
async fn with_tls_settings_connections_begin_with_tls() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let certificate = SelfSigned::new().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.certificate().to_vec().into()).unwrap();
    let tls =
        TlsSettings { certificates: Certificates::SelfSigned(certificate), ..TlsSettings::self_signed().unwrap() };
    let settings = Server::new().workers(1).tls(tls);
    let server = serow::serve(listener, hello()).with_settings(settings);
    let serving = tokio::spawn(server.into_future());
    let answer = blocking(move || {
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let connection = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
        let mut stream = StreamOwned::new(connection, std::net::TcpStream::connect(address).unwrap());
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    assert!(answer.await.ends_with("hello"));
    serving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_does_not_listen_is_an_error() {
    struct NotListening;

    impl ListeningSocket for NotListening {
        fn into_socket(self) -> std::io::Result<OwnedFd> {
            Ok(std::net::UdpSocket::bind("127.0.0.1:0")?.into())
        }
    }

    let outcome = serow::serve(NotListening, hello()).await;
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("listen"), "{error}");
}
