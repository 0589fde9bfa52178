//! The request about a request, as Authelia, Authentik and oauth2-proxy document it for nginx, Traefik and Caddy.

use serow_gateway::{FieldNames, Forwarded};
use serow_message::{Body, Headers, KnownHeader, Method, Request, RequestHead, RequestId, Scheme, Target, Version};

use serow_proxy::{field_values, set_field};

use super::ForwardAuthSettings;

/// The request that asks about this one; `None` for one that has no path, and so nothing that can be decided about.
pub(super) fn of(request: &Request, settings: &ForwardAuthSettings) -> Option<Request> {
    let target = uri(request)?;
    let mut headers = request.headers.clone();
    if let Some(authority) = request.target.authority() {
        // RFC 9112 §3.2.2: `Host` does not count beside an absolute target.
        headers.replace(KnownHeader::Host, authority).ok()?;
    }
    let scheme = settings.trust.client_scheme(&headers, request.connection());
    // X-Forwarded-For, -Proto and -Host as proxies send them.
    let forwarded = Forwarded { trusted: (*settings.trust).clone(), ..Forwarded::default() };
    let values = forwarded.values(&headers, request.connection());
    headers.retain_known(|name, known, _| {
        !known.is_some_and(|known| OF_BODY_AND_CACHE.contains(&known)) && !values.replaces(name, known)
    });
    // Clients log in by Authorization and Cookie, also where the other server makes others of them.
    let is_of_server = |name: &&str| KnownHeader::recognise(name.as_bytes()).is_none();
    for name in settings.copy.iter().map(|name| &**name).filter(is_of_server).chain(OF_REQUEST) {
        headers.remove(name);
        FieldNames::Any.remove_look_alikes(name, &mut headers);
    }
    values.append_to(&mut headers);
    describe(request.method.as_str(), &target, scheme, &mut headers)?;
    for (name, value) in field_values(&settings.set_header, &settings.trust, request) {
        set_field(name, &value, &mut headers, FieldNames::Any);
    }
    let head = RequestHead { method: Method::GET, target: settings.target.clone(), version: Version::HTTP_11, headers };
    let mut question = Request::new(head, Body::empty(), request.connection().clone());
    if let Some(id) = RequestId::of(&request.extensions) {
        question.extensions.insert(id);
    }
    Some(question)
}

/// Path and query as the client sent them.
pub(super) fn uri(request: &Request) -> Option<Target> {
    let target = request.target.clone().into_origin_form(false);
    // In `*` and the host of CONNECT, rules about paths would find nothing.
    target.as_str().starts_with('/').then_some(target)
}

/// Writes which request it is about.
fn describe(method: &str, target: &Target, scheme: Scheme, headers: &mut Headers) -> Option<()> {
    let scheme = match scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    };
    let host = headers.get(KnownHeader::XForwardedHost).unwrap_or_default();
    let url = [scheme.as_bytes(), b"://", host, target.as_str().as_bytes()].concat();
    let values = [method.as_bytes(), target.as_str().as_bytes(), &url, method.as_bytes()];
    for (name, value) in OF_REQUEST.into_iter().zip(values) {
        headers.append(name, value).ok()?;
    }
    Some(())
}

/// Traefik's and Caddy's fields, and then nginx's as Authelia documents them.
const OF_REQUEST: [&str; 4] = ["x-forwarded-method", "x-forwarded-uri", "x-original-url", "x-original-method"];

/// Fields about the body, which is not sent, or about a copy of the response that the client has.
const OF_BODY_AND_CACHE: [KnownHeader; 13] = [
    KnownHeader::ContentEncoding,
    KnownHeader::ContentLength,
    KnownHeader::ContentType,
    KnownHeader::Expect,
    KnownHeader::IfMatch,
    KnownHeader::IfModifiedSince,
    KnownHeader::IfNoneMatch,
    KnownHeader::IfRange,
    KnownHeader::IfUnmodifiedSince,
    KnownHeader::Range,
    KnownHeader::Te,
    KnownHeader::Trailer,
    KnownHeader::TransferEncoding,
];

#[cfg(test)]
mod tests;
