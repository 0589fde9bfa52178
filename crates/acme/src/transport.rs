//! Requests to the authority, by Serow's own client.

use std::{
    cell::RefCell, collections::HashMap, error::Error, fmt, future::poll_fn, path::PathBuf, pin::Pin, rc::Rc,
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use instant_acme::{BodyWrapper, BytesResponse, HttpClient};
use serow_client::{
    Buffers, ClientEncryption, Destination, DialError, Dialer, Http1, IdleHttp1, Origin, Protocol, TlsClientSettings,
    TlsConnector, TlsSettingsError, Trust,
};
use serow_dns::Resolver;
use serow_http1::{Event, Limits};
use serow_message::{BodyLength, Headers, KnownHeader, RequestHead, Scheme, Target, Version};
use tokio::{
    sync::{mpsc, oneshot},
    task::spawn_local,
    time::timeout,
};

use crate::response_notes;

/// A client of an authority. Clones share its connections, which belong to the thread of [`AuthorityClient::start`].
#[derive(Clone)]
pub(crate) struct AuthorityClient {
    exchanges: mpsc::UnboundedSender<Exchange>,
}

/// TLS with the authority, whose certificate the authorities of this file must have issued; without a file, those that
/// the system trusts.
pub(crate) fn connector(ca_file: Option<&PathBuf>) -> Result<TlsConnector, TlsSettingsError> {
    let trust = ca_file.map_or(Trust::System, |file| Trust::File(file.clone()));
    TlsConnector::new(TlsClientSettings { trust, protocols: vec![Protocol::Http1], ..TlsClientSettings::default() })
}

/// A request, and where its response goes.
struct Exchange {
    request: Request<Bytes>,
    response: oneshot::Sender<Result<Response<Bytes>, RequestError>>,
}

/// The connections of one thread.
struct Connections {
    connector: TlsConnector,
    buffers: Rc<Buffers>,
    /// One for each origin is enough: requests of an order come one after another.
    idle: RefCell<HashMap<String, IdleHttp1>>,
}

/// The error of a request to the authority.
#[derive(Debug)]
struct RequestError {
    host: String,
    problem: String,
}

impl AuthorityClient {
    /// Starts a client on this thread, which runs a local runtime.
    pub(crate) fn start(connector: TlsConnector) -> Self {
        let connections = Rc::new(Connections { connector, buffers: Rc::default(), idle: RefCell::default() });
        let (exchanges, mut received) = mpsc::unbounded_channel::<Exchange>();
        spawn_local(async move {
            while let Some(Exchange { request, response }) = received.recv().await {
                let connections = Rc::clone(&connections);
                // Nobody may wait for the response any more.
                spawn_local(async move { response.send(connections.send(request).await).is_ok() });
            }
        });
        Self { exchanges }
    }

    /// The status of the response to a GET request; what is wrong if there is none.
    pub(crate) async fn status(&self, url: &str) -> Result<StatusCode, String> {
        let request = Request::get(url).header(header::USER_AGENT, USER_AGENT).body(Bytes::new());
        let request = request.map_err(|error| format!("is not a URL: {error}"))?;
        Ok(self.exchange(request).await.map_err(|error| error.problem)?.status())
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, RequestError> {
        let host = request.uri().authority().map_or_else(String::new, ToString::to_string);
        let ended = || RequestError { host: host.clone(), problem: "the client has ended".to_owned() };
        let (sender, receiver) = oneshot::channel();
        self.exchanges.send(Exchange { request, response: sender }).map_err(|_| ended())?;
        receiver.await.map_err(|_| ended())?
    }

    async fn send(self, request: Request<BodyWrapper<Bytes>>) -> Result<BytesResponse, instant_acme::Error> {
        let (head, body) = request.into_parts();
        let url = head.uri.to_string();
        let host = head.uri.authority().map_or_else(String::new, ToString::to_string);
        let body = body.collect().await.map_or_else(|never| match never {}, |body| body.to_bytes());
        let received = self.exchange(Request::from_parts(head, body)).await;
        let response = received.map_err(|error| instant_acme::Error::Other(Box::new(error)))?;
        response_notes::note(&url, &response);
        check(&response, &host).map_err(|error| instant_acme::Error::Other(Box::new(error)))?;
        let (head, body) = response.into_parts();
        Ok(BytesResponse::from(Response::from_parts(head, Full::new(body))))
    }
}

/// Refuses an error that is not a problem document (RFC 8555 §6.7): a proxy in front of the
/// authority answers with HTML.
fn check(response: &Response<Bytes>, host: &str) -> Result<(), RequestError> {
    let status = response.status();
    if status.is_success() || status.is_redirection() {
        return Ok(());
    }
    let field = |name| response.headers().get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
    if field(header::CONTENT_TYPE).is_some_and(|kind| kind.contains("json")) {
        return Ok(());
    }
    Err(RequestError {
        host: host.to_owned(),
        problem: format!("answers with status {status}, and not as an authority"),
    })
}

impl HttpClient for AuthorityClient {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, instant_acme::Error>> + Send>> {
        Box::pin(self.clone().send(request))
    }
}

impl Connections {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, RequestError> {
        let url = request.uri().to_string();
        let failed = |problem: String| {
            let host = request.uri().authority().map_or_else(|| url.clone(), ToString::to_string);
            RequestError { host, problem }
        };
        let (origin, path) = Origin::of_url(&url).map_err(|error| failed(error.to_string()))?;
        let limit = async { timeout(TIMEOUT, self.exchange(&origin, &path, &request)).await };
        limit.await.unwrap_or_else(|_| Err(format!("did not answer within {TIMEOUT:?}"))).map_err(failed)
    }

    async fn exchange(&self, origin: &Origin, path: &str, request: &Request<Bytes>) -> Result<Response<Bytes>, String> {
        let key = origin.to_string();
        let idle = self.idle.borrow_mut().remove(&key);
        // A connection that the server has closed meanwhile is not an error: the request has not been sent.
        let reused = idle.and_then(|idle| idle.into_active().ok());
        let mut connection = match reused {
            Some(connection) => connection,
            None => Box::new(Http1::new(self.dial(origin).await?, Rc::clone(&self.buffers), Limits::default())),
        };
        let response = exchange(&mut connection, origin, path, request).await?;
        if let Ok(idle) = connection.into_idle() {
            self.idle.borrow_mut().insert(key, idle);
        }
        Ok(response)
    }

    async fn dial(&self, origin: &Origin) -> Result<serow_net::Wire, String> {
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
                    return Err(format!(
                        "cannot be trusted: {error}; if it is a private authority, set `acme-ca`, or for the fallback \
                         `acme-fallback-ca`"
                    ));
                }
                Err(error) => failure = format!("cannot be reached: {error}"),
            }
        }
        Err(failure)
    }
}

