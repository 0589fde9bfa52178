//! A server that counts what reaches it.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serow::{Address, Request, Response, Server, StatusCode, Stopper};
use serow_client::Destination;
use tempfile::TempDir;

/// A server on a thread of this process, at a port and a unix socket; dropping it ends it.
pub(crate) struct Counting {
    port: u16,
    folder: TempDir,
    counts: Arc<Counts>,
    stopper: Stopper,
}

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    body_bytes: AtomicU64,
}

impl Counting {
    /// One that answers at once.
    pub(crate) fn start() -> Self {
        Self::slow(Duration::ZERO)
    }

    /// One that takes its time for each answer.
    pub(crate) fn slow(time: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = format!("unix:{}", folder.path().join("socket").display());
        let server = Server::new().listen("127.0.0.1:0").listen(socket).workers(1).ignore_signals().bind().unwrap();
        let Some(Address::Tcp(address)) = server.addresses().next().cloned() else { panic!("a port") };
        let (stopper, counts) = (server.stopper(), Arc::<Counts>::default());
        let counted = Arc::clone(&counts);
        thread::spawn(move || server.run(move |request| answer(request, Arc::clone(&counted), time)));
        Self { port: address.port(), folder, counts, stopper }
    }

    /// Its port.
    pub(crate) fn tcp(&self) -> Destination {
        Destination::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)))
    }

    /// Its unix socket.
    pub(crate) fn unix(&self) -> Destination {
        Destination::Unix(self.folder.path().join("socket"))
    }

    /// Requests so far.
    pub(crate) fn count(&self) -> u64 {
        self.counts.requests.load(Ordering::Relaxed)
    }

    /// Waits until it has had so many requests.
    pub(crate) fn wait_for(&self, requests: u64) {
        let began = Instant::now();
        while self.count() < requests {
            assert!(began.elapsed() < Duration::from_secs(20), "{} requests", self.count());
            thread::yield_now();
        }
    }

    /// Bytes of their bodies.
    pub(crate) fn received(&self) -> u64 {
        self.counts.body_bytes.load(Ordering::Relaxed)
    }

    /// Ends it, with all its connections.
    pub(crate) fn stop(&self) {
        self.stopper.stop();
        self.stopper.stop();
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn answer(mut request: Request, counts: Arc<Counts>, time: Duration) -> Response {
    counts.requests.fetch_add(1, Ordering::Relaxed);
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
    match request.target.path() {
        "/echo" => {
            let body = std::mem::take(&mut request.body).collect(usize::MAX).await.unwrap_or_default();
            counts.body_bytes.fetch_add(body.len() as u64, Ordering::Relaxed);
            Response::new(StatusCode::OK).body(body)
        }
        "/missing" => Response::new(StatusCode::NOT_FOUND),
        "/never" => std::future::pending().await,
        _ => Response::text("Hello, World!"),
    }
}
