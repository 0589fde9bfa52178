//! Responses that name what the server is to send in their place: X-Accel-Redirect and X-Sendfile.
//!
//! Applications check whether a client may have a file, and leave sending it to the server. The fields are meant for the
//! server: they name places that clients must not know, so they are removed from responses to clients. A trusted proxy
//! in front of this server receives them, since they may be meant for it.

use bytes::Bytes;
use serow_message::{Headers, InformationalSender, KnownHeader, Response, StatusCode};

use crate::{
    accel_expires::{AccelExpires, X_ACCEL_EXPIRES},
    limit_rate::LimitRate,
    log_limit::LogLimit,
};

/// The path or file that an application or another server names to be sent in place of its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InternalRedirect {
    /// X-Accel-Redirect: the path of an internal route, percent-encoded, perhaps with a query.
    Path(Bytes),
    /// X-Sendfile: the absolute path of a file, as the file system has it.
    File(Bytes),
}

/// In the extensions of a response that names what is sent in its place, whoever does that: it is of no use to others.
#[derive(Clone, Copy, Debug)]
pub struct NamesReplacement;

/// Whether responses may name what is sent in their place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InternalRedirects {
    /// They may: the response has [`InternalRedirect`] in its extensions. They may have a [`LimitRate`] there, too.
    Follow,
    /// They may not.
    #[default]
    Ignore,
}

impl InternalRedirects {
    /// Takes the fields that are meant for the server out of a response of this application or upstream, unless the peer
    /// is a trusted proxy.
    #[inline]
    pub fn take(self, response: &mut Response, name: &str, is_trusted: impl FnOnce() -> bool) {
        if response.headers.iter_known().any(|(name, known, _)| is_for_server(name, known)) {
            self.take_found(response, name, is_trusted());
        }
    }

    /// As [`Self::take`], where there is such a field.
    #[cold]
    pub fn take_found(self, response: &mut Response, name: &str, is_trusted: bool) {
        let redirect = InternalRedirect::of(&response.headers);
        if self == Self::Follow
            && let Some(rate) = LimitRate::of(&response.headers)
        {
            response.extensions.insert(rate);
        }
        if let Some(expires) = AccelExpires::of(&response.headers) {
            response.extensions.insert(expires);
        }
        if !is_trusted {
            remove_fields_for_server(&mut response.headers);
        }
        if redirect.is_some() {
            response.extensions.insert(NamesReplacement);
        }
        match (redirect, self) {
            (Some(redirect), Self::Follow) => drop(response.extensions.insert(redirect)),
            (Some(redirect), Self::Ignore) if !is_trusted => warn(name, &redirect),
            _ => {}
        }
    }
}

impl InternalRedirect {
    /// Reads the fields of a response. X-Accel-Redirect takes precedence; an empty field names nothing.
    fn of(headers: &Headers) -> Option<Self> {
        let value = |name: &str| {
            let value = headers.get(name).filter(|value| !value.is_empty());
            value.map(Bytes::copy_from_slice)
        };
        value(X_ACCEL_REDIRECT).map(Self::Path).or_else(|| value(X_SENDFILE).map(Self::File))
    }

    /// The field, for the log.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Path(_) => "X-Accel-Redirect",
            Self::File(_) => "X-Sendfile",
        }
    }

    /// Its value.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        match self {
            Self::Path(value) | Self::File(value) => value,
        }
    }
}

/// Whether a field of a response is meant for the server alone: those that nginx does not pass on, and X-Sendfile.
#[inline]
#[must_use]
pub fn is_for_server(name: &[u8], known: Option<KnownHeader>) -> bool {
    // Most names begin with another letter, or have another length.
    known.is_none() && matches!(name, [b'x' | b'X', b'-', ..]) && is_named_for_server(name)
}

/// Removes the fields that are meant for the server alone.
pub fn remove_fields_for_server(headers: &mut Headers) {
    if headers.iter_known().any(|(name, known, _)| is_for_server(name, known)) {
        headers.retain_known(|name, known, _| !is_for_server(name, known));
    }
}

