//! The kernel under the tests: sockets, threads and time. `memory.rs` has the same names, in the simulation.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    path::Path,
    sync::atomic::{AtomicU32, Ordering},
    thread::{JoinHandle, ThreadId},
    time::Duration,
};

pub(crate) use std::{thread::sleep, time::Instant};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use serow::{BoundServer, Error, Handler};
pub(crate) use serow_net::time::wall;

use super::TIMEOUT;

/// 127.1.0.0: the rest of 127.0.0.0/8 is loopback as well.
const FIRST_OWN_ADDRESS: u32 = 0x7f01_0000;

/// An address of loopback that no other client of this process has: ports come again, and the log tells of peers.
fn own_address() -> SocketAddr {
    static CLIENTS: AtomicU32 = AtomicU32::new(0);
    let number = CLIENTS.fetch_add(1, Ordering::Relaxed);
    SocketAddr::from((Ipv4Addr::from(FIRST_OWN_ADDRESS + number), 0))
}

/// A connection. Every wait ends after [`TIMEOUT`], unless another time is set.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = match address {
            SocketAddr::V4(_) => {
                // Processes that other tests start have few descriptors, and must not inherit it.
                let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
                rustix::net::bind(&socket, &own_address())?;
                rustix::net::connect(&socket, &address)?;
                TcpStream::from(socket)
            }
            // Of the addresses of IPv6, loopback has one.
            SocketAddr::V6(_) => TcpStream::connect(address)?,
        };
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Self::Tcp(stream))
    }

    pub(crate) fn connect_unix(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Self::Unix(stream))
    }

    pub(crate) fn set_nonblocking(&self) {
        match self {
            Self::Tcp(stream) => stream.set_nonblocking(true).unwrap(),
            Self::Unix(stream) => stream.set_nonblocking(true).unwrap(),
        }
    }

    pub(crate) fn set_read_timeout(&self, time: Duration) {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(Some(time)).unwrap(),
            Self::Unix(stream) => stream.set_read_timeout(Some(time)).unwrap(),
        }
    }

    /// A second handle to the same connection.
    pub(crate) fn twin(&self) -> Self {
        match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone().unwrap()),
            Self::Unix(stream) => Self::Unix(stream.try_clone().unwrap()),
        }
    }

    pub(crate) fn finish_sending(&self) {
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }

    pub(crate) fn local_address(&self) -> SocketAddr {
        match self {
            Self::Tcp(stream) => stream.local_addr().unwrap(),
            Self::Unix(_) => panic!("no TCP"),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

/// How much later than promised something may happen: on a busy machine, nearly as much as a test waits.
pub(crate) const LATE: Duration = Duration::from_secs(19);

/// Whether a server of this test may run in that thread. All may: clients have addresses of their own instead.
pub(crate) fn may_serve_this_test(_: ThreadId) -> bool {
    true
}

/// A server that runs.
pub(crate) struct Serving {
    thread: JoinHandle<Result<(), Error>>,
}

impl Serving {
    pub(crate) fn start<H: Handler + Send>(server: BoundServer, handler: H) -> Self {
        Self { thread: std::thread::spawn(move || server.run(handler)) }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// The outcome of a server that has ended.
    pub(crate) fn outcome(self) -> Result<(), Error> {
        self.thread.join().unwrap()
    }
}

/// A client that writes beside the test.
pub(crate) struct Writing {
    thread: JoinHandle<bool>,
}

impl Writing {
    /// Writes piece after piece with pauses, until the connection is gone.
    pub(crate) fn start(mut stream: Stream, pieces: Vec<Vec<u8>>, pause: Duration) -> Self {
        let write = move || {
            pieces.iter().all(|piece| {
                let is_written = stream.write_all(piece).is_ok();
                sleep(pause);
                is_written
            })
        };
        Self { thread: std::thread::spawn(write) }
    }

    /// Waits for its end; whether all was written.
    pub(crate) fn end(self) -> bool {
        self.thread.join().unwrap()
    }
}
