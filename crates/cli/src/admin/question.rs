//! Asking a running server.

use std::{
    error::Error,
    fmt,
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixStream},
        },
    },
    path::Path,
    time::Duration,
};

use bytes::BytesMut;
use serow::{Address, Headers, Known, Method, RequestHead, StatusCode, Target, Version};
use serow_http1::{BodyLength, Client, Event, Limits};

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct NoAnswer {
    address: Address,
    reason: Reason,
}

#[derive(Debug)]
enum Reason {
    /// The socket's file is not there.
    Missing,
    /// Nobody listens.
    Dead,
    Forbidden,
    /// Somebody listens and does not answer.
    Silent,
    /// Somebody answers who is not Serow.
    NotOurs,
    /// It refuses, and says why.
    Refused(StatusCode, String),
    NotToConnect,
    System(io::Error),
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Status,
    Reload,
    Drain,
    /// To do something with a server that is asked: the JSON that says it.
    Wish(String),
}

impl Question {
    fn head(&self, token: Option<&str>) -> RequestHead {
        let (method, path) = match self {
            Self::Status => (Method::GET, "/status"),
            Self::Reload => (Method::POST, "/reload"),
            Self::Drain => (Method::POST, "/drain"),
            Self::Wish(_) => (Method::POST, "/upstreams"),
        };
        let mut headers = Headers::new();
        // A constant of this file is a valid value.
        let _ = headers.insert(Known::Host, "localhost");
        if let Some(token) = token {
            // What cannot be in a field is no server's token.
            let _ = headers.insert(Known::Authorization, format!("Bearer {token}"));
        }
        let target = Target::parse(path.into(), false).unwrap_or_default();
        RequestHead { method, target, version: Version::HTTP_11, headers }
    }

    /// How long the answer may take.
    fn patience(&self) -> Duration {
        match self {
            Self::Status | Self::Drain | Self::Wish(_) => PATIENCE,
            Self::Reload => PATIENCE_WITH_RELOAD,
        }
    }
}

/// The body of the answer. Who changes something over TCP shows a token.
pub(crate) fn ask(address: &Address, token: Option<&str>, question: &Question) -> Result<String, NoAnswer> {
    let patience = question.patience();
    let no_answer = |reason| NoAnswer { address: address.clone(), reason };
    match address {
        Address::Unix(file) => connect(file).and_then(|stream| {
            stream.set_read_timeout(Some(patience)).and(stream.set_write_timeout(Some(patience)))?;
            Ok(exchange(stream, token, question))
        }),
        Address::Tcp(address) => TcpStream::connect_timeout(address, PATIENCE).and_then(|stream| {
            stream.set_read_timeout(Some(patience)).and(stream.set_write_timeout(Some(patience)))?;
            Ok(exchange(stream, token, question))
        }),
        Address::Descriptor(_) => return Err(no_answer(Reason::NotToConnect)),
    }
    .map_err(Reason::from)
    .and_then(|answer| answer)
    .map_err(no_answer)
}

/// Somebody else answered.
pub(crate) fn not_ours(address: &Address) -> NoAnswer {
    NoAnswer { address: address.clone(), reason: Reason::NotOurs }
}

/// Connects to a unix socket; a name that begins with `@` is one of the abstract namespace (unix(7)).
fn connect(path: &Path) -> io::Result<UnixStream> {
    match path.as_os_str().as_bytes().strip_prefix(b"@") {
        Some(name) => UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?),
        None => UnixStream::connect(path),
    }
}

