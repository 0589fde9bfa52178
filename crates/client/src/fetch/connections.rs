//! The connections of one thread, and one exchange over them.

use std::{cell::RefCell, collections::HashMap, fmt, future::poll_fn, rc::Rc, time::Duration};

use crate::{Buffers, ClientEncryption, Destination, DialError, Dialer, Http1, IdleHttp1, Origin, TlsConnector};
use bytes::{Bytes, BytesMut};
use http::{Request, Response, header};
use serow_dns::Resolver;
use serow_http1::{Event, Limits};
use serow_message::{BodyLength, Headers, KnownHeader, RequestHead, Scheme, Target, Version};
use tokio::time::timeout;

use crate::fetch::{
    error::{FetchError, Problem},
    fetch_client::FetchLimits,
};

/// The connections of one thread.
pub(crate) struct Connections {
    connector: TlsConnector,
    limits: FetchLimits,
    buffers: Rc<Buffers>,
    /// One for each origin is enough: requests to one server come one after another.
    idle: RefCell<HashMap<String, IdleHttp1>>,
}

/// The server in the URL of a request.
pub(crate) fn host_of(request: &Request<Bytes>) -> String {
    request.uri().authority().map_or_else(|| request.uri().to_string(), ToString::to_string)
}

impl Connections {
    /// None yet.
    pub(crate) fn new(connector: TlsConnector, limits: FetchLimits) -> Self {
        Self { connector, limits, buffers: Rc::default(), idle: RefCell::default() }
    }

    /// Sends a request, and receives its response within the limits.
    pub(crate) async fn send(&self, request: &Request<Bytes>) -> Result<Response<Bytes>, FetchError> {
        let failed = |problem: Problem| FetchError::new(host_of(request), problem);
        let origin = Origin::of_url(&request.uri().to_string());
        let (origin, path) = origin.map_err(|error| failed(error.to_string().into()))?;
        let limit = self.limits.timeout;
        let exchanged = timeout(limit, self.exchange(&origin, &path, request)).await;
        exchanged.unwrap_or_else(|_| Err(format!("did not answer within {limit:?}").into())).map_err(failed)
    }

    async fn exchange(
        &self,
        origin: &Origin,
        path: &str,
        request: &Request<Bytes>,
    ) -> Result<Response<Bytes>, Problem> {
        let key = origin.to_string();
        let idle = self.idle.borrow_mut().remove(&key);
        // A connection that the server has closed meanwhile is not an error: the request has not been sent.
        let reused = idle.and_then(|idle| idle.into_active().ok());
        let mut connection = match reused {
            Some(connection) => connection,
            None => Box::new(Http1::new(self.dial(origin).await?, Rc::clone(&self.buffers), Limits::default())),
        };
        let response = exchange(&mut connection, origin, path, request, self.limits.response).await?;
        if let Ok(idle) = connection.into_idle() {
            self.idle.borrow_mut().insert(key, idle);
        }
        Ok(response)
    }

    async fn dial(&self, origin: &Origin) -> Result<serow_net::Wire, Problem> {
        let addresses = match origin.host.parse() {
            Ok(address) => vec![address],
            Err(_) => {
                let answer = Resolver::default().addresses(&origin.host).await;
                answer.map_err(|error| format!("cannot be resolved: {error}; look at /etc/resolv.conf"))?.items
            }
        };
        let encryption = (origin.scheme == Scheme::Https).then(|| ClientEncryption {
            connector: self.connector.clone(),
            server_name: origin.host.clone(),
            protocol: None,
        });
        let mut failure = "has no address".to_owned();
        for address in addresses {
            let destination = Destination::Tcp((address, origin.port).into());
            let dialer = Dialer { destination, encryption: encryption.clone(), timeout: DIAL_TIMEOUT };
            match dialer.dial(&self.buffers).await {
                Ok(wire) => return Ok(wire),
                Err(error @ DialError::Certificate(_)) => {
                    return Err(Problem { text: format!("cannot be trusted: {error}"), is_untrusted: true });
                }
                Err(error) => failure = format!("cannot be reached: {error}"),
            }
        }
        Err(failure.into())
    }
}

