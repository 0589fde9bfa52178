//! Origins: a server on threads that speaks HTTP, FastCGI, SCGI and uwsgi, notes each request, and answers with what it got.

mod fastcgi;
mod http;
mod scgi;
mod uwsgi;

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// A request as an origin got it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Received {
    /// The original address in whose place the origin is.
    pub(super) origin: String,
    /// `http`, `fastcgi`, `scgi` or `uwsgi`.
    pub(super) protocol: &'static str,
    pub(super) method: String,
    pub(super) target: String,
    /// The header fields in the order of the request, with names in small letters; the variables of the other protocols.
    pub(super) fields: Vec<(String, String)>,
    pub(super) body_length: usize,
}

impl Received {
    fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// The origins of a rehearsal.
#[derive(Debug, Default)]
pub(super) struct Origins {
    /// The original address and the port of each.
    ports: Vec<(String, u16)>,
    threads: Vec<JoinHandle<()>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    received: Mutex<Vec<Received>>,
    ends: AtomicBool,
    connections: AtomicUsize,
}

impl Origins {
    /// The port of the origin in the place of an address.
    pub(super) fn port(&mut self, name: &str) -> io::Result<u16> {
        if let Some(port) = self.port_of(name) {
            return Ok(port);
        }
        if self.ports.len() >= MAX_ORIGINS
            && let Some((_, port)) = self.ports.last()
        {
            return Ok(*port);
        }
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let (shared, name_of_thread) = (Arc::clone(&self.shared), name.to_owned());
        self.threads.push(thread::spawn(move || accept(&listener, &name_of_thread, &shared)));
        self.ports.push((name.to_owned(), port));
        Ok(port)
    }

    /// The port of an address that has an origin.
    pub(super) fn port_of(&self, name: &str) -> Option<u16> {
        self.ports.iter().find(|(other, _)| other == name).map(|(_, port)| *port)
    }

    /// The original addresses, with the ports of their origins.
    pub(super) fn ports(&self) -> &[(String, u16)] {
        &self.ports
    }

    /// The requests since the last call.
    pub(super) fn take(&self) -> Vec<Received> {
        std::mem::take(&mut *self.shared.received.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Origins {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        for (_, port) in &self.ports {
            // It wakes the thread, which waits for a connection.
            let _ = TcpStream::connect(("127.0.0.1", *port));
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, name: &str, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.ends.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if shared.connections.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (name, shared) = (name.to_owned(), Arc::clone(shared));
        thread::spawn(move || {
            // A client that goes away, or that sends something else, has no response.
            let _ = serve(stream, &name, &shared);
            shared.connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Serves the requests of a connection, whose first byte tells the protocol.
fn serve(stream: TcpStream, name: &str, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        let Some(first) = reader.fill_buf()?.first().copied() else { return Ok(()) };
        let (mut received, is_kept, request_id) = match first {
            // The first modifier of uwsgi: 0 for WSGI, 5 for PSGI, 7 for Rack, 9 for CGI.
            0 | 5 | 7 | 9 => (uwsgi::read(&mut reader)?, false, 0),
            1 => {
                let (received, is_kept, id) = fastcgi::read(&mut reader)?;
                (received, is_kept, id)
            }
            b'0'..=b'9' => (scgi::read(&mut reader)?, false, 0),
            _ => {
                let (received, is_kept) = http::read(&mut reader)?;
                (received, is_kept, 0)
            }
        };
        name.clone_into(&mut received.origin);
        let port = reader.get_ref().local_addr()?.port();
        let response = Response::to(&received, port);
        let bytes = match received.protocol {
            "http" => response.http(is_kept, received.method == "HEAD"),
            "fastcgi" => fastcgi::written(request_id, &response.cgi()),
            _ => response.cgi(),
        };
        shared.received.lock().unwrap_or_else(PoisonError::into_inner).push(received);
        reader.get_mut().write_all(&bytes)?;
        if !is_kept || shared.ends.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
}

/// The response to a request, which its path asks for.
#[derive(Debug)]
struct Response {
    status: u16,
    fields: Vec<(&'static str, String)>,
    body: String,
}

impl Response {
    fn to(received: &Received, port: u16) -> Self {
        let (path, query) = received.target.split_once('?').unwrap_or((&received.target, ""));
        let has = |name: &str| path.rsplit('/').next().is_some_and(|last| last == name);
        let status = path.find("status-").and_then(|position| path.get(position + 7..position + 10)?.parse().ok());
        let mut status = status.filter(|status| (200..600).contains(status)).unwrap_or(200);
        let mut fields = vec![("Content-Type", "text/plain".to_owned()), ("X-Origin", "yes".to_owned())];
        if has("redirect") {
            status = 302;
            fields.push(("Location", format!("http://127.0.0.1:{port}/elsewhere?a=b")));
        }
        if has("cookie") {
            fields.push(("Set-Cookie", "session=1; Path=/; HttpOnly".to_owned()));
        }
        if has("accel") {
            fields.push(("X-Accel-Redirect", query.trim_start_matches("to=").to_owned()));
        }
        if status == 401 {
            fields.push(("WWW-Authenticate", "Basic realm=\"origin\"".to_owned()));
        }
        let mut body = format!("origin {} {} {}\n", received.origin, received.method, received.target);
        if matches!(status, 204 | 304) {
            body.clear();
        }
        Self { status, fields, body }
    }

    fn http(&self, is_kept: bool, is_head: bool) -> Vec<u8> {
        let mut text = format!("HTTP/1.1 {} Answer\r\n", self.status);
        for (name, value) in &self.fields {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !matches!(self.status, 204 | 304) {
            text.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        text.push_str(if is_kept { "\r\n" } else { "Connection: close\r\n\r\n" });
        if !is_head {
            text.push_str(&self.body);
        }
        text.into_bytes()
    }

    fn cgi(&self) -> Vec<u8> {
        let mut text = format!("Status: {} Answer\r\n", self.status);
        for (name, value) in &self.fields {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        text.push_str(&self.body);
        text.into_bytes()
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// The request line and body from the variables of FastCGI, SCGI and uwsgi.
fn from_variables(protocol: &'static str, mut fields: Vec<(String, String)>, body_length: usize) -> Received {
    // In the order of their names: of several with one name, programs take the last.
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    let mut received = Received { protocol, fields, body_length, ..Received::default() };
    received.method = received.field("REQUEST_METHOD").unwrap_or_default().to_owned();
    let script = received.field("SCRIPT_NAME").or(received.field("PATH_INFO")).map(str::to_owned);
    received.target = received.field("REQUEST_URI").map(str::to_owned).or(script).unwrap_or_default();
    received
}

/// Each has a thread.
const MAX_ORIGINS: usize = 300;
/// More than both servers keep open.
const MAX_CONNECTIONS: usize = 200;
/// Servers that keep connections open end them at the end of the comparison.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The largest body and head that an origin reads.
const MAX_LENGTH: usize = 1024 * 1024;
