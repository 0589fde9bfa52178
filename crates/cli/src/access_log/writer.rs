//! The thread that writes the access log.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Write},
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc as blocking,
    },
    thread,
    time::Duration,
};

use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc::{self, Receiver},
};

use super::{Destination, Format, lines::LogMaker};
use crate::failure::Failure;

/// The running thread, if there is an access log.
pub(crate) struct AccessLogWriter {
    log: Option<LogMaker>,
    /// Closed when the thread has written everything.
    ended: Option<blocking::Receiver<()>>,
}

impl AccessLogWriter {
    /// Opens the log and starts its thread. SIGUSR1 ends no process from here on, whether there is a log or not: whatever
    /// rotates logs sends it to all.
    pub(crate) fn start(log: Option<(Destination, Format)>) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_io().build().map_err(Failure::System)?;
        let reopen = {
            let _context = runtime.enter();
            signal(SignalKind::user_defined1()).map_err(Failure::System)?
        };
        let Some((destination, format)) = log else {
            return Ok(Self { log: None, ended: None });
        };
        let sink = Sink::open(destination)?;
        let (buffers, waiting) = mpsc::channel(MOST_BUFFERS);
        let lost = Arc::<AtomicU64>::default();
        let output = Output { sink, state: State::Working, lost: Arc::clone(&lost) };
        let (alive, ended) = blocking::channel();
        let run = move || {
            output.run(&runtime, waiting, reopen);
            drop(alive);
        };
        thread::Builder::new().name("serow-log".to_owned()).spawn(run).map_err(Failure::System)?;
        Ok(Self { log: Some(LogMaker { buffers, lost, format }), ended: Some(ended) })
    }

    /// What makes the logs of the workers.
    pub(crate) fn log(&self) -> Option<LogMaker> {
        self.log.clone()
    }

    /// Waits until everything is written, once all workers have ended; not for ever, since whoever reads may be stuck.
    pub(crate) fn finish(self) {
        drop(self.log);
        if let Some(ended) = self.ended
            && ended.recv_timeout(LAST_WAIT) == Err(blocking::RecvTimeoutError::Timeout)
        {
            tracing::warn!("nobody reads the access log: its last lines are lost");
        }
    }
}

/// Where the lines go, and how that is going.
struct Output {
    sink: Sink,
    state: State,
    /// Lines that the workers could not hand over.
    lost: Arc<AtomicU64>,
}

struct Sink {
    file: File,
    /// Where it was opened; standard output has no name.
    path: Option<PathBuf>,
}

/// How the last writing went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Well.
    Working,
    /// Not, and that has been said; `torn` where half a line was written.
    Failing { torn: bool },
}

impl Output {
    /// Writes until all workers have ended, or nobody can ever read what is written.
    fn run(mut self, runtime: &Runtime, mut waiting: Receiver<Vec<u8>>, mut reopen: Signal) {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    buffer = waiting.recv() => {
                        let Some(buffer) = buffer else { return };
                        if let Err(error) = self.write(&buffer) {
                            return tracing::warn!("the access log is closed at its other end ({error}): it ends here");
                        }
                        self.report_losses(&waiting);
                    }
                    Some(()) = reopen.recv() => self.sink.reopen(),
                }
            }
        });
    }

    /// Writes whole lines. An error means that there will never be a reader again; after all others it goes on, since a
    /// full disk may be emptied.
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if let State::Failing { torn: true } = self.state
            && self.sink.write(b"\n").1.is_err()
        {
            return Ok(());
        }
        let (written, outcome) = self.sink.write(lines);
        match (outcome, self.state) {
            (Ok(()), State::Working) => {}
            (Ok(()), State::Failing { .. }) => {
                self.state = State::Working;
                tracing::warn!("the access log can be written again; lines were lost");
            }
            (Err(error), _) if error.kind() == ErrorKind::BrokenPipe => return Err(error),
            (Err(error), state) => {
                if state == State::Working {
                    tracing::warn!("the access log cannot be written: {error}; lines are lost until it can");
                }
                let torn = written.checked_sub(1).map(|last| lines[last] != b'\n');
                let was_torn = State::Failing { torn: true } == state && torn.is_none();
                self.state = State::Failing { torn: torn.unwrap_or(was_torn) };
            }
        }
        Ok(())
    }

    /// Says how many lines the workers could not hand over, once it has caught up.
    fn report_losses(&self, waiting: &Receiver<Vec<u8>>) {
        if waiting.is_empty() {
            let lost = self.lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                tracing::warn!(lines = lost, "the access log is written too slowly: lines were lost");
            }
        }
    }
}

impl Sink {
    fn open(destination: Destination) -> Result<Self, Failure> {
        match destination {
            Destination::StandardOutput => {
                // Rust's own handle would keep what could not be written, and half a buffer of what could.
                let descriptor = io::stdout().as_fd().try_clone_to_owned().map_err(Failure::Output)?;
                Ok(Self { file: descriptor.into(), path: None })
            }
            Destination::File(path) => match append_to(&path) {
                Ok(file) => Ok(Self { file, path: Some(path) }),
                Err(error) => Err(Failure::AccessLog(path, error)),
            },
        }
    }

    /// Opens the file anew: somebody has moved it away.
    fn reopen(&mut self) {
        let Some(path) = &self.path else { return };
        match append_to(path) {
            Ok(file) => self.file = file,
            Err(error) => {
                let path = path.display();
                tracing::error!("cannot open the access log {path} anew: {error}; writing to the old one");
            }
        }
    }

    /// Writes all of a text, in one call where the system takes it whole; gives how much it took.
    fn write(&mut self, text: &[u8]) -> (usize, io::Result<()>) {
        let mut written = 0;
        while written < text.len() {
            match self.file.write(&text[written..]) {
                Ok(0) => return (written, Err(ErrorKind::WriteZero.into())),
                Ok(length) => written += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Standard output may be shared with a program that set it not to block.
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(PAUSE),
                Err(error) => return (written, Err(error)),
            }
        }
        (written, Ok(()))
    }
}

/// Opens a file so that each call writes at its end, whoever else does.
fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// Buffers that wait to be written, 16 MiB: what the fastest server logs in half a second. More is lost rather than
/// kept, or waited for.
const MOST_BUFFERS: usize = 256;

/// How long the end of the server waits for the last lines.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// Before a full pipe that does not block is tried again.
const PAUSE: Duration = Duration::from_millis(10);
