//! The simulation under the tests, with the names of `kernel.rs`: everything runs in the test's own thread, and time passes
//! only when nothing else can happen.

use std::{
    cell::RefCell,
    future::poll_fn,
    io::{self, Read, Write},
    net::SocketAddr,
    path::Path,
    rc::Rc,
    task::Poll,
    thread::{self, ThreadId},
    time::{Duration, SystemTime},
};

use bytes::BytesMut;
use serow::{BoundServer, Error, Handler};
use serow_net::{
    Destination, More, Socket,
    simulated::{Link, enter, set_link},
};
use tokio::{
    runtime::{Builder, Runtime},
    task::{JoinHandle, LocalSet, yield_now},
    time::timeout,
};

use super::TIMEOUT;

thread_local! {
    /// Never dropped: the tasks of a test that has failed would look for thread-locals that are gone.
    static WORLD: &'static (Runtime, LocalSet) = Box::leak(Box::new((
        Builder::new_current_thread().enable_all().start_paused(true).build().unwrap(),
        LocalSet::new(),
    )));
}

/// Lets everything go on until this is ready.
fn drive<T>(future: impl Future<Output = T>) -> T {
    enter();
    WORLD.with(|(runtime, tasks)| runtime.block_on(tasks.run_until(future)))
}

/// Goes on whenever the test waits.
fn beside<T: 'static>(future: impl Future<Output = T> + 'static) -> JoinHandle<T> {
    WORLD.with(|(_, tasks)| tasks.spawn_local(future))
}

/// A moment of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant(tokio::time::Instant);

impl Instant {
    pub(crate) fn now() -> Self {
        drive(async { Self(tokio::time::Instant::now()) })
    }

    pub(crate) fn elapsed(self) -> Duration {
        drive(async { self.0.elapsed() })
    }
}

/// The time of day in the simulation.
pub(crate) fn wall() -> SystemTime {
    drive(async { serow_net::time::wall() })
}

pub(crate) fn sleep(time: Duration) {
    drive(async { tokio::time::sleep(time).await });
}

/// A connection. Every wait ends after [`TIMEOUT`], unless another time is set.
pub(crate) struct Stream {
    /// There until it is dropped.
    socket: Option<Rc<Socket>>,
    /// How long a read waits; not at all if there is none.
    waiting_time: RefCell<Option<Duration>>,
}

impl Stream {
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        let pieces = std::env::var("SIMULATION_SEED").ok().and_then(|seed| seed.parse().ok());
        set_link(Link { pieces, ..Link::default() });
        let socket = drive(async { Destination::Tcp(address).connect().await })?;
        Ok(Self { socket: Some(Rc::new(socket)), waiting_time: RefCell::new(Some(TIMEOUT)) })
    }

    pub(crate) fn connect_unix(_: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn set_nonblocking(&self) {
        self.waiting_time.replace(None);
    }

    pub(crate) fn set_read_timeout(&self, time: Duration) {
        self.waiting_time.replace(Some(time));
    }

    /// A second handle to the same connection.
    pub(crate) fn twin(&self) -> Self {
        Self { socket: self.socket.clone(), waiting_time: RefCell::new(Some(TIMEOUT)) }
    }

    pub(crate) fn finish_sending(&self) {
        let _ = drive(async { self.socket().shut_down() });
    }

    pub(crate) fn local_address(&self) -> SocketAddr {
        self.socket().local_address().unwrap()
    }

    fn socket(&self) -> &Socket {
        self.socket.as_ref().unwrap()
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut input = BytesMut::with_capacity(buffer.len());
        let waiting_time = *self.waiting_time.borrow();
        let received = drive(async {
            let receive = poll_fn(|context| self.socket().poll_receive(context, &mut input, |_| {}));
            match waiting_time {
                Some(time) => timeout(time, receive).await.map_err(|_| io::ErrorKind::WouldBlock)?,
                None => {
                    for _ in 0..TURNS {
                        yield_now().await;
                    }
                    let mut receive = std::pin::pin!(receive);
                    poll_fn(|context| match receive.as_mut().poll(context) {
                        Poll::Pending => Poll::Ready(Err(io::ErrorKind::WouldBlock.into())),
                        ready => ready,
                    })
                    .await
                }
            }
        })?;
        assert!(received <= buffer.len());
        buffer[..received].copy_from_slice(&input[..received]);
        Ok(received)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_patient = self.waiting_time.borrow().is_some();
        drive(async {
            if !is_patient {
                return match self.socket().send(bytes)? {
                    0 => Err(io::ErrorKind::WouldBlock.into()),
                    sent => Ok(sent),
                };
            }
            let send = poll_fn(|context| self.socket().poll_send(context, bytes, More::Nothing));
            timeout(TIMEOUT, send).await.map_err(|_| io::ErrorKind::TimedOut)?
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // The last handle closes the connection within the simulation, where there is time.
        match tokio::runtime::Handle::try_current() {
            Ok(_) => drop(self.socket.take()),
            Err(_) => drive(async { drop(self.socket.take()) }),
        }
    }
}

/// How much later than promised something may happen: a precise deadline is late by 2 ms and by a step of tokio's timer.
pub(crate) const LATE: Duration = Duration::from_millis(4);

/// Whether a server of this test may run in that thread: each test has a network of its own, whose addresses come again.
pub(crate) fn may_serve_this_test(thread: ThreadId) -> bool {
    thread == thread::current().id()
}

/// A server that runs.
pub(crate) struct Serving {
    task: JoinHandle<Result<(), Error>>,
}

impl Serving {
    pub(crate) fn start<H: Handler + Send>(server: BoundServer, handler: H) -> Self {
        let task = beside(server.serve_here(handler));
        // It listens when it has had its first turn.
        drive(yield_now());
        Self { task }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// The outcome of a server that has ended.
    pub(crate) fn outcome(self) -> Result<(), Error> {
        drive(self.task).unwrap()
    }
}

/// A client that writes beside the test.
pub(crate) struct Writing {
    task: JoinHandle<bool>,
}

impl Writing {
    /// Writes piece after piece with pauses, until the connection is gone.
    pub(crate) fn start(stream: Stream, pieces: Vec<Vec<u8>>, pause: Duration) -> Self {
        let write = async move {
            for piece in &pieces {
                let mut rest = &piece[..];
                while !rest.is_empty() {
                    let send = poll_fn(|context| stream.socket().poll_send(context, rest, More::Nothing));
                    let Ok(sent) = send.await else { return false };
                    rest = &rest[sent..];
                }
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
            }
            true
        };
        Self { task: beside(write) }
    }

    /// Waits for its end; whether all was written.
    pub(crate) fn end(self) -> bool {
        drive(self.task).unwrap()
    }
}

/// Turns that all tasks get before a read that does not wait.
const TURNS: usize = 8;
