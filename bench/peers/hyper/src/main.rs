//! `hyper-peer hyper|axum ADDR`: answers every request with `Hello, World!`, on one core.

use std::convert::Infallible;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::{env, fs, io, process};

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use socket2::{Domain, Socket, Type};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

/// As for every server in this comparison: 1,000 connections at once must not be refused.
const BACKLOG: i32 = 4096;

#[derive(Clone)]
enum Application {
    Hyper,
    Axum(Router),
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().collect();
    let application = match arguments.get(1).map(String::as_str) {
        Some("hyper") => Application::Hyper,
        Some("axum") => Application::Axum(Router::new().route("/", get(|| async { "Hello, World!" }))),
        _ => usage(),
    };
    let address = arguments.get(2).unwrap_or_else(|| usage());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(listen(address, application))
}

fn usage() -> ! {
    eprintln!("usage: hyper-peer hyper|axum 127.0.0.1:PORT|unix:/path");
    process::exit(2)
}

async fn listen(address: &str, application: Application) -> io::Result<()> {
    if let Some(path) = address.strip_prefix("unix:") {
        let _ = fs::remove_file(path);
        let listener = StdUnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            serve(stream, &application);
        }
    }
    let address: std::net::SocketAddr = address.parse().map_err(io::Error::other)?;
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    let listener = TcpListener::from_std(socket.into())?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        serve(stream, &application);
    }
}

fn serve<S>(stream: S, application: &Application)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let stream = TokioIo::new(stream);
    match application {
        Application::Hyper => {
            let connection = http1::Builder::new().serve_connection(stream, service_fn(hello));
            tokio::spawn(connection);
        }
        Application::Axum(router) => {
            let connection = http1::Builder::new().serve_connection(stream, TowerToHyperService::new(router.clone()));
            tokio::spawn(connection);
        }
    }
}

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello, World!")));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}
