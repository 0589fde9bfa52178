//! Why a request got no response.

use std::{error::Error, fmt};

/// Why a request got no response: "host:port" and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchError {
    host: String,
    problem: String,
    is_untrusted: bool,
}

impl FetchError {
    pub(crate) fn new(host: String, Problem { text, is_untrusted }: Problem) -> Self {
        Self { host, problem: text, is_untrusted }
    }

    /// The server, as its URL names it.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The problem with the server, as in "cannot be reached: …".
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// Whether the server's certificate cannot be verified.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        self.is_untrusted
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.host, self.problem)
    }
}

impl Error for FetchError {}

/// A problem with a server, whose name is known from the request.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) text: String,
    pub(crate) is_untrusted: bool,
}

impl From<String> for Problem {
    fn from(text: String) -> Self {
        Self { text, is_untrusted: false }
    }
}
