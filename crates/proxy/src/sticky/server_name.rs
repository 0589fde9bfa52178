//! How a server is called in a session cookie.

use std::fmt::Write;

use aws_lc_rs::digest::{SHA256, digest};

use crate::{server::Server, settings::StickyValue};

/// How a server is called in a session cookie: the same in all threads, after a restart, and by other proxies in front
/// of the same servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerName(String);

impl ServerName {
    pub(crate) fn of(server: &Server, value: StickyValue) -> Self {
        let plain = server.settings().id.as_deref().unwrap_or(server.name());
        Self(match value {
            StickyValue::Plain => escaped(plain),
            StickyValue::Hashed => hashed(plain),
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Whether a text looks like the name of a server as a digest.
pub(crate) fn is_digest(text: &[u8]) -> bool {
    text.len() == 2 * DIGEST_LENGTH && text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn hashed(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    digest.as_ref().iter().take(DIGEST_LENGTH).fold(String::new(), |mut name, byte| {
        // Writing to a text cannot fail.
        let _ = write!(name, "{byte:02x}");
        name
    })
}

/// Percent-encodes characters that are invalid in a value (RFC 6265 §4.1.1) or end the name.
fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut name, byte| {
        match byte {
            b'"' | b',' | b';' | b'\\' | b'%' | b'~' | ..=b' ' | 0x7f.. => {
                let _ = write!(name, "%{byte:02X}");
            }
            _ => name.push(char::from(byte)),
        }
        name
    })
}

/// The first 128 bits of SHA-256: two servers of one upstream never have the same, and the cookie stays as short
/// as Tengine's.
const DIGEST_LENGTH: usize = 16;
