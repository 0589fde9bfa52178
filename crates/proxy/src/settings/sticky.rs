//! Settings of session cookies.

use std::time::Duration;

/// Session cookies, as Tengine's `session_sticky` and nginx's `sticky cookie` have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StickySettings {
    /// The name of the cookie; `route`.
    pub cookie: String,
    /// How the cookie is set.
    pub mode: StickyMode,
    /// How servers are called in it.
    pub value: StickyValue,
    /// Its attribute Domain.
    pub domain: Option<String>,
    /// Its attribute Path; `/`.
    pub path: String,
    /// Its attribute Max-Age.
    pub max_age: Option<Duration>,
    /// Whether another server is used if the client's own cannot be; otherwise the response is 503.
    pub fallback: bool,
}

/// How the cookie is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StickyMode {
    /// The proxy; servers do not see it.
    #[default]
    Insert,
    /// The server; the proxy puts the server's name before its value, with `~` between.
    Prefix,
    /// The server; the proxy replaces its value.
    Rewrite,
}

/// How servers are called in the cookie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StickyValue {
    /// By a digest of the [`Self::Plain`] value. It hides addresses only superficially: anyone can compute the digests
    /// of all addresses of a network and compare. Where that matters, give the servers an `id`.
    #[default]
    Hashed,
    /// By their `id`, or their address.
    Plain,
}

impl Default for StickySettings {
    fn default() -> Self {
        Self {
            cookie: "route".to_owned(),
            mode: StickyMode::default(),
            value: StickyValue::default(),
            domain: None,
            path: "/".to_owned(),
            max_age: None,
            fallback: true,
        }
    }
}
