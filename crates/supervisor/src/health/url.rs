//! What a new worker is asked: a URL.

use std::{error::Error, fmt, path::PathBuf, str::FromStr};

use serow_client::Origin;

/// The URL that a new worker has to answer with 200.
///
/// `{generation}` and `{pid}` stand for those of the worker: where old and new workers listen at one address, either may
/// be the one that answers, and the application can tell by that whether it is the one that is meant. A unix socket is
/// written as `http://unix:/run/app.sock:/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthUrl(String);

/// A question to one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) place: Place,
    /// With TLS, for this name.
    pub(crate) server_name: Option<String>,
    pub(crate) authority: String,
    pub(crate) path: String,
}

/// Where it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Tcp(String, u16),
    Unix(PathBuf),
}

impl HealthUrl {
    /// The question to this worker.
    pub(crate) fn question(&self, generation: u64, pid: u32) -> Result<Question, HealthUrlError> {
        let text = self.0.replace("{generation}", &generation.to_string()).replace("{pid}", &pid.to_string());
        if let Some(rest) = text.strip_prefix("http://unix:").or_else(|| text.strip_prefix("unix:")) {
            let (path, below) = rest.split_once(":/").unwrap_or((rest, ""));
            if path.is_empty() {
                return Err(HealthUrlError("the path of the unix socket is missing".to_owned()));
            }
            let (place, authority) = (Place::Unix(path.into()), "localhost".to_owned());
            return Ok(Question { place, server_name: None, authority, path: format!("/{below}") });
        }
        let (origin, path) = Origin::of_url(&text).map_err(|error| HealthUrlError(error.to_string()))?;
        let server_name = (origin.scheme_name() == "https").then(|| origin.host.clone());
        let authority = origin.authority();
        Ok(Question { place: Place::Tcp(origin.host, origin.port), server_name, authority, path })
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

/// A text that is no [`HealthUrl`].
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
        let tcp = |host: &str, port| Place::Tcp(host.to_owned(), port);
        let cases = [
            ("http://127.0.0.1:8080/health", Some((tcp("127.0.0.1", 8080), None, "127.0.0.1:8080", "/health"))),
            ("localhost:80", Some((tcp("localhost", 80), None, "localhost", "/"))),
            ("https://[::1]/a?g={generation}&p={pid}", Some((tcp("::1", 443), Some("::1"), "[::1]", "/a?g=3&p=99"))),
            (
                "http://unix:/run/a-{pid}.sock:/h?x",
                Some((Place::Unix("/run/a-99.sock".into()), None, "localhost", "/h?x")),
            ),
            ("unix:/run/a.sock", Some((Place::Unix("/run/a.sock".into()), None, "localhost", "/"))),
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
