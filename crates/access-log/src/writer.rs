//! The thread that writes the access log.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use tokio::time::Instant;

use super::{
    AccessLogError, ClientRules, Destination, Format,
    lines::{LinesMaker, WorkerLog, WorkerLogs},
    name::LogName,
    queue::{Batch, LineCounts, Paused, Queue, Task},
    sink::Sink,
    sink_error::SinkError,
    syslog::Header,
    watch::Watch,
};

/// An access log that is open: a thread writes the lines of all workers. Clones of its [`WorkerLogs`] make the lines.
///
/// From the first log on, SIGUSR1 no longer ends the process; it makes a log open its file again.
pub struct AccessLog {
    logs: WorkerLogs,
    writer: Writer,
}

/// A thread that writes to one destination.
pub(super) struct Writer {
    name: LogName,
    queue: Arc<Queue>,
    /// Closed when the thread has written everything.
    ended: mpsc::Receiver<()>,
}

/// Counts the lines of logs; without a log, all counts stay 0.
#[derive(Clone, Default)]
pub struct LineCounter(pub(super) Vec<Arc<Queue>>);

impl AccessLog {
    /// Opens a log in the combined format of nginx and Apache.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn combined(destination: Destination) -> Result<Self, AccessLogError> {
        Self::open(destination, Format::Combined)
    }

    /// Opens a log with a JSON object for each request.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn json(destination: Destination) -> Result<Self, AccessLogError> {
        Self::open(destination, Format::Json)
    }

    /// Opens a log and starts its threads.
    ///
    /// # Errors
    ///
    /// The file or standard output cannot be written to, or the system refuses a thread. A command or a collector that
    /// fails is not an error: it is tried again with the next lines, and the error log says so.
    pub fn open(destination: Destination, format: Format) -> Result<Self, AccessLogError> {
        let watch = Watch::new()?;
        let (maker, writer) = Writer::start(destination, LogName::default())?;
        watch.begin(vec![writer.watched()])?;
        Ok(Self { logs: WorkerLogs::new(maker, format), writer })
    }

    /// Opens a log if the settings have one. Without a log, SIGUSR1 no longer ends the process either: programs that
    /// rotate logs send it to every server.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_if(settings: Option<(Destination, Format)>) -> Result<Option<Self>, AccessLogError> {
        match settings {
            Some((destination, format)) => Self::open(destination, format).map(Some),
            None => Watch::new().map(|_| None),
        }
    }

    /// Names the clients of requests as these rules say; by default, they are the peers of the connections.
    #[must_use]
    pub fn clients(mut self, rules: ClientRules) -> Self {
        self.logs.set_clients(rules);
        self
    }

    /// Returns the function that `serow::Server::access_log` takes. The log is finished, as by
    /// [`finish`](Self::finish), when the server has ended.
    pub fn for_workers(self) -> impl Fn() -> WorkerLog + Send + Sync + 'static {
        let logs = self.logs.clone();
        let open = Arc::new(OpenLog(Mutex::new(Some(self))));
        move || logs.holding(Some(open.clone()))
    }

    /// Returns the maker of the workers' logs, for a program that finishes the log itself.
    pub fn logs(&self) -> WorkerLogs {
        self.logs.clone()
    }

    /// Returns a counter of the lines.
    pub fn counter(&self) -> LineCounter {
        LineCounter(vec![Arc::clone(&self.writer.queue)])
    }

    /// Waits until everything is written, once all workers have ended; 2 s at most, since the reader may be stuck.
    pub fn finish(self) {
        Writer::finish(vec![self.writer]);
    }
}

impl Writer {
    /// Opens a destination and starts the thread; gives what makes its lines, too.
    pub(super) fn start(destination: Destination, name: LogName) -> Result<(LinesMaker, Self), AccessLogError> {
        let header = match &destination {
            Destination::Syslog(address) => Some(Header::new(address)),
            _ => None,
        };
        let queue = Arc::<Queue>::default();
        let sink = Sink::open(destination)?;
        let output = Output { sink, queue: Arc::clone(&queue), name: name.clone(), state: WritingState::Working };
        let (alive, ended) = mpsc::channel();
        let run = move || {
            output.run();
            drop(alive);
        };
        thread::Builder::new().name("serow-log".to_owned()).spawn(run).map_err(AccessLogError::System)?;
        Ok((LinesMaker { queue: Arc::clone(&queue), header }, Self { name, queue, ended }))
    }

    /// Returns the name and the queue to watch.
    pub(super) fn watched(&self) -> (LogName, Arc<Queue>) {
        (self.name.clone(), Arc::clone(&self.queue))
    }

