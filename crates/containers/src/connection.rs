//! Requests to the API, over a unix socket or TCP, each on a connection of its own: the API is on this machine or near it.

use std::{
    error::Error, fmt, future::poll_fn, io, os::unix::net::UnixStream, path::PathBuf, rc::Rc, str::FromStr,
    time::Duration,
};

use serde::de::DeserializeOwned;
use serow_client::{Buffers, ClientError, Destination, Dialer, Http1};
use serow_http1::{Event, Limits};
use serow_message::{BodyLength, Headers, KnownHeader, Method, RequestHead, StatusCode, Target, Version};
use tokio::{net::lookup_host, time::timeout};

/// Where the API is: the path of a socket, or `http://host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiAddress {
    /// A unix socket.
    Unix(PathBuf),
    /// A host and a port.
    Tcp(String, u16),
}

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum ApiError {
    /// The API cannot be reached, for this reason.
    Connect(String),
    /// It does not answer in time.
    TimedOut,
    /// It does not speak HTTP, or has closed the connection.
    Connection(ClientError),
    /// It answers with this status, and this beginning of a text.
    Status(StatusCode, String),
    /// The answer is longer than it can be.
    TooLong,
    /// The answer is not what the API says.
    Json(serde_json::Error),
}

/// A stream of lines.
pub(crate) struct Lines {
    connection: Http1,
    received: Vec<u8>,
}

impl FromStr for ApiAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix("unix:").map_or(text, |path| path.strip_prefix("//").unwrap_or(path));
        if text.starts_with('/') {
            return Ok(Self::Unix(text.into()));
        }
        let place = text.strip_prefix("http://").or_else(|| text.strip_prefix("tcp://"));
        let place = place.map(|place| place.trim_end_matches('/')).and_then(|place| place.rsplit_once(':'));
        let is_host = |host: &str| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
            !host.is_empty() && host.bytes().all(is_letter)
        };
        match place.map(|(host, port)| (host, port.parse())) {
            Some((host, Ok(port))) if port > 0 && is_host(host) => Ok(Self::Tcp(host.to_owned(), port)),
            _ => Err("write the path of a socket, such as /run/docker.sock, or http://host:port".to_owned()),
        }
    }
}

impl ApiAddress {
    /// Why the API cannot be reached, as far as this user and a socket are concerned. The server serves all the same: the
    /// routes of before, and Docker may start later.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let Self::Unix(path) = self else { return None };
        let error = UnixStream::connect(path).err()?;
        let remedy = match error.kind() {
            io::ErrorKind::PermissionDenied => {
                ": add this user to the group of the socket, or name a proxy that lets only reading requests through"
            }
            io::ErrorKind::NotFound => ": start Docker, or for Podman `systemctl enable --now podman.socket`",
            _ => "",
        };
        Some(format!("containers are not seen: {}: {error}{remedy}", path.display()))
    }

    /// Requests a path, and reads the answer as JSON; nothing where there is no such thing.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, ApiError> {
        let answer = timeout(ANSWER_TIMEOUT, self.body(path)).await.map_err(|_| ApiError::TimedOut)??;
        answer.map(|body| serde_json::from_slice(&body)).transpose().map_err(ApiError::Json)
    }

    async fn body(&self, path: &str) -> Result<Option<Vec<u8>>, ApiError> {
        let (mut connection, status) = self.request(path).await?;
        let mut body = Vec::new();
        while let Some(piece) = next_piece(&mut connection).await? {
            if body.len() + piece.len() > MAX_ANSWER {
                return Err(ApiError::TooLong);
            }
            body.extend_from_slice(&piece);
        }
        match status {
            StatusCode::OK => Ok(Some(body)),
            StatusCode::NOT_FOUND => Ok(None),
            status => Err(ApiError::Status(status, String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned())),
        }
    }

    /// Requests a path whose answer is a stream of lines without an end.
    pub(crate) async fn lines(&self, path: &str) -> Result<Lines, ApiError> {
        let answer = timeout(ANSWER_TIMEOUT, self.request(path)).await.map_err(|_| ApiError::TimedOut)?;
        match answer? {
            (connection, StatusCode::OK) => Ok(Lines { connection, received: Vec::new() }),
            (_, status) => Err(ApiError::Status(status, String::new())),
        }
    }

    /// Sends a request, and reads the head of the answer.
    async fn request(&self, path: &str) -> Result<(Http1, StatusCode), ApiError> {
        let head = head(path).ok_or_else(|| ApiError::Connect("the path of the request is wrong".to_owned()))?;
        let dialer = Dialer { destination: self.destination().await?, encryption: None, timeout: CONNECT_TIMEOUT };
        let buffers: Rc<Buffers> = Rc::default();
        let wire = dialer.dial(&buffers).await.map_err(|error| ApiError::Connect(chain(&error)))?;
        let mut connection = Http1::new(wire, buffers, Limits::default());
        let sent = connection.send_head(&head, BodyLength::Known(0));
        sent.map_err(|error| ApiError::Connect(error.to_string()))?;
        poll_fn(|context| connection.poll_flush(context)).await.map_err(ApiError::Connection)?;
        loop {
            match poll_fn(|context| connection.poll_receive(context)).await.map_err(ApiError::Connection)? {
                Event::Head(response) if response.is_informational() => {}
                Event::Head(response) => return Ok((connection, response.head.status)),
                _ => return Err(ApiError::Connection(ClientError::Closed)),
            }
        }
    }

    async fn destination(&self) -> Result<Destination, ApiError> {
        match self {
            Self::Unix(path) => Ok(Destination::Unix(path.clone())),
            Self::Tcp(host, port) => {
                let host = host.trim_start_matches('[').trim_end_matches(']');
                let addresses = lookup_host((host, *port)).await;
                let first = addresses.map_err(|error| ApiError::Connect(error.to_string()))?.next();
                first.map(Destination::Tcp).ok_or_else(|| ApiError::Connect("its name has no address".to_owned()))
            }
        }
    }
}

