//! The lines of one worker, until they are handed over.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use serow_message::{RequestId, Served};
use tokio::{task::spawn_local, time::sleep};

use super::{ClientRules, Format, date::Date, queue::Queue, syslog::Header};

/// Makes the log of each worker. Clones write to the same destination.
#[derive(Clone)]
pub struct WorkerLogs {
    maker: LinesMaker,
    format: Format,
    clients: Arc<ClientRules>,
}

/// Makes the lines of each worker for one destination.
#[derive(Clone)]
pub(super) struct LinesMaker {
    pub(super) queue: Arc<Queue>,
    /// The header that turns each line into a syslog message.
    pub(super) header: Option<Header>,
}

/// The access log of one worker, for `serow::Server::access_log`.
pub struct WorkerLog {
    lines: Rc<Lines>,
    format: Format,
    clients: Arc<ClientRules>,
}

/// The lines of one worker for one destination.
pub(super) struct Lines {
    maker: LinesMaker,
    date: RefCell<Date>,
    buffer: RefCell<Vec<u8>>,
    count: Cell<u64>,
    /// Whether a task waits to hand the buffer over.
    hand_over_is_due: Cell<bool>,
    /// Dropped last, when the lines are in the queue.
    _open: Option<Arc<dyn Any + Send + Sync>>,
}

impl WorkerLogs {
    pub(super) fn new(maker: LinesMaker, format: Format) -> Self {
        Self { maker, format, clients: Arc::default() }
    }

    /// Names the clients of requests as these rules say.
    pub(super) fn set_clients(&mut self, clients: ClientRules) {
        self.clients = Arc::new(clients);
    }

    /// The log of one worker, to be called on the worker's thread.
    pub fn for_worker(&self) -> WorkerLog {
        self.holding(None)
    }

    /// As [`for_worker`](Self::for_worker); the worker keeps the log open.
    pub(super) fn holding(&self, open: Option<Arc<dyn Any + Send + Sync>>) -> WorkerLog {
        WorkerLog { lines: self.maker.lines(open), format: self.format.clone(), clients: Arc::clone(&self.clients) }
    }
}

impl LinesMaker {
    /// The lines of one worker, which keeps the log open.
    pub(super) fn lines(&self, open: Option<Arc<dyn Any + Send + Sync>>) -> Rc<Lines> {
        Rc::new(Lines {
            maker: self.clone(),
            date: RefCell::new(Date::new()),
            buffer: RefCell::new(Vec::new()),
            count: Cell::new(0),
            hand_over_is_due: Cell::new(false),
            _open: open,
        })
    }
}

impl serow_message::AccessLog for WorkerLog {
    fn log(&self, served: &Served<'_>) {
        let (client, client_scheme) = self.clients.client(served);
        let redacted = self.clients.secrets.redacted(served.request);
        let request = redacted.as_ref().or(served.request);
        self.lines.log(&self.format, &Served { client, client_scheme, request, ..*served });
    }

    fn reads_response(&self) -> bool {
        self.format.reads_response()
    }

    fn reads_route(&self) -> bool {
        self.clients.reads_route() || RequestId::is_wanted()
    }
}

impl Lines {
    /// Adds the line of a request, and hands the lines over when it is time.
    #[inline]
    pub(super) fn log(self: &Rc<Self>, format: &Format, served: &Served<'_>) {
        if self.add(format, served) >= FULL {
            self.hand_over();
        } else if !self.hand_over_is_due.replace(true) {
            let lines = Rc::clone(self);
            spawn_local(async move {
                sleep(MAX_WAIT).await;
                lines.hand_over_is_due.set(false);
                lines.hand_over();
            });
        }
    }

    /// Adds the line of a request; gives the bytes that wait.
    #[inline]
    fn add(&self, format: &Format, served: &Served<'_>) -> usize {
        self.count.set(self.count.get() + 1);
        if self.maker.queue.is_closed() {
            // The reader has gone for good: the line is only counted.
            return 0;
        }
        let mut buffer = self.buffer.borrow_mut();
        if buffer.capacity() == 0 {
            buffer.reserve_exact(CAPACITY);
        }
        let date = &mut *self.date.borrow_mut();
        if let Some(header) = &self.maker.header {
            header.write(served, date, &mut buffer);
        }
        format.write(served, date, &mut buffer);
        buffer.len()
    }

    fn hand_over(&self) {
        let (text, lines) = (self.buffer.take(), self.count.take());
        if lines > 0 {
            self.maker.queue.push(text, lines);
        }
    }
}

impl Drop for Lines {
    /// The end of the worker.
    fn drop(&mut self) {
        self.hand_over();
    }
}

/// A line waits no longer than that for others in the memory of the worker, where it is lost if the process is killed.
/// A busy worker fills its buffer about as fast, so that this costs it nothing; one with less to do has fifty
/// hand-overs a second (a lock, a wake-up, a write: some 50 µs).
const MAX_WAIT: Duration = Duration::from_millis(20);

/// Bytes after which a buffer is handed over: some 500 lines, so that the call that writes them costs each next to
/// nothing.
const FULL: usize = 64 * 1024;

/// Room for one more line of the usual length, so that a buffer is allocated once.
const CAPACITY: usize = FULL + 4 * 1024;

#[cfg(test)]
mod tests {
    use tokio::{
        runtime::{Builder, LocalOptions},
        time::Instant,
    };

    use super::*;
    use crate::{AccessLog, Destination, example::Example, queue::Task};

    #[test]
    fn a_line_is_handed_over_after_twenty_milliseconds() {
        let mut runtime = Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build_local(LocalOptions::default()).unwrap().block_on(async {
            let queue = Arc::<Queue>::default();
            let log =
                WorkerLogs::new(LinesMaker { queue: Arc::clone(&queue), header: None }, Format::Combined).for_worker();
            let start = Instant::now();
            let example = Example::unix();
            serow_message::AccessLog::log(&log, &example.served());
            serow_message::AccessLog::log(&log, &example.served());
            while queue.is_empty() {
                sleep(Duration::from_millis(1)).await;
            }
            assert!(start.elapsed() <= Duration::from_millis(22), "{:?}", start.elapsed());
            assert!(matches!(queue.next(), Task::Write(batch) if batch.lines == 2));
        });
    }

    #[test]
    fn the_lines_of_the_last_worker_are_written_when_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("access.log");
        let log = AccessLog::combined(Destination::File(file.clone())).unwrap();
        let make = log.for_workers();
        let runtime = Builder::new_current_thread().enable_time().build_local(LocalOptions::default()).unwrap();
        runtime.block_on(async {
            let (one, other) = (make(), make());
            drop(make);
            serow_message::AccessLog::log(&one, &Example::unix().served());
            drop(one);
            serow_message::AccessLog::log(&other, &Example::unix().served());
        });
        drop(runtime);
        assert_eq!(std::fs::read_to_string(file).unwrap().lines().count(), 2);
    }
}