/// Sends an informational response without the fields that are meant for the server alone: they name places that clients
/// must not know.
pub fn send_informational(informational: &InformationalSender, status: StatusCode, mut headers: Headers) {
    remove_fields_for_server(&mut headers);
    informational.send(status, headers);
}

fn is_named_for_server(name: &[u8]) -> bool {
    match name.len() {
        10 => name.eq_ignore_ascii_case(X_SENDFILE.as_bytes()),
        15..=18 => FOR_SERVER.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes())),
        _ => false,
    }
}

fn warn(name: &str, redirect: &InternalRedirect) {
    static LIMIT: LogLimit = LogLimit::new();
    if let Some(suppressed) = LIMIT.admit_now() {
        if suppressed.0 > 0 {
            tracing::warn!("and {suppressed} more warnings before");
        }
        let field = redirect.field();
        tracing::warn!(
            "{name}: {field} is ignored: it needs `accel-redirect = true` and a route with `internal = true`"
        );
    }
}

const X_ACCEL_REDIRECT: &str = "x-accel-redirect";
const X_SENDFILE: &str = "x-sendfile";

/// The fields that nginx does not pass on (ngx_http_proxy_hide_headers).
const FOR_SERVER: [&str; 5] =
    [X_ACCEL_REDIRECT, "x-accel-buffering", "x-accel-charset", X_ACCEL_EXPIRES, "x-accel-limit-rate"];

#[cfg(test)]
mod tests {
    use super::*;

    fn response(fields: &[(&str, &str)]) -> Response {
        fields.iter().fold(Response::default(), |response, (name, value)| response.with(*name, *value))
    }

    #[test]
    fn fields_for_the_server_do_not_reach_clients() {
        let fields = [
            ("X-Accel-Redirect", "/a"),
            ("x-accel-buffering", "no"),
            ("X-Accel-Charset", "utf-8"),
            ("X-Accel-Expires", "60"),
            ("X-ACCEL-LIMIT-RATE", "1"),
            ("x-sendfile", "/srv/a"),
            ("X-Accel-Mine", "1"),
            ("X-Sendfiles", "1"),
            ("Accept-Ranges", "bytes"),
        ];
        for (redirects, is_trusted, expected) in [
            (InternalRedirects::Follow, false, 3),
            (InternalRedirects::Ignore, false, 3),
            (InternalRedirects::Follow, true, 9),
            (InternalRedirects::Ignore, true, 9),
        ] {
            let mut response = response(&fields);
            redirects.take(&mut response, "app", || is_trusted);
            assert_eq!(response.headers.len(), expected, "{redirects:?} {is_trusted}");
            let redirect = response.extensions.get::<InternalRedirect>();
            let followed = InternalRedirect::Path(Bytes::from_static(b"/a"));
            assert_eq!(redirect, (redirects == InternalRedirects::Follow).then_some(&followed));
        }
    }

    #[test]
    fn the_fields_name_a_path_or_a_file() {
        type Case = (&'static [(&'static str, &'static str)], Option<(&'static str, &'static str)>);
        let cases: [Case; 6] = [
            (&[], None),
            (&[("x-accel-buffering", "no")], None),
            (&[("x-accel-redirect", "")], None),
            (&[("X-Accel-Redirect", "/a%20b?c")], Some(("X-Accel-Redirect", "/a%20b?c"))),
            (&[("X-Sendfile", "/srv/a b")], Some(("X-Sendfile", "/srv/a b"))),
            (&[("X-Sendfile", "/srv/a"), ("x-accel-redirect", "/b")], Some(("X-Accel-Redirect", "/b"))),
        ];
        for (fields, expected) in cases {
            let mut response = response(fields);
            InternalRedirects::Follow.take(&mut response, "app", || false);
            let found = response.extensions.get::<InternalRedirect>();
            let found = found.map(|found| (found.field(), std::str::from_utf8(found.value()).unwrap()));
            assert_eq!(found, expected);
        }
    }
}
