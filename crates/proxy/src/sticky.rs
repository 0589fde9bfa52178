//! Session cookies: a client stays with the server that it had first.

mod server_name;
mod session;
#[cfg(test)]
mod tests;

use std::{fmt::Write, sync::Arc};

use serow_gateway::cookies;
use serow_message::{Headers, KnownHeader, Scheme};

use self::server_name::ServerName;
pub(crate) use self::session::Session;
use crate::{
    server::Server,
    settings::{StickyMode, StickySettings, StickyValue},
};

/// The session cookies of an upstream, for the servers that it has now.
#[derive(Debug)]
pub(crate) struct Sticky {
    settings: StickySettings,
    /// The servers by their numbers.
    servers: Vec<(u64, ServerName)>,
    /// The attributes of a cookie that is set here.
    attributes: String,
}

impl Sticky {
    /// For these servers.
    pub(crate) fn new(settings: &StickySettings, servers: &[Arc<Server>]) -> Self {
        let named = |server: &Arc<Server>| (server.number(), ServerName::of(server, settings.value));
        Self {
            settings: settings.clone(),
            servers: servers.iter().map(named).collect(),
            attributes: attributes(settings),
        }
    }

    /// The number of the server that the request's cookie names. `None` without a cookie, and if that server is gone:
    /// its sessions are lost, so the client starts a new one, also without `fallback`.
    fn wanted(&self, headers: &Headers) -> Option<u64> {
        cookies::values(headers, &self.settings.cookie).find_map(|value| {
            let name = match self.settings.mode {
                StickyMode::Prefix => value.get(..value.iter().position(|&byte| byte == SEPARATOR)?)?,
                StickyMode::Insert | StickyMode::Rewrite => unquoted(value),
            };
            self.servers.iter().find(|(_, other)| other.as_bytes() == name).map(|(number, _)| *number)
        })
    }

    /// Whether a request that wants a server may go to another one.
    fn falls_back(&self) -> bool {
        self.settings.fallback
    }

    /// Removes the proxy's part of the cookie from a request.
    fn prepare(&self, headers: &mut Headers) {
        match self.settings.mode {
            StickyMode::Insert => cookies::remove(headers, &self.settings.cookie),
            StickyMode::Prefix => cookies::shorten(headers, &self.settings.cookie, |value| self.prefix_length(value)),
            StickyMode::Rewrite => {}
        }
    }

    /// Names the server in its response if necessary: to a client whose cookie named another server or none. A cookie
    /// that is set over TLS is `Secure`.
    fn finish(&self, headers: &mut Headers, server: &Server, came_with: Option<u64>, scheme: Scheme) {
        let known = self.servers.iter().find(|(number, _)| *number == server.number());
        let new;
        let name = match known {
            Some((_, name)) => name,
            // The servers have changed meanwhile.
            None => {
                new = ServerName::of(server, self.settings.value);
                &new
            }
        };
        match self.settings.mode {
            StickyMode::Insert if came_with == Some(server.number()) => {}
            StickyMode::Insert => self.insert(headers, name, scheme),
            StickyMode::Prefix => cookies::replace_set(headers, &self.settings.cookie, |value, output| {
                output.extend_from_slice(name.as_bytes());
                output.push(SEPARATOR);
                output.extend_from_slice(value);
            }),
            StickyMode::Rewrite => cookies::replace_set(headers, &self.settings.cookie, |_, output| {
                output.extend_from_slice(name.as_bytes());
            }),
        }
    }

    fn insert(&self, headers: &mut Headers, name: &ServerName, scheme: Scheme) {
        let secure = if scheme == Scheme::Https { "; Secure" } else { "" };
        let parts = [self.settings.cookie.as_str(), "=", name.as_str(), &self.attributes, secure];
        // Settings that no cookie can have are refused before; if not, there is none.
        let _ = headers.append(KnownHeader::SetCookie, parts.concat());
    }

    /// The length of the proxy's part of a value. The client may have received its value before there was a prefix; a
    /// digest is recognized by its form.
    fn prefix_length(&self, value: &[u8]) -> usize {
        let Some(end) = value.iter().position(|&byte| byte == SEPARATOR) else { return 0 };
        let is_name = self.settings.value == StickyValue::Plain || value.get(..end).is_some_and(server_name::is_digest);
        if is_name { end + 1 } else { 0 }
    }
}

/// Scripts have no business with it, and other sites neither, but links from there (RFC 6265bis §5.6.7).
fn attributes(settings: &StickySettings) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    if let Some(domain) = &settings.domain {
        let _ = write!(text, "; Domain={domain}");
    }
    if !settings.path.is_empty() {
        let _ = write!(text, "; Path={}", settings.path);
    }
    if let Some(max_age) = settings.max_age {
        let _ = write!(text, "; Max-Age={}", max_age.as_secs());
    }
    text + "; HttpOnly; SameSite=Lax"
}

/// RFC 6265 §4.1.1: a value may be quoted; the quotes are not part of it.
fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value)
}

/// Between the server's name and its own value; Tengine's and HAProxy's.
const SEPARATOR: u8 = b'~';
