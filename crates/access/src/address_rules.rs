//! `allow` and `deny`.

use std::{fmt, net::IpAddr, path::Path, sync::Arc};

use serow_message::{Network, NetworkError, NetworkSet};

use crate::watched_file::{WatchedFile, WatchedFileError, WatchedFiles};

/// Which addresses may send requests: those in `allow`, or all without it; and none in `deny`.
#[derive(Clone, Debug, Default)]
pub struct AddressRules {
    allow: Option<AddressList>,
    deny: Option<AddressList>,
}

/// Networks of a list and of its files, without exceptions.
#[derive(Clone, Debug, Default)]
struct AddressList {
    networks: NetworkSet,
    files: Vec<Arc<WatchedFile<NetworkSet>>>,
    exceptions: NetworkSet,
}

/// Why an element of a list cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleError {
    /// It is nginx's word for all addresses.
    All,
    /// It is not a network.
    Network(NetworkError),
    /// Its file cannot be used.
    File(WatchedFileError),
}

impl AddressRules {
    /// Reads the lists: networks, `!` before one that is an exception, and `file:` before the path of a file with one
    /// network in each line. Paths are relative to `folder`. An empty list of networks allows no one.
    ///
    /// # Errors
    ///
    /// The list, the number of the element, and what is wrong with it.
    pub fn parse<T: AsRef<str>>(
        allow: Option<&[T]>,
        deny: Option<&[T]>,
        folder: &Path,
        files: &mut WatchedFiles,
    ) -> Result<Self, (&'static str, usize, RuleError)> {
        let mut list = |name, texts: Option<&[T]>| {
            let list = texts.map(|texts| AddressList::parse(texts, folder, files)).transpose();
            list.map_err(|(number, error)| (name, number, error))
        };
        Ok(Self { allow: list("allow", allow)?, deny: list("deny", deny)? })
    }

    /// Whether a client may send requests; `None` is one at a unix socket.
    #[must_use]
    pub fn allow(&self, client: Option<IpAddr>) -> bool {
        self.allow.as_ref().is_none_or(|list| list.contains(client))
            && !self.deny.as_ref().is_some_and(|list| list.contains(client))
    }
}

impl AddressList {
    fn parse<T: AsRef<str>>(
        texts: &[T],
        folder: &Path,
        watched: &mut WatchedFiles,
    ) -> Result<Self, (usize, RuleError)> {
        let (mut networks, mut exceptions, mut files) = (Vec::new(), Vec::new(), Vec::new());
        for (number, text) in texts.iter().enumerate() {
            let text = text.as_ref();
            if let Some(path) = text.strip_prefix("file:") {
                let file = WatchedFile::open(&folder.join(path), parse_file);
                let file = Arc::new(file.map_err(|error| (number, RuleError::File(error)))?);
                watched.add(Arc::clone(&file));
                files.push(file);
                continue;
            }
            let (list, text): (&mut Vec<Network>, _) = match text.strip_prefix('!') {
                Some(text) => (&mut exceptions, text),
                None => (&mut networks, text),
            };
            if text == "all" {
                return Err((number, RuleError::All));
            }
            list.push(text.parse().map_err(|error| (number, RuleError::Network(error)))?);
        }
        Ok(Self { networks: networks.into_iter().collect(), files, exceptions: exceptions.into_iter().collect() })
    }

    fn contains(&self, client: Option<IpAddr>) -> bool {
        let is_listed = self.networks.contains_client(client)
            || self.files.iter().any(|file| file.current().contains_client(client));
        is_listed && !self.exceptions.contains_client(client)
    }
}

fn parse_file(text: &str) -> Result<NetworkSet, String> {
    NetworkSet::parse(text).map_err(|(line, error)| format!("line {line}: {error}"))
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("not an address; for all addresses, write 0.0.0.0/0 and ::/0"),
            Self::Network(error) => write!(f, "{error}, or file: before the path of a file with networks"),
            Self::File(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RuleError {}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn addresses_are_allowed_and_denied() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("bad"), "198.51.100.0/24\n").unwrap();
        let client = |text: &str| (text != "unix").then(|| text.parse().unwrap());
        type List = Option<&'static [&'static str]>;
        type Case = (List, List, &'static [(&'static str, bool)]);
        let cases: [Case; 5] = [
            (None, None, &[("192.0.2.1", true), ("unix", true)]),
            (Some(&["10.0.0.0/8"]), None, &[("10.1.2.3", true), ("192.0.2.1", false), ("unix", false), ("::1", false)]),
            (None, Some(&["10.0.0.0/8", "!10.1.0.0/16"]), &[("10.2.0.0", false), ("10.1.0.1", true), ("unix", true)]),
            (
                Some(&["10.0.0.0/8", "unix"]),
                Some(&["10.1.0.0/16"]),
                &[("10.2.0.0", true), ("10.1.0.1", false), ("unix", true)],
            ),
            (
                None,
                Some(&["file:bad"]),
                &[("198.51.100.7", false), ("::ffff:198.51.100.7", false), ("192.0.2.1", true)],
            ),
        ];
        for (allow, deny, clients) in cases {
            let rules = AddressRules::parse(allow, deny, folder.path(), &mut WatchedFiles::default()).unwrap();
            for (address, expected) in clients {
                assert_eq!(rules.allow(client(address)), *expected, "{allow:?} {deny:?} {address}");
            }
        }
    }

    #[test]
    fn the_wrong_element_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("wrong"), "10.0.0.0/8\nexample.com\n").unwrap();
        for (deny, number, expected) in [
            (&["10.0.0.0/8", "example.com"][..], 1, "not an address"),
            (&["file:missing"], 0, "there is no such file"),
            (&["all"], 0, "for all addresses, write 0.0.0.0/0 and ::/0"),
            (&["file:wrong"], 0, "line 2: not an address"),
        ] {
            let rules = AddressRules::parse(None, Some(deny), folder.path(), &mut WatchedFiles::default());
            let (list, found, error) = rules.unwrap_err();
            assert_eq!((list, found), ("deny", number));
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