    /// Waits until everything is written, once all workers have ended; 2 s at most, since readers may be stuck.
    pub(super) fn finish(writers: Vec<Self>) {
        writers.iter().for_each(|writer| writer.queue.end());
        let until = Instant::now() + LAST_WAIT;
        for Self { name, queue, ended } in writers {
            let closed = queue.is_closed();
            let rest = until.saturating_duration_since(Instant::now());
            if ended.recv_timeout(rest) == Err(mpsc::RecvTimeoutError::Timeout) {
                queue.close();
                let lines = queue.untold_losses();
                warn_within_limit(move || tracing::warn!(lines, "nobody reads {name}: its last lines are lost"));
                continue;
            }
            let lines = queue.untold_losses();
            if lines > 0 && !closed {
                warn_within_limit(move || tracing::warn!(lines, "lines of {name} were lost"));
            }
        }
    }
}

impl LineCounter {
    /// The lines so far, of all logs together.
    pub fn counts(&self) -> LineCounts {
        self.0.iter().map(|queue| queue.counts()).fold(LineCounts::default(), |all, one| LineCounts {
            lines: all.lines + one.lines,
            waiting: all.waiting + one.waiting,
            lost: all.lost + one.lost,
        })
    }
}

/// An open log that finishes when the last worker drops it.
struct OpenLog(Mutex<Option<AccessLog>>);

impl Drop for OpenLog {
    fn drop(&mut self) {
        if let Some(log) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            log.finish();
        }
    }
}

/// Writes a warning, but waits only so long: in a container both logs often go to one pipe, which may be full.
fn warn_within_limit(warn: impl FnOnce() + Send + 'static) {
    let (alive, written) = mpsc::channel::<()>();
    let warn = move || {
        warn();
        drop(alive);
    };
    if thread::Builder::new().spawn(warn).is_ok() {
        let _ = written.recv_timeout(WARNING_WAIT);
    }
}

/// Where the lines go, and how that is going.
struct Output {
    sink: Sink,
    queue: Arc<Queue>,
    name: LogName,
    state: WritingState,
}

/// How the last writing went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WritingState {
    Working,
    /// It fails, and the error log says so already.
    Failing,
    /// It failed at the end of the server: there is no time to try it again.
    GivenUp,
}

impl Output {
    /// Writes until all workers have ended, or nobody can ever read what is written.
    fn run(mut self) {
        loop {
            let outcome = match self.queue.next() {
                Task::Reopen => {
                    self.sink.reopen();
                    ControlFlow::Continue(())
                }
                Task::Write(batch) => self.write(&batch),
                Task::End => break,
            };
            if outcome.is_break() {
                return;
            }
        }
        if self.state != WritingState::GivenUp {
            self.sink.finish();
        }
    }

    /// Writes whole lines, as often as it takes, since a full disk may be emptied and a collector may come back; more
    /// lines wait meanwhile.
    fn write(&mut self, batch: &Batch) -> ControlFlow<()> {
        let mut written = 0;
        while self.state != WritingState::GivenUp {
            let (more, outcome) = self.sink.write(&batch.text[written..]);
            written += more;
            match outcome {
                Ok(()) => {
                    self.note_success();
                    self.queue.finish(batch, 0);
                    return ControlFlow::Continue(());
                }
                Err(SinkError::Closed(error)) => {
                    // Before the warning: a server that ends right after it does not report these losses a second time.
                    self.queue.close();
                    tracing::warn!("{} is closed at its other end ({error}): it ends here", self.name);
                    return ControlFlow::Break(());
                }
                Err(SinkError::WouldBlock) => match self.queue.pause(FULL) {
                    Paused::Whole => {}
                    Paused::Reopen => written = self.reopen(batch, written),
                    // `finish` limits how long the end waits.
                    Paused::Ending => thread::sleep(FULL),
                },
                Err(SinkError::Failed { reason, pause }) => {
                    self.note_failure(&reason);
                    match self.queue.pause(pause) {
                        Paused::Whole => {}
                        Paused::Reopen => written = self.reopen(batch, written),
                        Paused::Ending => self.state = WritingState::GivenUp,
                    }
                }
            }
        }
        self.queue.finish(batch, lines_in(&batch.text[line_start(&batch.text, written)..]));
        ControlFlow::Continue(())
    }

    /// The line that was begun in the old file is whole in the new one.
    fn reopen(&mut self, batch: &Batch, written: usize) -> usize {
        self.sink.reopen();
        line_start(&batch.text, written)
    }

    fn note_success(&mut self) {
        if self.state == WritingState::Failing {
            self.state = WritingState::Working;
            tracing::warn!("{} can be written again", self.name);
        }
    }

    fn note_failure(&mut self, reason: &str) {
        if self.state == WritingState::Working {
            self.state = WritingState::Failing;
            let name = &self.name;
            tracing::warn!("{name} cannot be written: {reason}; it is tried again, and lines wait meanwhile");
        }
    }
}

/// Where the line begins that goes on here.
fn line_start(text: &[u8], place: usize) -> usize {
    text[..place].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)
}

fn lines_in(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// How long the end of the server waits for the last lines.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// Before a full pipe that does not block is tried again: a reader that takes all of it each time has 13 MB each
/// second.
const FULL: Duration = Duration::from_millis(5);

/// How long it waits until its last warning is written: a terminal or a file takes them in microseconds.
const WARNING_WAIT: Duration = Duration::from_millis(200);
