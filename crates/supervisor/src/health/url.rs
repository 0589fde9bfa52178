//! The URL of a health check.

use std::{error::Error, fmt, path::PathBuf, str::FromStr};

use serow_client::Origin;

/// The URL of the health check: a new worker has to respond with 200.
///
/// `{generation}` and `{pid}` stand for those of the worker: if old and new workers listen on one address, either may
/// get the request, and the application can tell from these whether the check is meant for it. A unix socket is written
/// as `http://unix:/run/app.sock:/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthUrl(String);

/// The health check of one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) place: CheckAddress,
    /// The server name for TLS; `None` without TLS.
    pub(crate) server_name: Option<String>,
    pub(crate) authority: String,
    pub(crate) path: String,
}

/// The address of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CheckAddress {
    Tcp(String, u16),
    Unix(PathBuf),
}

impl HealthUrl {
    /// The check of this worker.
    pub(crate) fn question(&self, generation: u64, pid: u32) -> Result<Question, HealthUrlError> {
        let text = self.0.replace("{generation}", &generation.to_string()).replace("{pid}", &pid.to_string());
        if let Some(rest) = text.strip_prefix("http://unix:").or_else(|| text.strip_prefix("unix:")) {
            let (path, below) = rest.split_once(":/").unwrap_or((rest, ""));
            if path.is_empty() {
                return Err(HealthUrlError("the path of the unix socket is missing".to_owned()));
            }
            let (place, authority) = (CheckAddress::Unix(path.into()), "localhost".to_owned());
            return Ok(Question { place, server_name: None, authority, path: format!("/{below}") });
        }
        let (origin, path) = Origin::of_url(&text).map_err(|error| HealthUrlError(error.to_string()))?;
        let server_name = (origin.scheme_name() == "https").then(|| origin.host.clone());
        let authority = origin.authority();
        Ok(Question { place: CheckAddress::Tcp(origin.host, origin.port), server_name, authority, path })
    }
}

impl FromStr for HealthUrl {
    type Err = HealthUrlError;

    fn from_str(text: &str) -> Result<Self, HealthUrlError> {
        let url = Self(text.to_owned());
        url.question(1, 1)?;
        Ok(url)
    }
}

/// The error for a text that is not a [`HealthUrl`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthUrlError(String);

impl fmt::Display for HealthUrlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for HealthUrlError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions() {
        let tcp = |host: &str, port| CheckAddress::Tcp(host.to_owned(), port);
        let cases = [
            ("http://127.0.0.1:8080/health", Some((tcp("127.0.0.1", 8080), None, "127.0.0.1:8080", "/health"))),
            ("localhost:80", Some((tcp("localhost", 80), None, "localhost", "/"))),
            ("https://[::1]/a?g={generation}&p={pid}", Some((tcp("::1", 443), Some("::1"), "[::1]", "/a?g=3&p=99"))),
            (
                "http://unix:/run/a-{pid}.sock:/h?x",
                Some((CheckAddress::Unix("/run/a-99.sock".into()), None, "localhost", "/h?x")),
            ),
            ("unix:/run/a.sock", Some((CheckAddress::Unix("/run/a.sock".into()), None, "localhost", "/"))),
            ("unix:", None),
            ("ftp://a/", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let found = text.parse::<HealthUrl>().and_then(|url| url.question(3, 99)).ok();
            let expected = expected.map(|(place, name, authority, path)| Question {
                place,
                server_name: name.map(str::to_owned),
                authority: authority.to_owned(),
                path: path.to_owned(),
            });
            assert_eq!(found, expected, "{text}");
        }
    }
}
