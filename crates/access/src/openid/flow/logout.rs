//! The end of a session.

use serow_message::{KnownHeader, Method};

use super::{Flow, LoginRequest, LoginStep, with_query};
use crate::openid::{cookies::CookieKind, form, metadata::Metadata, pages::Reply};

impl Flow {
    /// GET shows a button, POST ends the session: a link or an image on another site does not.
    pub(super) fn logout(&self, request: &LoginRequest<'_>, now: u64) -> LoginStep {
        match *request.method {
            Method::GET | Method::HEAD => LoginStep::Replied(Reply::form("Log out", &self.settings.logout, "Log out")),
            Method::POST if !request.is_of_own_page() => {
                LoginStep::Replied(Reply::page(403, "Not logged out", "Another site has asked for this.", None))
            }
            Method::POST => {
                let remove = |kind| request.cookies().remove(request.cookie_fields(), kind);
                let cookies = [CookieKind::Session, CookieKind::Browser].into_iter().flat_map(remove).collect();
                LoginStep::LoggedOut(self.session(request, now).map(|(session, _)| Box::new(session)), cookies)
            }
            _ => LoginStep::Replied(Reply::status(405).with("allow", "GET, HEAD, POST")),
        }
    }

    /// Has the provider end its own session as well, if it can (OpenID Connect RP-Initiated Logout §2).
    pub(crate) fn logged_out(&self, cookies: Vec<String>, metadata: Option<&Metadata>) -> Reply {
        let reply = match metadata.and_then(|metadata| metadata.end_session.as_deref()) {
            Some(url) => {
                let mut parameters = vec![("client_id", &*self.settings.client_id)];
                let after = self.settings.after_logout.as_deref();
                parameters.extend(after.map(|url| ("post_logout_redirect_uri", url)));
                Reply::redirect(with_query(url, &form::encode(&parameters)))
            }
            None => Reply::page(
                200,
                "You are logged out",
                "Close the browser if others use it.",
                Some(("/", "Log in again")),
            ),
        };
        reply.with_cookies(cookies)
    }
}

impl LoginRequest<'_> {
    /// Whether a form of this site sends this request, as far as the browser says it. Without a word of it, the cookie
    /// does: browsers do not send it with forms of other sites (SameSite).
    fn is_of_own_page(&self) -> bool {
        if let Some(site) = self.headers.get("sec-fetch-site") {
            return matches!(site, b"same-origin" | b"none");
        }
        match self.headers.get(KnownHeader::Origin) {
            Some(origin) => origin.eq_ignore_ascii_case(self.url("").as_bytes()),
            None => self.cookies().find(self.cookie_fields(), CookieKind::Session).is_some(),
        }
    }
}
