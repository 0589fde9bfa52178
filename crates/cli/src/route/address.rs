//! The host and the path of a route, as they are written on the command line.

use std::{fmt, str::FromStr};

use serow_admin::AddedFileName;
use serow_router::{HostPattern, PathPattern};

/// The host and the path of a route: `shop.example`, `*.example`, `shop.example/api`, `shop.example/img/*.png`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RouteAddress {
    host: String,
    path: String,
    file: AddedFileName,
}

impl RouteAddress {
    /// The host, as it is compared: in lower case, without a dot at the end.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The added file that the routes of the host are in.
    pub(crate) fn file(&self) -> &AddedFileName {
        &self.file
    }

    /// The patterns in the settings: a path without a star stands for itself, and everything below it.
    pub(super) fn patterns(&self) -> Vec<String> {
        match self.path.as_str() {
            "/" => vec!["/*".to_owned()],
            path if path.contains('*') => vec![path.to_owned()],
            path => vec![path.to_owned(), format!("{path}/*")],
        }
    }

    /// The prefix that the path of a folder lacks, if there is one.
    pub(super) fn has_prefix(&self) -> bool {
        match self.path.split_once('*') {
            None => self.path != "/",
            Some((before, "")) => before.ends_with('/') && before != "/",
            Some(_) => false,
        }
    }
}

/// The path that these patterns were made from; `None` if a user has written them.
pub(super) fn path_of(patterns: &[String]) -> Option<&str> {
    match patterns {
        [all] if all == "/*" => Some("/"),
        [one] if one.contains('*') => Some(one),
        [path, below] if below.strip_suffix("/*") == Some(path) && !path.contains('*') => Some(path),
        _ => None,
    }
}

/// The added file that the routes of a host are in.
fn file_of(host: &str) -> Result<AddedFileName, String> {
    let name = match host.strip_prefix("*.") {
        Some(parent) => format!("any.{parent}"),
        None => host.to_owned(),
    };
    let name = name.parse();
    name.map_err(|_| format!("{host} cannot name an added file: write its site into one, and use 'serow config put'"))
}

impl FromStr for RouteAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((scheme @ ("http" | "https"), rest)) = text.split_once("://") {
            return Err(format!(
                "{text:?}: a route is for requests over http and https: leave out {scheme}://, as in {rest}"
            ));
        }
        let (host, path) = text.split_at(text.find('/').unwrap_or(text.len()));
        let host: HostPattern = host.parse().map_err(|error| format!("{host:?}: {error}"))?;
        let host = host.to_string();
        let file = file_of(&host)?;
        let path = match path.trim_end_matches('/') {
            "" => "/",
            trimmed => trimmed,
        };
        let address = Self { host, path: path.to_owned(), file };
        for pattern in address.patterns() {
            pattern.parse::<PathPattern>().map_err(|error| format!("{path:?}: {error}"))?;
        }
        Ok(address)
    }
}

impl fmt::Display for RouteAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, path, .. } = self;
        f.write_str(host)?;
        if path == "/" { Ok(()) } else { f.write_str(path) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_paths_are_normalised() {
        for (text, shown, file, patterns) in [
            ("shop.example", "shop.example", "shop.example", &["/*"][..]),
            ("Shop.Example.", "shop.example", "shop.example", &["/*"]),
            ("shop.example/", "shop.example", "shop.example", &["/*"]),
            ("*.example", "*.example", "any.example", &["/*"]),
            ("192.0.2.1", "192.0.2.1", "192.0.2.1", &["/*"]),
            ("shop.example/api", "shop.example/api", "shop.example", &["/api", "/api/*"]),
            ("shop.example/api/", "shop.example/api", "shop.example", &["/api", "/api/*"]),
            ("shop.example/Api/v2", "shop.example/Api/v2", "shop.example", &["/Api/v2", "/Api/v2/*"]),
            ("shop.example/*", "shop.example/*", "shop.example", &["/*"]),
            ("shop.example/img/*.png", "shop.example/img/*.png", "shop.example", &["/img/*.png"]),
        ] {
            let address: RouteAddress = text.parse().unwrap();
            assert_eq!((address.to_string().as_str(), address.file().as_str()), (shown, file), "{text}");
            assert_eq!(address.patterns(), patterns, "{text}");
        }
    }

    #[test]
    fn hosts_with_ports_and_wrong_paths_are_refused() {
        for (text, part) in [
            ("shop.example:8080", "port"),
            ("shop.example:8080/api", "port"),
            ("http://shop.example/api", "as in shop.example/api"),
            ("", "empty"),
            ("/api", "empty"),
            ("*", "cannot name an added file"),
            ("[::1]", "cannot name an added file"),
            ("shop.*", "star"),
            ("shop.example/a?b", "query"),
            ("shop.example/a%20b", "decoded"),
            ("shop.example/a/../b", "/../"),
            ("shop.example/a//b", "//"),
        ] {
            let error = text.parse::<RouteAddress>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn paths_are_found_in_their_patterns() {
        for text in ["a.example", "a.example/api", "a.example/a/b", "a.example/*.png"] {
            let address: RouteAddress = text.parse().unwrap();
            assert_eq!(path_of(&address.patterns()), Some(address.path.as_str()), "{text}");
        }
        for patterns in [&["/a"][..], &["/a", "/b/*"], &["/a*", "/a*/*"], &["/a", "/a/*", "/b"], &[]] {
            let patterns: Vec<_> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
            assert_eq!(path_of(&patterns), None, "{patterns:?}");
        }
    }
}
