//! A server in this process, a raw client, and ways to wait that come to an end.

mod answer;
mod child;
mod client;
mod either;
pub(crate) mod frames;
mod logs;
mod multiplexed;
mod sequential;
mod streams;
#[cfg_attr(not(feature = "simulation"), path = "kernel.rs")]
#[cfg_attr(feature = "simulation", path = "memory.rs")]
mod under;

use std::{net::SocketAddr, path::Path, time::Duration};

use serow::{Address, BoundServer, Handler, HandlerExt, Server, Stopper, Timeouts};

use self::under::{Serving, Stream};
pub(crate) use self::{
    child::{Child, hello_in_a_child},
    client::Client,
    either::{Asked, BOTH, Either, Spoken},
    logs::{Noted, logged_since},
    multiplexed::{Ended, Multiplexed, Opening},
    streams::{Feed, Pieces, bytes_of, channel_body},
    under::{Instant, LATE, sleep, wall},
};

/// No wait of a test lasts longer: far beyond what a busy machine needs, far below what a person waits for.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// A server in this process; dropping it cuts what still runs.
pub(crate) struct Running {
    pub(crate) addresses: Vec<Address>,
    pub(crate) stopper: Stopper,
    serving: Option<Serving>,
}

impl Running {
    /// One worker on a port of its own.
    pub(crate) fn new<H: Handler + Send>(handler: H) -> Self {
        // Some send bodies without end, to see who waits for whom.
        Self::with(Server::new().limits(serow::Limits { body: u64::MAX, ..serow::Limits::default() }), handler)
    }

    /// One worker on a port of its own, with these settings.
    pub(crate) fn with<H: Handler + Send>(server: Server, handler: H) -> Self {
        Self::of(server.listen("127.0.0.1:0").workers(1).bind().unwrap(), handler)
    }

    /// Handlers are boxed, or the whole server would be compiled for each of the tests.
    pub(crate) fn of<H: Handler + Send>(server: BoundServer, handler: H) -> Self {
        let handler = handler.boxed();
        let addresses = server.addresses().cloned().collect();
        let stopper = server.stopper();
        let serving = Some(Serving::start(server, handler));
        Self { addresses, stopper, serving }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self.addresses[0] {
            Address::Tcp(address) => address,
            ref other => panic!("{other:?} is no TCP address"),
        }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::tcp(self.address())
    }

    /// Connects to a unix socket.
    pub(crate) fn connect_unix(path: &Path) -> Client {
        Client::unix(path)
    }

    /// Whether a new connection is turned away.
    pub(crate) fn is_refusing(&self) -> bool {
        Stream::connect(self.address()).is_err()
    }

    /// Waits until the server has ended, by itself or by a stop; returns how long that took.
    pub(crate) fn wait(&mut self) -> Duration {
        let began = Instant::now();
        let serving = self.serving.take().expect("waited for once");
        eventually("the server ends", || serving.has_ended());
        serving.outcome().unwrap();
        began.elapsed()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        self.stopper.stop();
        if let Some(serving) = self.serving.take()
            && !std::thread::panicking()
        {
            eventually("the server ends", || serving.has_ended());
            serving.outcome().unwrap();
        }
    }
}

/// Waits until the condition holds.
#[track_caller]
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < TIMEOUT, "waited in vain until {what}");
        sleep(Duration::from_millis(2));
    }
}

/// Timeouts that let a test see them; what a test does not ask for stays long.
pub(crate) fn patient() -> Timeouts {
    let long = Duration::from_secs(60);
    Timeouts { head: long, idle: long, body: long, grace: long }
}

/// A folder that goes away with the test.
pub(crate) struct Folder(std::path::PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("serow-engine-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
