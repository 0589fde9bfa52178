//! The lines that the engine writes to its log, and an access log that remembers.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, OnceLock},
    thread::{self, ThreadId},
    time::{Duration, SystemTime},
};

use serow::{AccessLog, Served};

use super::under::may_serve_this_test;

/// Lines of all servers of this process, each with the thread that wrote it.
static LINES: Mutex<Vec<(ThreadId, String)>> = Mutex::new(Vec::new());

struct Lines;

impl Write for Lines {
    /// An event is written by one call.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.lock().unwrap().push((thread::current().id(), String::from_utf8_lossy(bytes).into_owned()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines of the error log that hold this text, of servers that may be this test's; the first call begins the log.
pub(crate) fn logged_since(text: &str) -> Vec<String> {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        tracing_subscriber::fmt().with_ansi(false).with_writer(|| Lines).init();
    });
    let lines = LINES.lock().unwrap();
    let of_this_test = lines.iter().filter(|(writer, _)| may_serve_this_test(*writer));
    of_this_test
        .flat_map(|(_, written)| written.lines())
        .filter(|line| line.contains(text))
        .map(str::to_owned)
        .collect()
}

/// The entries that an access log has recorded.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) peer: serow::Peer,
    /// Method, target and version, where there was a head.
    pub(crate) line: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) status: u16,
    /// Those of the connection, and of the request on it.
    pub(crate) numbers: (u64, u64),
    /// A field of the response.
    pub(crate) token: Option<String>,
    pub(crate) head_bytes: u64,
    pub(crate) body_bytes: u64,
    pub(crate) stream: Option<serow::ServedStream>,
    pub(crate) began: SystemTime,
    pub(crate) took: Duration,
    pub(crate) whole: bool,
}

/// An access log that remembers, shared by all workers.
#[derive(Clone, Default)]
pub(crate) struct Noted(Arc<Mutex<Vec<Entry>>>);

impl Noted {
    /// Waits for so many entries and gives them.
    #[track_caller]
    pub(crate) fn entries(&self, count: usize) -> Vec<Entry> {
        super::eventually("the access log has its lines", || self.0.lock().unwrap().len() >= count);
        let entries = self.0.lock().unwrap().clone();
        assert_eq!(entries.len(), count, "{entries:?}");
        entries
    }
}

impl AccessLog for Noted {
    fn reads_response(&self) -> bool {
        true
    }

    fn log(&self, served: &Served<'_>) {
        let agent = |head: &serow::RequestHead| head.headers.get_str(serow::KnownHeader::UserAgent).map(str::to_owned);
        self.0.lock().unwrap().push(Entry {
            peer: served.connection.peer(),
            line: served.request.map(|head| format!("{} {} {:?}", head.method, head.target.as_str(), head.version)),
            agent: served.request.and_then(agent),
            status: served.status.as_u16(),
            numbers: (served.connection_number, served.request_number),
            token: served.response.and_then(|headers| headers.get_str("x-token")).map(str::to_owned),
            head_bytes: served.head_bytes,
            body_bytes: served.body_bytes,
            stream: served.stream,
            began: served.began,
            took: served.took,
            whole: served.whole,
        });
    }
}
