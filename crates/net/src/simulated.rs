//! A network in memory, for tests: the connections of all tasks of one thread, on tokio's paused clock.
//!
//! With the feature `simulation`, the files in `simulated/` take the places of those that make system calls, under the same
//! names. Time passes only when no task can go on, so that a test waits for nothing, and a timeout is seen to the
//! millisecond. A seed decides how many bytes each call takes.
//!
//! | kernel | simulation |
//! | --- | --- |
//! | a TCP connection | two [`Flow`](flow::Flow)s, one in each direction |
//! | listening sockets | still bound, so that addresses are real ones; connections arrive in a queue of this thread |
//! | sendfile(2), splice(2) | copies |
//! | TCP_INFO, TCP_NOTSENT_LOWAT | "not supported", as on systems other than Linux |
//! | UDP | that of the kernel |

pub(crate) mod flow;

use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, VecDeque},
    future::poll_fn,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use self::flow::Flow;
use crate::Socket;

/// The network between the ends of connections: the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// How long a byte is on its way.
    pub delay: Duration,
    /// Bytes in a second; without a limit if there is none.
    pub rate: Option<u64>,
    /// Bytes that were sent and not received: what both kernels hold.
    pub capacity: usize,
    /// Decides how many bytes each call takes, from one on, and which calls find nothing at first, so that other tasks go
    /// on before; without a seed each call takes as many bytes as there are.
    pub pieces: Option<u64>,
}

impl Default for Link {
    /// Loopback: no delay, and as much in the kernels as Linux keeps by default.
    fn default() -> Self {
        Self { delay: Duration::ZERO, rate: None, capacity: 4 << 20, pieces: None }
    }
}

/// Connections that were opened and are to be accepted.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) waiting: VecDeque<(Socket, SocketAddr)>,
    pub(crate) acceptor: Option<Waker>,
}

thread_local! {
    static HAS_ENTERED: Cell<bool> = const { Cell::new(false) };
    static QUEUES: RefCell<HashMap<u16, Arc<Mutex<Queue>>>> = RefCell::default();
    static LINK: Cell<Link> = Cell::new(Link::default());
    static LAST_PORT: Cell<u16> = const { Cell::new(0) };
    static IS_EXHAUSTED: Cell<bool> = const { Cell::new(false) };
    static OPEN_SOCKETS: Cell<usize> = const { Cell::new(0) };
}

/// The sockets of this thread that are open: two for each connection, while both ends are.
#[must_use]
pub fn open_sockets() -> usize {
    OPEN_SOCKETS.get()
}

/// Whether there are no descriptors for new connections of the server, as if the limit of open files were reached.
pub fn set_exhausted(is_exhausted: bool) {
    IS_EXHAUSTED.set(is_exhausted);
}

/// # Errors
///
/// There are no descriptors.
pub(crate) fn require_descriptor() -> io::Result<()> {
    if IS_EXHAUSTED.get() { Err(rustix::io::Errno::MFILE.into()) } else { Ok(()) }
}

/// Notes that a socket was opened or closed.
pub(crate) fn note_socket(is_open: bool) {
    // A thread that ends may have forgotten the number before its last sockets.
    let _ = OPEN_SOCKETS.try_with(|count| count.set(if is_open { count.get() + 1 } else { count.get() - 1 }));
}

impl Queue {
    /// Ready when a connection waits to be accepted.
    pub(crate) fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.waiting.is_empty() {
            self.acceptor = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// From now on, this thread is one of the simulation. In others, nothing listens and nothing connects, so that a program
/// that was built with all features by mistake says so.
pub fn enter() {
    HAS_ENTERED.set(true);
}

/// Random choices of the server in this thread follow from this number from now on.
pub fn set_seed(seed: u64) {
    crate::random::set_seed(seed);
}

/// # Errors
///
/// The thread has not [entered](enter).
pub(crate) fn require() -> io::Result<()> {
    let reason = "this program was built with the feature `simulation`, which replaces the network for tests";
    HAS_ENTERED.get().then_some(()).ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, reason))
}

/// Connections that are opened from now on in this thread go over such a link.
pub fn set_link(link: Link) {
    LINK.set(link);
}

/// Connections to this port arrive here from now on.
pub(crate) fn listen(port: u16) -> Arc<Mutex<Queue>> {
    let queue = Arc::new(Mutex::new(Queue::default()));
    QUEUES.with_borrow_mut(|queues| queues.insert(port, Arc::clone(&queue)));
    queue
}

/// The connections to a port that no system knows: for the servers of a test.
#[derive(Debug)]
pub struct Inbox {
    port: u16,
    queue: Arc<Mutex<Queue>>,
}

impl Inbox {
    /// Has connections to this port arrive here, until it is dropped.
    #[must_use]
    pub fn open(port: u16) -> Self {
        Self { port, queue: listen(port) }
    }

    /// The next connection.
    pub async fn accept(&self) -> Socket {
        poll_fn(|context| {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            ready!(queue.poll_waiting(context));
            queue.waiting.pop_front().map_or(Poll::Pending, |(socket, _)| Poll::Ready(socket))
        })
        .await
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        close(self.port);
    }
}

/// Nothing listens on this port any more; connections that were not accepted are reset.
pub(crate) fn close(port: u16) {
    // A thread that ends may have forgotten them before its last tasks.
    let _ = QUEUES.try_with(|queues| queues.borrow_mut().remove(&port));
}

/// The link of [`set_link`].
pub(crate) fn link() -> Link {
    LINK.get()
}

/// Opens a connection over this link.
///
/// # Errors
///
/// Nothing listens there.
pub async fn connect_over(mut link: Link, address: SocketAddr) -> io::Result<Socket> {
    require()?;
    tokio::time::sleep(2 * link.delay).await;
    let queue = QUEUES.with_borrow(|queues| queues.get(&address.port()).cloned());
    let queue = queue.ok_or(io::ErrorKind::ConnectionRefused)?;
    let port = LAST_PORT.get().wrapping_add(1).max(1);
    LAST_PORT.set(port);
    link.pieces = link.pieces.map(|seed| seed.wrapping_add(port.into()));
    let ours = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let there = Arc::new(Mutex::new(Flow::new(link)));
    let back = Arc::new(Mutex::new(Flow::new(link)));
    let socket = Socket::of_flows(Arc::clone(&back), Arc::clone(&there), ours);
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.waiting.push_back((Socket::of_flows(there, back, address), ours));
    if let Some(waker) = queue.acceptor.take() {
        waker.wake();
    }
    Ok(socket)
}
