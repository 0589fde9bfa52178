//! Real servers, a proxy before them, and clients of it.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub, reason = "each test needs a part of this")]

pub mod multiplexed;
pub mod name_server;
pub mod script;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serow::{BoundServer, BoxedHandler, Handler, HandlerExt, Request, Response, Server, Status, Stopper};
use serow_proxy::{
    ForwardingSettings, Proxy, ServerAddress, ServerLocation, ServerSettings, Upstream, UpstreamSettings,
};
use tokio::sync::watch;

/// A server that runs until this is dropped.
pub struct Origin {
    address: SocketAddr,
    status: Status,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Origin {
    /// Serves with this handler, on one thread.
    pub fn serve(handler: impl Handler + Send) -> Self {
        Self::with(Server::new().listen("127.0.0.1:0"), handler)
    }

    /// Serves with this handler and these settings, on one thread.
    pub fn with(server: Server, handler: impl Handler + Send) -> Self {
        Self::run(server.workers(1).ignore_signals().bind().unwrap(), handler.boxed())
    }

    /// One type, or the whole server would be compiled for each handler.
    fn run(bound: BoundServer, handler: BoxedHandler) -> Self {
        let address = bound.addresses().next().unwrap().to_string().parse().unwrap();
        let (status, stopper) = (bound.status(), bound.stopper());
        let thread = thread::spawn(move || bound.run(handler).unwrap());
        Self { address, status, stopper, thread: Some(thread) }
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections it has had.
    pub fn connections(&self) -> u64 {
        self.status.report().connections.accepted
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.stopper.stop_within(Duration::ZERO);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the server ends in order");
        }
    }
}

/// A proxy that runs until this is dropped.
pub struct Proxied {
    front: Origin,
    pub upstream: Upstream,
}

impl Proxied {
    /// In front of servers at these addresses, with default settings.
    pub fn new(servers: &[SocketAddr]) -> Self {
        let servers = servers.iter().map(|address| server(*address)).collect();
        Self::with(UpstreamSettings::new("test", servers), ForwardingSettings::default())
    }

    /// Before a server at this address that speaks HTTP/2 in the clear.
    pub fn multiplexing(server: SocketAddr) -> Self {
        let settings = UpstreamSettings::new("test", vec![multiplexing_server(server)]);
        Self::with(settings, ForwardingSettings::default())
    }

    /// With these settings.
    pub fn with(upstream: UpstreamSettings, forwarding: ForwardingSettings) -> Self {
        let upstream = Upstream::new(upstream);
        Self { front: Origin::serve(Proxy::new(upstream.clone(), forwarding)), upstream }
    }

    /// Where the proxy is.
    pub fn address(&self) -> SocketAddr {
        self.front.address()
    }

    /// Sends three megabytes to an echo server, and compares.
    pub fn carries_a_large_body(&self) {
        let sent: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
        let mut client = self.connect();
        let mut writer = client.try_clone().unwrap();
        let body = sent.clone();
        let writing = std::thread::spawn(move || {
            writer
                .write_all(b"PUT / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 3000000\r\n\r\n")
                .unwrap();
            writer.write_all(&body).unwrap();
        });
        let mut received = Vec::new();
        client.read_to_end(&mut received).unwrap();
        writing.join().unwrap();
        let start = received.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
        assert!(received[start..] == sent, "{} bytes", received.len() - start);
    }

    /// A connection to the proxy.
    pub fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(self.address()).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client
    }
}

/// A server that does this with each connection, in a thread of its own. It ends with the process.
pub fn raw_server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for connection in listener.incoming() {
            let (serve, connection) = (Arc::clone(&serve), connection.unwrap());
            connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            thread::spawn(move || serve(connection));
        }
    });
    address
}

/// A server at this address that speaks HTTP/1.1.
pub fn server(address: SocketAddr) -> ServerSettings {
    let mut found: ServerAddress = "127.0.0.1:1".parse().unwrap();
    found.location = ServerLocation::Tcp(address);
    ServerSettings::new(found)
}

/// A server that answers with this text when the test releases it.
pub fn held(text: &'static str) -> (Origin, watch::Sender<bool>) {
    let (release, held) = watch::channel(false);
    let origin = Origin::serve(move |_: Request| {
        let mut held = held.clone();
        async move {
            let _ = held.wait_for(|is_released| *is_released).await;
            Response::text(text)
        }
    });
    (origin, release)
}

/// A server at this address that speaks HTTP/2 in the clear.
pub fn multiplexing_server(address: SocketAddr) -> ServerSettings {
    ServerSettings::new(format!("h2c://{address}").parse().unwrap())
}

/// Reads up to the end of a head.
pub fn read_head(client: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte).unwrap_or_else(|error| panic!("{error}: {}", head.escape_ascii()));
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// Reads a response with a Content-Length.
pub fn read_response(client: &mut TcpStream) -> String {
    let head = read_head(client);
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    client.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

/// Waits until this is so; ten seconds at most.
#[track_caller]
pub fn until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(10), "that takes too long");
        thread::sleep(Duration::from_millis(2));
    }
}