/// One exchange over an open connection.
async fn exchange(
    connection: &mut Http1,
    origin: &Origin,
    path: &str,
    request: &Request<Bytes>,
    limit: usize,
) -> Result<Response<Bytes>, Problem> {
    let invalid = |error: &dyn fmt::Display| format!("was not asked: the request is invalid: {error}");
    let lost = |error: &dyn fmt::Display| format!("does not answer: {error}");
    let mut headers = Headers::new();
    headers.insert(KnownHeader::Host, origin.authority()).map_err(|error| invalid(&error))?;
    for (name, value) in request.headers() {
        headers.append(name.as_str(), value.as_bytes()).map_err(|error| invalid(&error))?;
    }
    if !request.headers().contains_key(header::USER_AGENT) {
        headers.append("user-agent", USER_AGENT).map_err(|error| invalid(&error))?;
    }
    let target = Target::parse(Bytes::from(path.to_owned()), false).map_err(|_| invalid(&"its URL is invalid"))?;
    let method = request.method().clone();
    let head = RequestHead { method, target, version: Version::HTTP_11, headers };
    let body = request.body();
    let length = BodyLength::Known(body.len() as u64);
    if connection.send_head(&head, length).map_err(|error| invalid(&error))? {
        connection.send_data(body).map_err(|error| invalid(&error))?;
        connection.send_end(None).map_err(|error| invalid(&error))?;
    }
    poll_fn(|context| connection.poll_flush(context)).await.map_err(|error| lost(&error))?;
    let mut response = Response::builder();
    let mut content = BytesMut::new();
    loop {
        match poll_fn(|context| connection.poll_receive(context)).await.map_err(|error| lost(&error))? {
            Event::Head(received) if received.is_informational() => {}
            Event::Head(received) => {
                response = response.status(received.head.status);
                for (name, value) in received.head.headers.iter() {
                    response = response.header(name, value);
                }
            }
            Event::Data(data) if content.len() + data.len() > limit => {
                return Err(format!("answers with more than {} KiB", limit / 1024).into());
            }
            Event::Data(data) => content.extend_from_slice(&data),
            Event::End(_) => return response.body(content.freeze()).map_err(|error| lost(&error).into()),
        }
    }
}

const DIAL_TIMEOUT: Duration = Duration::from_secs(10);

/// The User-Agent of requests that have none of their own.
const USER_AGENT: &str = concat!("serow/", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
        thread,
    };

    use super::*;

    /// The URL of a server that sends this, and then nothing more.
    fn server(response: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/path?query", listener.local_addr().unwrap());
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut received, mut piece) = (Vec::new(), [0; 1024]);
            while !received.ends_with(b"\r\n\r\n") {
                let length = stream.read(&mut piece).unwrap();
                received.extend_from_slice(&piece[..length]);
            }
            let head = String::from_utf8(received).unwrap();
            assert!(head.starts_with("GET /path?query HTTP/1.1\r\n") && head.contains("user-agent: serow/"), "{head}");
            stream.write_all(response.as_bytes()).unwrap();
            // Until the client closes the connection.
            let _ = stream.read(&mut piece);
        });
        url
    }

    fn fetched(url: &str, timeout: Duration) -> Result<(u16, Bytes), String> {
        let limits = FetchLimits { timeout, response: 10 };
        let connections = Connections::new(crate::fetch::connector(None).unwrap(), limits);
        let request = Request::get(url).body(Bytes::new()).unwrap();
        let response = serow_net::thread_runtime().unwrap().block_on(connections.send(&request));
        response.map(|response| (response.status().as_u16(), response.into_body())).map_err(|error| error.to_string())
    }

    #[test]
    fn responses_within_the_limits_are_returned_and_others_are_errors() {
        for (response, expected) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", Ok((200, "abc"))),
            ("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", Ok((404, ""))),
            ("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", Ok((302, ""))),
            ("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nabcdefghijk", Err("answers with more than 0 KiB")),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", Err("did not answer within 200ms")),
            ("", Err("did not answer within 200ms")),
            ("nonsense\r\n\r\n", Err("does not answer: ")),
        ] {
            let is_late = expected.is_err_and(|error| error.contains("within"));
            let timeout = if is_late { Duration::from_millis(200) } else { Duration::from_secs(60) };
            match (fetched(&server(response), timeout), expected) {
                (Ok((status, body)), Ok(expected)) => {
                    assert_eq!((status, &body[..]), (expected.0, expected.1.as_bytes()))
                }
                (Err(error), Err(expected)) => assert!(error.contains(expected), "{response}: {error}"),
                (found, _) => panic!("{response}: {found:?}"),
            }
        }
        let unreachable = fetched("http://127.0.0.1:1/", DIAL_TIMEOUT).unwrap_err();
        assert!(unreachable.contains("127.0.0.1:1 cannot be reached"), "{unreachable}");
        assert!(fetched("ftp://127.0.0.1/", DIAL_TIMEOUT).is_err());
    }
}