impl Lines {
    /// The next line that has been received already.
    pub(crate) fn received(&mut self) -> Option<Vec<u8>> {
        let end = self.received.iter().position(|byte| *byte == b'\n')?;
        let rest = self.received.split_off(end + 1);
        Some(std::mem::replace(&mut self.received, rest))
    }

    /// The next line; none at the end of the stream, also where it breaks off: a service that is stopped does not end it.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        loop {
            if let Some(line) = self.received() {
                return Ok(Some(line));
            }
            if self.received.len() > MAX_LINE {
                return Err(ApiError::TooLong);
            }
            match next_piece(&mut self.connection).await {
                Ok(Some(piece)) => self.received.extend_from_slice(&piece),
                Ok(None) | Err(ApiError::Connection(ClientError::Closed)) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The next piece of a body; none at its end.
async fn next_piece(connection: &mut Http1) -> Result<Option<Vec<u8>>, ApiError> {
    loop {
        match poll_fn(|context| connection.poll_receive(context)).await.map_err(ApiError::Connection)? {
            Event::Data(piece) => return Ok(Some(piece.to_vec())),
            Event::End(_) => return Ok(None),
            Event::Head(_) => {}
        }
    }
}

fn head(path: &str) -> Option<RequestHead> {
    let mut headers = Headers::new();
    // HTTP/1.1 requires it; Docker's clients name anything.
    headers.insert(KnownHeader::Host, "docker").ok()?;
    headers.insert(KnownHeader::Connection, "close").ok()?;
    let target = Target::parse(path.to_owned().into(), false).ok()?;
    Some(RequestHead { method: Method::GET, target, version: Version::HTTP_11, headers })
}

/// An error with those that it comes from.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        source = error.source();
    }
    text
}

impl fmt::Display for ApiAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Tcp(host, port) => write!(f, "http://{host}:{port}"),
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(reason) => f.write_str(reason),
            Self::TimedOut => write!(f, "it does not answer within {} s", ANSWER_TIMEOUT.as_secs()),
            Self::Connection(error) => write!(f, "{}", chain(error)),
            Self::Status(status, text) => {
                write!(f, "it answers with the status {} {:?}", status.as_u16(), text.trim_end())
            }
            Self::TooLong => f.write_str("its answer is too long"),
            Self::Json(error) => write!(f, "its answer is not that of Docker's API: {error}"),
        }
    }
}

/// How long the API may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long it may take to answer: Podman looks at each container for a list.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of an answer. A container takes some 2 KB in the list.
const MAX_ANSWER: usize = 64 << 20;

/// Bytes of an event, which has all labels of a container.
const MAX_LINE: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_sockets_or_hosts_with_a_port() {
        let tcp = |host: &str, port| Ok(ApiAddress::Tcp(host.to_owned(), port));
        let unix = |path: &str| Ok(ApiAddress::Unix(path.into()));
        for (text, expected) in [
            ("/run/docker.sock", unix("/run/docker.sock")),
            ("unix:/run/docker.sock", unix("/run/docker.sock")),
            ("unix:///run/docker.sock", unix("/run/docker.sock")),
            ("http://proxy:2375", tcp("proxy", 2375)),
            ("tcp://10.0.0.1:2375/", tcp("10.0.0.1", 2375)),
            ("http://[::1]:2375", tcp("[::1]", 2375)),
        ] {
            assert_eq!(text.parse::<ApiAddress>(), expected, "{text}");
        }
        for text in
            ["", "docker.sock", "https://a:1", "http://a", "http://a:0", "http://:1", "http://a/b:1", "http://a b:1"]
        {
            assert!(text.parse::<ApiAddress>().is_err(), "{text}");
        }
    }
}
