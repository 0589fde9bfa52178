//! Requests to the authority, by Serow's own client.

use std::{error::Error, fmt, path::PathBuf, pin::Pin, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use instant_acme::{BodyWrapper, BytesResponse, HttpClient};
use serow_client::fetch::{FetchClient, FetchError, FetchLimits};
use serow_client::{TlsConnector, TlsSettingsError};

use crate::response_notes;

/// A client of an authority. Clones share its connections, which belong to the thread of [`AuthorityClient::start`].
#[derive(Clone)]
pub(crate) struct AuthorityClient(FetchClient);

/// TLS with the authority, whose certificate the authorities of this file must have issued; without a file, those that
/// the system trusts.
pub(crate) fn connector(ca_file: Option<&PathBuf>) -> Result<TlsConnector, TlsSettingsError> {
    serow_client::fetch::connector(ca_file)
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
        Self(FetchClient::start(connector, FetchLimits { timeout: TIMEOUT, ..FetchLimits::default() }))
    }

    /// The status of the response to a GET request; what is wrong if there is none.
    pub(crate) async fn status(&self, url: &str) -> Result<StatusCode, String> {
        let request = Request::get(url).body(Bytes::new());
        let request = request.map_err(|error| format!("is not a URL: {error}"))?;
        Ok(self.exchange(request).await.map_err(|error| error.problem)?.status())
    }

    async fn exchange(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, RequestError> {
        request.headers_mut().insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        self.0.fetch(request).await.map_err(|error| RequestError::of(&error))
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

impl RequestError {
    fn of(error: &FetchError) -> Self {
        let remedy = match error.is_untrusted() {
            true => {
                "; if it is a private authority, set `ca` in `[acme]` (--acme-ca), or for the fallback `fallback-ca` \
                 (--acme-fallback-ca), to the file with its certificate"
            }
            false => "",
        };
        Self { host: error.host().to_owned(), problem: format!("{}{remedy}", error.problem()) }
    }
}

/// Let's Encrypt answers within a second, and its operators ask clients to wait for up to half a minute at peak times.
const TIMEOUT: Duration = Duration::from_secs(60);

/// RFC 8555 §6.1: the client's name and version, and those of its library.
const USER_AGENT: &str = concat!("serow/", env!("CARGO_PKG_VERSION"), " instant-acme");

impl fmt::Display for RequestError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the authority at {} {}", self.host, self.problem)
    }
}

impl Error for RequestError {}