/// One request, and the body of its response.
fn exchange(mut stream: impl Read + Write, token: Option<&str>, question: &Question) -> Result<String, Reason> {
    let mut client = Client::new(Limits::default());
    let mut output = Vec::new();
    let body = match question {
        Question::Wish(json) => json.as_bytes(),
        Question::Status | Question::Reload | Question::Drain => &[],
    };
    let length = BodyLength::Known(body.len() as u64);
    let sent = client.send_head(&question.head(token), length, &mut output).and_then(|_| match body.is_empty() {
        true => Ok(()),
        false => client.send_data(body, &mut output).and_then(|()| client.send_end(None, &mut output)),
    });
    sent.map_err(|_| Reason::NotOurs)?;
    stream.write_all(&output)?;
    let (mut input, mut body) = (BytesMut::new(), Vec::new());
    let mut status = StatusCode::OK;
    let mut chunk = [0; 16 * 1024];
    loop {
        match client.receive(&mut input).map_err(|_| Reason::NotOurs)? {
            Some(Event::Head(response)) if response.is_interim() => {}
            Some(Event::Head(response)) => status = response.head.status,
            Some(Event::Data(data)) => body.extend_from_slice(&data),
            Some(Event::End(_)) => return answer(status, body),
            None => match stream.read(&mut chunk)? {
                0 => match client.handle_end() {
                    Ok(Some(Event::End(_))) => return answer(status, body),
                    _ => return Err(Reason::NotOurs),
                },
                length => input.extend_from_slice(&chunk[..length]),
            },
        }
        if body.len() > LONGEST {
            return Err(Reason::NotOurs);
        }
    }
}

fn answer(status: StatusCode, body: Vec<u8>) -> Result<String, Reason> {
    let body = String::from_utf8(body).map_err(|_| Reason::NotOurs)?;
    if status == StatusCode::OK { Ok(body) } else { Err(Reason::Refused(status, body)) }
}

impl From<io::Error> for Reason {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::Missing,
            ErrorKind::ConnectionRefused => Self::Dead,
            ErrorKind::PermissionDenied => Self::Forbidden,
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::Silent,
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Self::NotOurs,
            _ => Self::System(error),
        }
    }
}

impl Error for NoAnswer {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.reason {
            Reason::System(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, reason } = self;
        match reason {
            Reason::Missing => {
                write!(
                    f,
                    "there is no {address}: start the server with --admin {address}, or with this as admin in its \
                     settings file, or name another with --admin"
                )
            }
            Reason::Dead => write!(f, "nobody listens at {address}: the server has ended, or has another --admin"),
            Reason::Forbidden => write!(f, "{address} is another user's: ask as the one who started the server"),
            Reason::Silent => write!(f, "{address} does not answer: the server is stopped, or it is not Serow"),
            Reason::NotOurs => write!(f, "{address} gives no status of Serow: name what the server has as --admin"),
            // What Serow itself says: the reason, which may have several lines.
            Reason::Refused(
                StatusCode::BAD_REQUEST
                | StatusCode::UNAUTHORIZED
                | StatusCode::FORBIDDEN
                | StatusCode::UNPROCESSABLE_ENTITY
                | StatusCode::NOT_IMPLEMENTED
                | StatusCode::SERVICE_UNAVAILABLE,
                reason,
            ) => f.write_str(reason.trim_end()),
            Reason::Refused(status, _) => {
                let status = status.as_u16();
                write!(f, "{address} answers {status} and no status: name what the server has as --admin")
            }
            Reason::NotToConnect => write!(f, "{address} cannot be connected to: name unix:/path or a port"),
            Reason::System(error) => write!(f, "cannot ask {address}: {error}"),
        }
    }
}

/// A server that has its turn answers within milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// A generation has a minute to start, and the reload may have to wait for one that starts already.
const PATIENCE_WITH_RELOAD: Duration = Duration::from_secs(130);

/// What a status with ten thousands of servers takes: who sends more is not Serow, and is not kept in memory.
const LONGEST: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that was recorded.
    struct Recorded<'a>(&'a [u8], usize);

    impl Read for Recorded<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = self.1;
            self.0.read(&mut buffer[..most])
        }
    }

    impl Write for Recorded<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            assert_eq!(bytes, b"GET /status HTTP/1.1\r\nhost: localhost\r\n\r\n");
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn answers_whole_and_byte_by_byte() {
        let cases: [(&str, Option<&str>); 6] = [
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", Some("{}")),
            (
                "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
                Some("{}"),
            ),
            ("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}", Some("{}")),
            ("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{}", None),
            ("HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}", None),
            ("SSH-2.0-OpenSSH\r\n", None),
        ];
        for (answer, expected) in cases {
            for most in [1, 16 * 1024] {
                let body = exchange(Recorded(answer.as_bytes(), most), None, &Question::Status);
                assert_eq!(body.ok().as_deref(), expected, "{answer}");
            }
        }
    }
}
