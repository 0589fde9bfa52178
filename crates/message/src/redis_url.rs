//! Where Redis is, as URLs name it.

use std::{
    borrow::ToOwned,
    error::Error,
    fmt,
    path::PathBuf,
    str::FromStr,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use crate::percent;

/// Where Redis is: `redis://user:password@host:6379/0`, `rediss://` with TLS, `unix:///run/redis.sock`, or
/// `redis+sentinel://host:26379,host:26379/name` for the primary that sentinels name.
///
/// Neither `Debug` nor `Display` nor an error shows the password.
///
/// ```
/// use serow_message::RedisUrl;
///
/// let url: RedisUrl = "redis+sentinel://:secret@10.0.0.1,10.0.0.2:26380/main".parse()?;
/// assert_eq!(url.to_string(), "redis+sentinel://10.0.0.1:26379,10.0.0.2:26380/main");
/// assert!("http://10.0.0.1".parse::<RedisUrl>().is_err());
/// # Ok::<(), serow_message::RedisUrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl {
    /// As it is written, with its password.
    text: String,
    /// Where it is: one place, or those of the sentinels.
    pub places: Vec<RedisPlace>,
    /// The name of the primary, where the places are sentinels.
    pub primary: Option<String>,
    /// Whether connections are encrypted.
    pub is_tls: bool,
    /// The user; `None` for the default one.
    pub username: Option<String>,
    /// Its password.
    pub password: Option<String>,
    /// The number of the database.
    pub database: u16,
}

/// A server to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedisPlace {
    /// A host and a port.
    Tcp(String, u16),
    /// A unix socket.
    Unix(PathBuf),
}

/// The error for a text that is not the URL of Redis: what is wrong and how to write it, without the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisUrlError {
    problem: &'static str,
}

impl RedisUrl {
    /// The URL as it is written, with its password.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the connection is encrypted.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Whether it names sentinels.
    #[must_use]
    pub fn is_sentinel(&self) -> bool {
        self.primary.is_some()
    }

    /// Whether it can be a node of a cluster: one host, and the only database that clusters have.
    #[must_use]
    pub fn can_be_cluster_node(&self) -> bool {
        self.primary.is_none() && self.database == 0 && matches!(self.places[..], [RedisPlace::Tcp(..)])
    }

    fn of_socket(text: &str, rest: &str) -> Result<Self, RedisUrlError> {
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        if !path.starts_with('/') {
            return Err(RedisUrlError { problem: EXPECTED });
        }
        let database = match query {
            "" => 0,
            query => database(query.strip_prefix("db=").ok_or(RedisUrlError { problem: EXPECTED })?)?,
        };
        let places = vec![RedisPlace::Unix(decoded(path)?.into())];
        Ok(Self {
            text: text.to_owned(),
            places,
            primary: None,
            is_tls: false,
            username: None,
            password: None,
            database,
        })
    }
}

impl FromStr for RedisUrl {
    type Err = RedisUrlError;

    fn from_str(text: &str) -> Result<Self, RedisUrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(RedisUrlError { problem: EXPECTED })?;
        let (is_tls, is_sentinel) = match scheme {
            "redis" => (false, false),
            "rediss" => (true, false),
            "redis+sentinel" => (false, true),
            "rediss+sentinel" => (true, true),
            "unix" => return Self::of_socket(text, rest),
            _ => return Err(RedisUrlError { problem: EXPECTED }),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // A password may contain an @ that is not written as %40.
        let (user, hosts) = authority.rsplit_once('@').map_or((None, authority), |(user, hosts)| (Some(user), hosts));
        let (username, password) = match user.map(|user| user.split_once(':').unwrap_or(("", user))) {
            None => (None, None),
            Some((username, password)) => (Some(decoded(username)?), Some(decoded(password)?)),
        };
        let (primary, number) = match path.split_once('/') {
            _ if !is_sentinel => (None, path),
            None => (Some(decoded(path)?), ""),
            Some((primary, number)) => (Some(decoded(primary)?), number),
        };
        if primary.as_ref().is_some_and(String::is_empty) {
            return Err(RedisUrlError {
                problem: "name the primary, as in redis+sentinel://HOST:26379,HOST:26379/NAME",
            });
        }
        let port = if is_sentinel { 26379 } else { 6379 };
        let hosts: Vec<&str> = hosts.split(',').collect();
        if hosts.len() > 1 && !is_sentinel {
            return Err(RedisUrlError {
                problem: "several hosts are for sentinels; of a cluster, write a list of URLs",
            });
        }
        let places = hosts.into_iter().map(|host| node(host, port)).collect::<Result<_, _>>()?;
        let username = username.filter(|name| !name.is_empty());
        let database = if number.is_empty() { 0 } else { database(number)? };
        Ok(Self { text: text.to_owned(), places, primary, is_tls, username, password, database })
    }
}

