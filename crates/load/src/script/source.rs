//! The text of a script, and what the command line says beside it.

use std::{fs, net::SocketAddr, path::Path, sync::Arc};

use bytes::Bytes;

use super::ScriptError;

/// The text of a script; clones share it.
#[derive(Clone, Debug)]
pub struct Script {
    name: Arc<str>,
    text: Arc<[u8]>,
}

/// The values of the command line: the global table `wrk` at the beginning, and the arguments of `init`.
#[derive(Clone, Debug)]
pub struct ScriptTarget {
    /// The whole URL as it was written: `args[0]`.
    pub url: String,
    /// `http` or `https`.
    pub scheme: String,
    /// The host of the URL; an IPv6 address without its brackets.
    pub host: String,
    /// The port or the name of a service, if the URL has one.
    pub port: Option<String>,
    /// Path and query, from the slash on.
    pub path: String,
    /// The method of requests that say nothing else.
    pub method: String,
    /// The fields of requests that say nothing else; of several with the same name the last counts.
    pub headers: Vec<(String, String)>,
    /// The body of requests that say nothing else.
    pub body: Option<Bytes>,
    /// The arguments behind the URL: `args[1]` and so on.
    pub arguments: Vec<String>,
    /// The address of connections unless the script sets another; `None` if it is not a TCP address.
    pub address: Option<SocketAddr>,
}

impl Script {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read. Errors inside are found when the script is loaded.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        match fs::read(path) {
            Ok(text) => Ok(Self::new(&path.to_string_lossy(), text)),
            Err(error) => Err(ScriptError::new(format_args!("cannot read the script {}: {error}", path.display()))),
        }
    }

    /// A script by its text; the name stands in messages.
    #[must_use]
    pub fn new(name: &str, text: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), text: text.into().into() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }
}
