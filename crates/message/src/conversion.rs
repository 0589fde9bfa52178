//! Conversions between Serow's messages and those of the `http` crate.

use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, request, response};

use crate::{
    Body, BoxError, Headers, InvalidHeader, KnownHeader, OnUpgrade, Priority, Request, RequestContext, Response,
    Target,
    field::{ALL, COUNT},
};

impl OnUpgrade {
    /// Takes the connection of an `http::Request` that was made of a [`Request`], from its extensions:
    /// for extractors. `None` if the request cannot be upgraded, or the connection was taken before.
    pub fn take_from(extensions: &http::Extensions) -> Option<Self> {
        extensions.get::<RequestContext>()?.take_upgrade()
    }
}

impl From<Request> for http::Request<Body> {
    /// Values share the received text. A service finds a [`RequestContext`] in the extensions.
    fn from(request: Request) -> Self {
        let mut context = request.context;
        context.set_priority(Priority::of_fields(&request.headers).unwrap_or_default());
        let mut converted = Self::new(request.body);
        *converted.method_mut() = request.method;
        *converted.version_mut() = request.version;
        *converted.uri_mut() = uri(&request.target);
        *converted.headers_mut() = request.headers.into();
        *converted.extensions_mut() = request.extensions;
        converted.extensions_mut().insert(context);
        converted
    }
}

impl<B> TryFrom<http::Request<B>> for Request
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Error = BoxError;

    fn try_from(request: http::Request<B>) -> Result<Self, BoxError> {
        let (request::Parts { method, uri, version, headers, mut extensions, .. }, body) = request.into_parts();
        let target = Target::parse(std::format!("{uri}").into(), method == http::Method::CONNECT)?;
        let context = extensions.remove::<RequestContext>().unwrap_or_default();
        Ok(Self {
            method,
            target,
            version,
            headers: Headers::try_from(&headers)?,
            body: into_body(body),
            extensions,
            context,
        })
    }
}

impl From<Response> for http::Response<Body> {
    fn from(response: Response) -> Self {
        let mut converted = Self::new(response.body);
        *converted.status_mut() = response.status;
        *converted.headers_mut() = response.headers.into();
        *converted.extensions_mut() = response.extensions;
        converted
    }
}

impl<B> From<http::Response<B>> for Response
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    /// Fields that HTTP/1 cannot carry (obs-text aside, `http` does not accept others) are left out. A [`Priority`] in the
    /// extensions becomes the field of that name (RFC 9218 §8), in place of one that is there.
    fn from(response: http::Response<B>) -> Self {
        let (response::Parts { status, headers, mut extensions, .. }, body) = response.into_parts();
        let mut taken = Headers::new();
        for (name, value) in &headers {
            let _ = taken.append(name, value);
        }
        if let Some(priority) = extensions.remove::<Priority>() {
            let _ = taken.insert(KnownHeader::Priority, priority.as_str());
        }
        Self { status, headers: taken, body: into_body(body), extensions }
    }
}

impl From<Headers> for HeaderMap {
    fn from(headers: Headers) -> Self {
        let mut map = Self::with_capacity(headers.len());
        for (name, known, value) in headers.shared_values() {
            let name = known.map_or_else(|| HeaderName::from_bytes(name), |known| Ok(NAMES[known as usize].clone()));
            let value = HeaderValue::from_maybe_shared(value);
            if let (Ok(name), Ok(value)) = (name, value) {
                map.append(name, value);
            }
        }
        map
    }
}

impl TryFrom<&HeaderMap> for Headers {
    type Error = InvalidHeader;

    fn try_from(map: &HeaderMap) -> Result<Self, InvalidHeader> {
        let mut headers = Self::new();
        for (name, value) in map {
            headers.append(name, value)?;
        }
        Ok(headers)
    }
}

/// The well-known names, by their numbers: parsed once and not for each request.
static NAMES: LazyLock<[HeaderName; COUNT]> =
    LazyLock::new(|| ALL.map(|known| HeaderName::from_static(known.as_str())));

/// Keeps one of our own bodies, so that a file remains a file through a whole tower stack, and bytes that are there already
/// remain bytes.
fn into_body<B>(body: B) -> Body
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let mut slot = Some(body);
    if let Some(own) = (&mut slot as &mut dyn core::any::Any).downcast_mut::<Option<Body>>() {
        return own.take().unwrap_or_default();
    }
    match slot {
        Some(body) if body.is_end_stream() => Body::empty(),
        Some(body) => Body::foreign(body),
        None => Body::empty(),
    }
}

/// A target that `Uri` refuses (it knows fewer characters than browsers send) becomes its path, percent-encoded.
fn uri(target: &Target) -> Uri {
    Uri::from_maybe_shared(target.to_bytes()).unwrap_or_else(|_| {
        let mut encoded = std::string::String::new();
        for byte in target.as_str().bytes() {
            match byte {
                b'!' | b'#'..=b';' | b'=' | b'?'..=b'Z' | b'_' | b'a'..=b'z' | b'~' => encoded.push(char::from(byte)),
                _ => encoded.push_str(&std::format!("%{byte:02X}")),
            }
        }
        encoded.parse().unwrap_or_default()
    })
}
