//! Where a Redis server is.

use std::{error::Error, fmt, str::FromStr};

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo};

/// A Redis server, as a URL names it: `redis://user:password@host:6379/0`, `rediss://` with TLS, or
/// `unix:///run/redis.sock?db=0`.
///
/// ```
/// use serow_acme::RedisAddress;
///
/// let address: RedisAddress = "redis://:secret@10.0.0.1".parse()?;
/// assert_eq!(address.name(), "10.0.0.1:6379");
/// assert!("http://10.0.0.1".parse::<RedisAddress>().is_err());
/// # Ok::<(), serow_acme::RedisAddressError>(())
/// ```
#[derive(Clone)]
pub struct RedisAddress {
    url: String,
    is_tls: bool,
    pub(super) information: ConnectionInfo,
}

/// The error for a text that is not the URL of a Redis server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisAddressError {
    problem: String,
}

impl RedisAddress {
    /// The URL, with its password.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether the connection is encrypted.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Host and port, or the path, without a password: for messages.
    #[must_use]
    pub fn name(&self) -> String {
        self.information.addr().to_string()
    }
}

impl FromStr for RedisAddress {
    type Err = RedisAddressError;

    fn from_str(text: &str) -> Result<Self, RedisAddressError> {
        let refuse = |problem: &str| RedisAddressError { problem: problem.to_owned() };
        if !SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
            return Err(refuse("write redis://HOST:PORT, rediss://HOST:PORT or unix:///PATH"));
        }
        // The crate's message would repeat the password.
        // Without its TLS, which would bring another implementation, the crate does not know the scheme.
        let plain = text.strip_prefix(TLS_SCHEME).map(|rest| format!("redis://{rest}"));
        let information = plain.as_deref().unwrap_or(text).into_connection_info();
        let information = information
            .map_err(|_| refuse("write redis://USER:PASSWORD@HOST:PORT/DATABASE or unix:///PATH?db=DATABASE"))?;
        if let ConnectionAddr::Unix(path) = information.addr()
            && !path.is_absolute()
        {
            return Err(refuse("write the whole path of the socket, as in unix:///run/redis/redis.sock"));
        }
        Ok(Self { url: text.to_owned(), is_tls: plain.is_some(), information })
    }
}

/// The schemes of the URLs.
const SCHEMES: [&str; 3] = ["redis://", TLS_SCHEME, "unix://"];
const TLS_SCHEME: &str = "rediss://";

impl PartialEq for RedisAddress {
    fn eq(&self, other: &Self) -> bool {
        self.url == other.url
    }
}

impl Eq for RedisAddress {}

impl fmt::Debug for RedisAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RedisAddress").field(&self.name()).finish()
    }
}

impl fmt::Display for RedisAddressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.problem)
    }
}

impl Error for RedisAddressError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed_or_refused_without_the_password() {
        for (url, expected) in [
            ("redis://10.0.0.1", Some("10.0.0.1:6379")),
            ("redis://user:pass@redis.internal:6380/3", Some("redis.internal:6380")),
            ("redis://[2001:db8::1]:1", Some("2001:db8::1:1")),
            ("unix:///run/redis.sock?db=2", Some("/run/redis.sock")),
            ("rediss://:pass@10.0.0.1", Some("10.0.0.1:6379")),
            ("rediss://", None),
            ("redis://", None),
            ("redis://0.0.0.0", None),
            ("redis://:pass@10.0.0.1/x", None),
            ("10.0.0.1:6379", None),
            ("", None),
        ] {
            let parsed = url.parse::<RedisAddress>();
            assert_eq!(parsed.as_ref().ok().map(RedisAddress::name).as_deref(), expected, "{url}");
            assert!(!format!("{parsed:?}").contains("pass@"), "{parsed:?}");
        }
    }
}
