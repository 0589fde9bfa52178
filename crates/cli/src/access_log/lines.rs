//! The lines of one worker, until they are handed over.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serow::{AccessLog, Served};
use tokio::{
    sync::mpsc::{Sender, error::TrySendError},
    task::spawn_local,
    time::sleep,
};

use super::{Format, combined, date::Date, json};

/// What makes the log of each worker.
#[derive(Clone)]
pub(crate) struct LogMaker {
    pub(super) buffers: Sender<Vec<u8>>,
    pub(super) lost: Arc<AtomicU64>,
    pub(super) format: Format,
}

/// The access log of one worker.
pub(crate) struct WorkerLog(Rc<Lines>);

struct Lines {
    maker: LogMaker,
    date: RefCell<Date>,
    buffer: RefCell<Vec<u8>>,
    count: Cell<u64>,
    /// Whether a task waits to hand the buffer over.
    hand_over_is_due: Cell<bool>,
}

impl LogMaker {
    /// The log of one worker.
    pub(crate) fn for_worker(&self) -> WorkerLog {
        WorkerLog(Rc::new(Lines {
            maker: self.clone(),
            date: RefCell::new(Date::new()),
            buffer: RefCell::new(Vec::new()),
            count: Cell::new(0),
            hand_over_is_due: Cell::new(false),
        }))
    }
}

impl AccessLog for WorkerLog {
    fn log(&self, served: &Served<'_>) {
        let lines = &self.0;
        if lines.maker.buffers.is_closed() {
            // Nobody will ever read them.
            return;
        }
        if lines.add(served) >= FULL {
            lines.hand_over();
        } else if !lines.hand_over_is_due.replace(true) {
            let lines = Rc::clone(lines);
            spawn_local(async move {
                sleep(LONGEST_WAIT).await;
                lines.hand_over_is_due.set(false);
                lines.hand_over();
            });
        }
    }
}

impl Lines {
    /// Adds the line of a request; gives the bytes that wait.
    fn add(&self, served: &Served<'_>) -> usize {
        let mut buffer = self.buffer.borrow_mut();
        if buffer.capacity() == 0 {
            buffer.reserve_exact(CAPACITY);
        }
        let date = &mut *self.date.borrow_mut();
        match self.maker.format {
            Format::Combined => combined::write(served, date, &mut buffer),
            Format::Json => json::write(served, date, &mut buffer),
        }
        self.count.set(self.count.get() + 1);
        buffer.len()
    }

    fn hand_over(&self) {
        let buffer = self.buffer.take();
        let count = self.count.take();
        if !buffer.is_empty()
            && let Err(TrySendError::Full(_)) = self.maker.buffers.try_send(buffer)
        {
            self.maker.lost.fetch_add(count, Ordering::Relaxed);
        }
    }
}

impl Drop for Lines {
    /// The end of the worker.
    fn drop(&mut self) {
        self.hand_over();
    }
}

/// A line waits no longer than that for others: short enough to watch requests come in, and ten calls a second cost
/// nothing.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Bytes after which a buffer is handed over: some 500 lines, so that the call that writes them costs each next to
/// nothing.
const FULL: usize = 64 * 1024;

/// Room for one more line of the usual length, so that a buffer is allocated once.
const CAPACITY: usize = FULL + 4 * 1024;

/// A request to be logged.
#[cfg(test)]
pub(super) mod example {
    use std::time::{Duration, SystemTime};

    use serow::{Connection, Headers, Method, Peer, RequestHead, Scheme, Served, StatusCode, Target, Version};

    pub(in crate::access_log) struct Example {
        connection: Connection,
        request: RequestHead,
    }

    impl Example {
        pub(in crate::access_log) fn new(peer: &str) -> Self {
            Self::of(Peer::Tcp(peer.parse().unwrap()))
        }

        pub(in crate::access_log) fn unix() -> Self {
            Self::of(Peer::Unix)
        }

        fn of(peer: Peer) -> Self {
            let connection = Connection::new(peer, None, Scheme::Http);
            let request = RequestHead {
                method: Method::GET,
                target: Target::default(),
                version: Version::HTTP_11,
                headers: Headers::new(),
            };
            Self { connection, request }
        }

        pub(in crate::access_log) fn header(&mut self, name: &str, value: &[u8]) {
            self.request.headers.append(name, value).unwrap();
        }

        pub(in crate::access_log) fn target(&mut self, target: &'static str) {
            self.request.target = Target::parse(target.into(), false).unwrap();
        }

        pub(in crate::access_log) fn served(&self) -> Served<'_> {
            Served {
                connection: &self.connection,
                connection_number: 7,
                request_number: 2,
                request: Some(&self.request),
                status: StatusCode::OK,
                response: None,
                head_bytes: 120,
                body_bytes: 13,
                stream: None,
                began: SystemTime::UNIX_EPOCH + Duration::from_millis(784_111_777_042),
                took: Duration::from_micros(1_000_250),
                whole: true,
            }
        }
    }
}
