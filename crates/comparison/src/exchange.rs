//! A request over HTTP/1.1 and its response, over TCP or TLS; TLS is the program openssl's.

mod parsing;

use std::{
    io::{self, Read, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

pub(super) use self::parsing::excerpt;
use self::parsing::{Parsed, ended, parsed};
use super::{deadline::Deadline, requests::Request};

/// A response as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// In the order of the response, with names in small letters.
    pub(super) fields: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// The values of a field, joined.
    pub(super) fn field(&self, name: &str) -> Option<String> {
        let values: Vec<&str> =
            self.fields.iter().filter(|(other, _)| other == name).map(|(_, value)| value.as_str()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Answered(Answer),
    /// The server closed the connection without a response.
    Closed,
    /// No response came in time, or none that can be read.
    Failed(String),
}

/// A connection to a server.
struct Connection {
    key: (u16, bool, String),
    writer: Writer,
    /// The bytes from the server; it ends with the connection.
    parts: Receiver<Vec<u8>>,
}

enum Writer {
    Plain(TcpStream),
    Tls(Child),
}

/// A client that keeps one connection open.
#[derive(Default)]
pub(super) struct Client {
    connection: Option<Connection>,
}

/// Whether the program openssl is installed.
pub(super) fn has_openssl() -> bool {
    let status = Command::new("openssl")
        .arg("version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

impl Client {
    /// Sends a request to a port, and waits for the response.
    pub(super) fn send(&mut self, port: u16, is_tls: bool, request: &Request) -> Outcome {
        let name = request.host.split(':').next().unwrap_or_default().to_owned();
        let key = (port, is_tls, if is_tls { name } else { String::new() });
        for is_last in [false, true] {
            let kept = self.connection.take().filter(|connection| connection.key == key);
            let is_new = kept.is_none();
            let connection = match kept.map_or_else(|| Connection::new(key.clone()), Ok) {
                Ok(connection) => connection,
                Err(error) => return Outcome::Failed(error.to_string()),
            };
            let (outcome, kept) = connection.exchange(request);
            self.connection = kept;
            // A server may close a connection before it gets the next request.
            if outcome != Outcome::Closed || is_new || is_last {
                return outcome;
            }
        }
        Outcome::Closed
    }
}

impl Connection {
    fn new(key: (u16, bool, String)) -> io::Result<Self> {
        let (sender, parts) = mpsc::sync_channel(64);
        let forward = move |mut reader: Box<dyn Read + Send>| {
            let mut buffer = [0; 16 * 1024];
            while let Ok(length) = reader.read(&mut buffer) {
                if length == 0 || sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        };
        let writer = if key.1 {
            let mut command = Command::new("openssl");
            command.args(["s_client", "-quiet", "-connect", &format!("127.0.0.1:{}", key.0)]);
            match is_name(&key.2) {
                true => command.args(["-servername", &key.2]),
                false => command.arg("-noservername"),
            };
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
            let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
            thread::spawn(move || forward(Box::new(output)));
            Writer::Tls(child)
        } else {
            let stream = TcpStream::connect(("127.0.0.1", key.0))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(2 * TIMEOUT))?;
            let reader = stream.try_clone()?;
            thread::spawn(move || forward(Box::new(reader)));
            Writer::Plain(stream)
        };
        Ok(Self { key, writer, parts })
    }

    /// Sends a request and reads the response; the connection, if it stays open.
    fn exchange(mut self, request: &Request) -> (Outcome, Option<Self>) {
        let bytes = request.bytes();
        let sent = match &mut self.writer {
            Writer::Plain(stream) => stream.write_all(&bytes),
            Writer::Tls(child) => {
                child.stdin.as_mut().map_or(Ok(()), |input| input.write_all(&bytes).and_then(|()| input.flush()))
            }
        };
        // A server may refuse a body before it has read it: its response counts.
        let _ = sent;
        let deadline = Deadline::after(TIMEOUT);
        let mut received = Vec::new();
        loop {
            match parsed(&received, request.method == "HEAD") {
                Parsed::Whole(answer, is_kept) => return (Outcome::Answered(answer), is_kept.then_some(self)),
                Parsed::Invalid => return (Outcome::Failed(format!("no response: {}", excerpt(&received))), None),
                Parsed::Part => {}
            }
            match self.parts.recv_timeout(deadline.left()) {
                Ok(part) => received.extend_from_slice(&part),
                Err(RecvTimeoutError::Timeout) => return (Outcome::Failed("no response in time".to_owned()), None),
                Err(RecvTimeoutError::Disconnected) => return (ended(&received), None),
            }
            if received.len() > MAX_LENGTH {
                return (Outcome::Failed("the response is too long".to_owned()), None);
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        match &mut self.writer {
            Writer::Plain(stream) => {
                // It ends the thread that reads.
                let _ = stream.shutdown(std::net::Shutdown::Both);
            }
            Writer::Tls(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

/// Whether a host can be sent in the handshake of TLS.
fn is_name(host: &str) -> bool {
    !host.is_empty()
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
        && host.contains(|letter: char| letter.is_ascii_alphabetic())
}

/// Both servers and the origin are on this machine; a response that takes longer has been lost.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Existing folders may have large files.
const MAX_LENGTH: usize = 64 * 1024 * 1024;
