//! Users who log in by a provider of OpenID Connect.

use std::{net::IpAddr, sync::Arc, time::SystemTime};

use bytes::Bytes;
use serow_gateway::{TrustedProxies, error_page};
use serow_login::{Granted, Login, LoginRequest, LoginVerdict, Reply, has_own_cookies, without_own_cookies};
use serow_message::{Headers, KnownHeader, Request, Response, Scheme, StatusCode, User, authority};

use super::identity::{Identity, Verdict};
use crate::policy::put;

/// Users who log in by a provider.
#[derive(Clone, Debug)]
pub struct LoginCheck {
    /// The login.
    pub login: Login,
    /// Whether requests need it; otherwise only its own paths are answered, to which providers send browsers.
    pub is_required: bool,
    /// The proxies whose statement of the client's scheme counts.
    pub trust: Arc<TrustedProxies>,
}

impl LoginCheck {
    /// The fields of a request that only the login may set.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.login.settings().fields.iter().map(|(name, _)| &**name)
    }

    /// The response to a request for a path of the login itself.
    pub(super) fn own_path(&self, request: &Request) -> Option<Verdict> {
        let settings = self.login.settings();
        let path = request.target.path();
        (path == settings.callback || path == settings.logout).then(|| self.check(request))
    }

    /// Finds out who has logged in, or leads a browser to the login.
    pub(super) fn check(&self, request: &Request) -> Verdict {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let is_secure = self.trust.client_scheme(&request.headers, request.connection()) == Scheme::Https;
        let asked = LoginRequest {
            method: &request.method,
            path: request.target.path(),
            query: request.target.query(),
            headers: &request.headers,
            host: self.host(request),
            is_secure,
            client: self.trust.client_address(&request.headers, request.connection()),
        };
        match self.login.check(&asked, now) {
            LoginVerdict::Passed(granted) => Verdict::Passed(identity(granted)),
            LoginVerdict::Replied(reply) => Verdict::Refused(response(reply, &request.headers)),
            LoginVerdict::Pending(granted) => {
                let headers = request.headers.clone();
                Verdict::Pending(Box::pin(async move {
                    granted.await.map(identity).map_err(|reply| response(reply, &headers))
                }))
            }
        }
    }
}

impl LoginCheck {
    /// The host as the client knows it.
    fn host<'r>(&self, request: &'r Request) -> &'r str {
        let named = match self.trust.contains(request.connection().peer()) {
            true => named_host(&self.trust, &request.headers),
            false => None,
        };
        named.or_else(|| request.host()).unwrap_or_default()
    }
}

/// The host that the outermost trusted proxy names in X-Forwarded-Host, if it is one. Each proxy of a chain appends to this
/// field and to X-Forwarded-For, so the elements before are as the client sent them.
fn named_host<'h>(trust: &TrustedProxies, headers: &'h Headers) -> Option<&'h str> {
    let hosts: Vec<&[u8]> = headers.list(KnownHeader::XForwardedHost).collect();
    let senders: Vec<&[u8]> = headers.list(KnownHeader::XForwardedFor).collect();
    let is_proxy = |sender: &&&[u8]| {
        let sender = std::str::from_utf8(sender).ok().and_then(|sender| sender.parse::<IpAddr>().ok());
        sender.is_some_and(|sender| trust.contains_address(sender.to_canonical()))
    };
    // The first is the client's, wherever that is.
    let proxies = senders.iter().skip(1).rev().take_while(is_proxy).count();
    let host = hosts.get(hosts.len().saturating_sub(proxies + 1)).filter(|host| !host.is_empty())?;
    std::str::from_utf8(host).ok().filter(|host| authority::is_valid(host.as_bytes()))
}

/// Removes the cookies of logins from a request: handlers have no use for them, and may log them.
pub(super) fn hide_cookies(headers: &mut Headers) {
    if !headers.get_all(KnownHeader::Cookie).any(has_own_cookies) {
        return;
    }
    let kept: Vec<_> = headers.get_all(KnownHeader::Cookie).filter_map(without_own_cookies).collect();
    headers.remove(KnownHeader::Cookie);
    kept.into_iter().for_each(|cookies| put(headers, KnownHeader::Cookie, cookies));
}

fn identity(granted: Granted) -> Identity {
    let Granted { user, fields, cookies } = granted;
    let name: Arc<str> = SET_COOKIE.into();
    Identity {
        user: user.map(User),
        request_fields: fields.into_iter().map(|(name, value)| (name, Bytes::from(value))).collect(),
        response_fields: cookies.into_iter().map(|cookie| (Arc::clone(&name), Bytes::from(cookie))).collect(),
        ..Identity::default()
    }
}

fn response(reply: Reply, headers: &Headers) -> Response {
    let Reply { status, fields, body } = reply;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let mut response = match body.is_empty() && (status.is_client_error() || status.is_server_error()) {
        true => error_page(status, headers),
        false => Response::new(status),
    };
    for (name, value) in fields {
        let _ = response.headers.append(name, value);
    }
    if !body.is_empty() {
        response.body = Bytes::from(body).into();
    }
    response
}

const SET_COOKIE: &str = "set-cookie";

#[cfg(test)]
mod tests {
    use serow_message::Network;

    use super::*;

    #[test]
    fn of_several_forwarded_hosts_that_of_the_outermost_trusted_proxy_counts() {
        let trust: TrustedProxies = ["10.0.0.0/8".parse::<Network>().unwrap()].into_iter().collect();
        for (hosts, senders, expected) in [
            (&["app.example"][..], "192.0.2.1", Some("app.example")),
            (&["app.example:8443"], "", Some("app.example:8443")),
            (&["[2001:db8::1]:80"], "", Some("[2001:db8::1]:80")),
            (&["evil.example, app.example"], "192.0.2.1", Some("app.example")),
            (&["evil.example", "app.example"], "", Some("app.example")),
            (&["app.example, inner"], "192.0.2.1, 10.0.0.2", Some("app.example")),
            (&["evil.example, app.example, inner"], "10.0.0.9, 192.0.2.1, 10.0.0.2", Some("app.example")),
            // A proxy that passes on what the outermost one has set.
            (&["app.example"], "192.0.2.1, 10.0.0.3, 10.0.0.2", Some("app.example")),
            (&["app.example"], "10.0.0.3", Some("app.example")),
            (&["app.example/x?"], "", None),
            (&["app.example, evil/"], "", None),
            (&["user@app.example"], "", None),
            (&["app .example"], "", None),
            (&["\u{e9}.example"], "", None),
            (&[""], "", None),
            (&[], "192.0.2.1", None),
        ] {
            let mut headers = Headers::new();
            hosts.iter().for_each(|host| headers.append("x-forwarded-host", host).unwrap());
            headers.append("x-forwarded-for", senders).unwrap();
            assert_eq!(named_host(&trust, &headers), expected, "{hosts:?} {senders}");
        }
    }

    #[test]
    fn handlers_do_not_see_the_cookies_of_logins() {
        for (fields, expected) in [
            (&["a=1; __Host-serow-login-session=1.x; b=2"][..], &["a=1; b=2"][..]),
            (&["__Host-serow-login-session=1.x", "a=1"], &["a=1"]),
            (&["serow-login-browser=1.x"], &[]),
            (&["a=1;b=2"], &["a=1;b=2"]),
        ] {
            let mut headers = Headers::new();
            fields.iter().for_each(|field| headers.append("cookie", field).unwrap());
            hide_cookies(&mut headers);
            let kept: Vec<_> = headers.get_all("cookie").map(|field| std::str::from_utf8(field).unwrap()).collect();
            assert_eq!(kept, expected);
        }
    }
}