/// One exchange over an open connection.
async fn exchange(
    connection: &mut Http1,
    origin: &Origin,
    path: &str,
    request: &Request<Bytes>,
) -> Result<Response<Bytes>, String> {
    let invalid = |error: &dyn fmt::Display| format!("the request is invalid: {error}");
    let lost = |error: &dyn fmt::Display| format!("does not answer: {error}");
    let mut headers = Headers::new();
    headers.insert(KnownHeader::Host, origin.authority()).map_err(|error| invalid(&error))?;
    for (name, value) in request.headers() {
        let value = if name == header::USER_AGENT { USER_AGENT.as_bytes() } else { value.as_bytes() };
        headers.append(name.as_str(), value).map_err(|error| invalid(&error))?;
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
            Event::Data(data) if content.len() + data.len() > MAX_RESPONSE => {
                return Err(format!("answers with more than {} KiB", MAX_RESPONSE / 1024));
            }
            Event::Data(data) => content.extend_from_slice(&data),
            Event::End(_) => return response.body(content.freeze()).map_err(|error| lost(&error)),
        }
    }
}

/// Let's Encrypt answers within a second, and its operators ask clients to wait for up to half a minute at peak times.
const TIMEOUT: Duration = Duration::from_secs(60);

const DIAL_TIMEOUT: Duration = Duration::from_secs(10);

/// A chain of certificates has less than 20 KiB; more would be an attack on our memory.
const MAX_RESPONSE: usize = 256 * 1024;

/// RFC 8555 §6.1: the client's name and version, and those of its library.
const USER_AGENT: &str = concat!("serow/", env!("CARGO_PKG_VERSION"), " instant-acme");

impl fmt::Display for RequestError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the authority at {} {}", self.host, self.problem)
    }
}

impl Error for RequestError {}
