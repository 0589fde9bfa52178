//! The thread that writes the access log.

use std::{
    ops::ControlFlow,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use super::{
    AccessLogError, Destination, Format,
    lines::LogMaker,
    queue::{Batch, LineCounts, Paused, Queue, Task},
    sink::{Sink, Trouble},
    syslog::Header,
    watch::Watch,
};

/// The running thread, if there is an access log.
pub(crate) struct AccessLogWriter {
    running: Option<Running>,
}

struct Running {
    maker: LogMaker,
    /// Closed when the thread has written everything.
    ended: mpsc::Receiver<()>,
}

/// Says what became of the lines so far.
#[derive(Clone)]
pub(crate) struct LineCounter(Option<Arc<Queue>>);

impl AccessLogWriter {
    /// Opens the log and starts its threads. SIGUSR1 ends no process from here on, whether there is a log or not: whatever
    /// rotates logs sends it to all.
    pub(crate) fn start(log: Option<(Destination, Format)>) -> Result<Self, AccessLogError> {
        let watch = Watch::new()?;
        let Some((destination, format)) = log else {
            return Ok(Self { running: None });
        };
        let header = match &destination {
            Destination::Syslog(address) => Some(Header::new(address)),
            _ => None,
        };
        let queue = Arc::<Queue>::default();
        let output = Output { sink: Sink::open(destination)?, queue: Arc::clone(&queue), state: State::Working };
        let (alive, ended) = mpsc::channel();
        let run = move || {
            output.run();
            drop(alive);
        };
        thread::Builder::new().name("serow-log".to_owned()).spawn(run).map_err(AccessLogError::System)?;
        watch.begin(Arc::clone(&queue))?;
        Ok(Self { running: Some(Running { maker: LogMaker::new(queue, format, header), ended }) })
    }

    /// What makes the logs of the workers.
    pub(crate) fn log(&self) -> Option<LogMaker> {
        self.running.as_ref().map(|running| running.maker.clone())
    }

    /// What counts the lines.
    pub(crate) fn counter(&self) -> LineCounter {
        LineCounter(self.running.as_ref().map(|running| Arc::clone(&running.maker.queue)))
    }

    /// Waits until everything is written, once all workers have ended; not for ever, since whoever reads may be stuck.
    pub(crate) fn finish(self) {
        let Some(Running { maker, ended }) = self.running else { return };
        let queue = maker.queue;
        queue.end();
        let closed = queue.is_closed();
        if ended.recv_timeout(LAST_WAIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            queue.close();
            let lines = queue.untold_losses();
            say_at_last(move || tracing::warn!(lines, "nobody reads the access log: its last lines are lost"));
            return;
        }
        let lines = queue.untold_losses();
        if lines > 0 && !closed {
            say_at_last(move || tracing::warn!(lines, "lines of the access log were lost"));
        }
    }
}

impl LineCounter {
    /// What became of the lines so far; none where there is no log.
    pub(crate) fn counts(&self) -> LineCounts {
        self.0.as_ref().map(|queue| queue.counts()).unwrap_or_default()
    }
}

/// Says something, unless that takes too long: in a container both logs often go the same way, and nobody reads either.
fn say_at_last(say: impl FnOnce() + Send + 'static) {
    let (alive, said) = mpsc::channel::<()>();
    let say = move || {
        say();
        drop(alive);
    };
    if thread::Builder::new().spawn(say).is_ok() {
        let _ = said.recv_timeout(LAST_WORD);
    }
}

/// Where the lines go, and how that is going.
struct Output {
    sink: Sink,
    queue: Arc<Queue>,
    state: State,
}

/// How the last writing went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Working,
    /// It fails, and that has been said.
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
                return self.queue.close();
            }
        }
        if self.state != State::GivenUp {
            self.sink.finish();
        }
    }

    /// Writes whole lines, as often as it takes, since a full disk may be emptied and a collector may come back; more lines
    /// wait meanwhile.
    fn write(&mut self, batch: &Batch) -> ControlFlow<()> {
        let mut written = 0;
        while self.state != State::GivenUp {
            let (more, outcome) = self.sink.write(&batch.text[written..]);
            written += more;
            match outcome {
                Ok(()) => {
                    self.note_success();
                    self.queue.finish(batch, 0);
                    return ControlFlow::Continue(());
                }
                Err(Trouble::Over(error)) => {
                    tracing::warn!("the access log is closed at its other end ({error}): it ends here");
                    return ControlFlow::Break(());
                }
                Err(Trouble::Full) => match self.queue.pause(FULL) {
                    Paused::Whole => {}
                    Paused::Reopen => written = self.reopen(batch, written),
                    // How long the end waits is not for this thread to say.
                    Paused::Ending => thread::sleep(FULL),
                },
                Err(Trouble::Failed { reason, pause }) => {
                    self.note_failure(&reason);
                    match self.queue.pause(pause) {
                        Paused::Whole => {}
                        Paused::Reopen => written = self.reopen(batch, written),
                        Paused::Ending => self.state = State::GivenUp,
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
        if self.state == State::Failing {
            self.state = State::Working;
            tracing::warn!("the access log can be written again");
        }
    }

    fn note_failure(&mut self, reason: &str) {
        if self.state == State::Working {
            self.state = State::Failing;
            tracing::warn!("the access log cannot be written: {reason}; it is tried again, and lines wait meanwhile");
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

/// Before a full pipe that does not block is tried again: a reader that takes all of it each time has 13 MB each second.
const FULL: Duration = Duration::from_millis(5);

/// How long it waits until its last words are written: a terminal or a file takes them in microseconds.
const LAST_WORD: Duration = Duration::from_millis(200);
