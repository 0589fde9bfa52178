//! Users who log in by a provider of OpenID Connect.

use std::sync::Arc;

use bytes::Bytes;
use serow_access::openid::{Granted, Login, LoginRequest, LoginVerdict, Reply, has_own_cookies, without_own_cookies};
use serow_gateway::{TrustedProxies, error_page};
use serow_message::{Headers, KnownHeader, Request, Response, Scheme, StatusCode, User};
use serow_net::time;

use crate::identity::{Identity, Verdict};

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
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.login.settings().fields.iter().map(|(name, _)| &**name)
    }

    /// The response to a request for a path of the login itself.
    pub(crate) fn own_path(&self, request: &Request) -> Option<Verdict> {
        let settings = self.login.settings();
        let path = request.target.path();
        (path == settings.callback || path == settings.logout).then(|| self.check(request))
    }

    /// Finds out who has logged in, or leads a browser to the login.
    pub(crate) fn check(&self, request: &Request) -> Verdict {
        let now = time::seconds_since_1970();
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
        let of_proxy = self.trust.named_host(&request.headers, request.connection());
        of_proxy.or_else(|| request.host()).unwrap_or_default()
    }
}

/// Removes the cookies of logins from a request: handlers have no use for them, and may log them.
pub(crate) fn hide_cookies(headers: &mut Headers) {
    if !headers.get_all(KnownHeader::Cookie).any(has_own_cookies) {
        return;
    }
    let kept: Vec<_> = headers.get_all(KnownHeader::Cookie).filter_map(without_own_cookies).collect();
    headers.remove(KnownHeader::Cookie);
    for cookies in kept {
        // Received: always a valid field.
        let _ = headers.append(KnownHeader::Cookie, cookies);
    }
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

    use super::*;

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