fn node(text: &str, port: u16) -> Result<RedisPlace, RedisUrlError> {
    let refuse = RedisUrlError { problem: "a host or port is invalid: write HOST:PORT, and [ADDRESS]:PORT for IPv6" };
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']').ok_or(refuse.clone())? {
            (host, "") => (host, port),
            (host, rest) => (host, rest.strip_prefix(':').and_then(|port| port.parse().ok()).ok_or(refuse.clone())?),
        },
        None => match text.split_once(':') {
            None => (text, port),
            Some((host, port)) => (host, port.parse().map_err(|_| refuse.clone())?),
        },
    };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    if host.is_empty() || !host.bytes().all(is_host) || port == 0 {
        return Err(refuse);
    }
    Ok(RedisPlace::Tcp(host.to_owned(), port))
}

fn database(text: &str) -> Result<u16, RedisUrlError> {
    text.parse()
        .map_err(|_| RedisUrlError { problem: "the database is invalid: write a number, as in redis://HOST:6379/0" })
}

fn decoded(text: &str) -> Result<String, RedisUrlError> {
    let bytes: Result<Vec<u8>, _> =
        percent::decode(text.as_bytes()).map(|octet| octet.map(percent::Octet::byte)).collect();
    let bytes = bytes.map_err(|_| RedisUrlError { problem: "a % is not followed by two digits: write it as %25" })?;
    String::from_utf8(bytes).map_err(|_| RedisUrlError { problem: "it is not UTF-8" })
}

impl fmt::Display for RedisPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match (&self.places[..], self.is_tls) {
            ([RedisPlace::Unix(_)], _) => "unix",
            (_, true) => "rediss",
            (_, false) => "redis",
        };
        let places: Vec<String> = self.places.iter().map(ToString::to_string).collect();
        let sentinel = if self.primary.is_some() { "+sentinel" } else { "" };
        write!(f, "{scheme}{sentinel}://{}", places.join(","))?;
        self.primary.iter().try_for_each(|name| write!(f, "/{name}"))
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedisUrl").field(&self.to_string()).finish()
    }
}

impl fmt::Display for RedisUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.problem)
    }
}

impl Error for RedisUrlError {}

const EXPECTED: &str =
    "write redis://HOST:PORT, rediss://HOST:PORT, redis+sentinel://HOST:PORT,HOST:PORT/NAME or unix:///PATH";

#[cfg(test)]
mod tests {
    use std::format;

    use super::*;

    #[test]
    fn urls_are_parsed_or_refused_without_the_password() {
        for (text, expected) in [
            ("redis://10.0.0.1", Some("redis://10.0.0.1:6379")),
            ("redis://user:se%40cret@redis.internal:6380/3", Some("redis://redis.internal:6380")),
            ("redis://user:se@cret@redis.internal:6380", Some("redis://redis.internal:6380")),
            ("redis://:secret@[2001:db8::1]:1", Some("redis://[2001:db8::1]:1")),
            ("redis://secret@10.0.0.1", Some("redis://10.0.0.1:6379")),
            ("rediss://10.0.0.1/", Some("rediss://10.0.0.1:6379")),
            ("unix:///run/redis.sock?db=2", Some("unix:///run/redis.sock")),
            ("redis+sentinel://a,b:1,[::1]/main", Some("redis+sentinel://a:26379,b:1,[::1]:26379/main")),
            ("rediss+sentinel://u:secret@a/main/4", Some("rediss+sentinel://a:26379/main")),
            ("redis+sentinel://a,b", None),
            ("redis://a,b", None),
            ("redis://:secret@", None),
            ("redis://:secret@a:x", None),
            ("redis://:secret@a:0", None),
            ("redis://:secret@a b", None),
            ("redis://:secret@a/x", None),
            ("redis://:secret%ff@a", None),
            ("unix://redis.sock", None),
            ("http://10.0.0.1", None),
            ("10.0.0.1:6379", None),
            ("", None),
        ] {
            let parsed = text.parse::<RedisUrl>();
            assert_eq!(parsed.as_ref().ok().map(ToString::to_string).as_deref(), expected, "{text}");
            assert!(!format!("{parsed:?}").contains("cret"), "{parsed:?}");
        }
        let url: RedisUrl = "redis://user:se%40cret@a/3".parse().unwrap();
        assert_eq!(
            (url.username.as_deref(), url.password.as_deref(), url.database),
            (Some("user"), Some("se@cret"), 3)
        );
        let url: RedisUrl = "redis://secret@a".parse().unwrap();
        assert_eq!((url.username, url.password.as_deref()), (None, Some("secret")));
    }
}
