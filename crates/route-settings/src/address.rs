//! The host and the path of a route.

use std::{fmt, str::FromStr};

use serow_config::AddedFileName;
use serow_router::{HostPattern, PathPattern};

use super::target::RouteTarget;

/// The host and the path of a route: `shop.example`, `*.example`, `shop.example/api`, `shop.example/img/*.png`. A path
/// without a star stands for itself and everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteAddress {
    host: String,
    path: String,
    file: AddedFileName,
}

impl RouteAddress {
    /// The host, as it is compared: in lower case, without a dot at the end.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The added file that the routes of the host are in.
    #[must_use]
    pub fn file(&self) -> &AddedFileName {
        &self.file
    }

    /// The patterns of a route with this target: a path without a star stands for itself, and everything below it.
    pub(super) fn patterns(&self, target: &RouteTarget) -> Vec<String> {
        match (target, self.has_prefix()) {
            // `strip-prefix` needs a single path.
            (RouteTarget::Files(_), true) => vec![self.below()],
            _ => self.all_patterns(),
        }
    }

    /// Whether these are the patterns of the route, for any target.
    pub(super) fn is_for(&self, patterns: &[String]) -> bool {
        let own = self.all_patterns();
        let is_same = patterns.len() == own.len() && own.iter().all(|pattern| patterns.contains(pattern));
        is_same || self.has_prefix() && patterns == [self.below()]
    }

    /// Whether a folder appears below the path.
    pub(super) fn has_prefix(&self) -> bool {
        self.path != "/" && !self.path.contains('*')
    }

    fn all_patterns(&self) -> Vec<String> {
        match (self.has_prefix(), self.path.as_str()) {
            (true, path) => vec![path.to_owned(), self.below()],
            (false, "/") => vec!["/*".to_owned()],
            (false, path) => vec![path.to_owned()],
        }
    }

    fn below(&self) -> String {
        format!("{}/*", self.path)
    }
}

/// The path that these patterns were made from; `None` if a user has written them.
pub(super) fn path_of(patterns: &[String]) -> Option<&str> {
    match patterns {
        [one] => match one.strip_suffix("/*") {
            Some("") => Some("/"),
            Some(path) if !path.contains('*') => Some(path),
            _ => Some(one.as_str()).filter(|one| one.contains('*')),
        },
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
        let path =
            match path.strip_suffix("/*").filter(|path| !path.contains('*')).unwrap_or(path).trim_end_matches('/') {
                "" => "/",
                trimmed => trimmed,
            };
        let address = Self { host, path: path.to_owned(), file };
        for pattern in address.all_patterns() {
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
            ("shop.example/*", "shop.example", "shop.example", &["/*"]),
            ("shop.example/api/*", "shop.example/api", "shop.example", &["/api", "/api/*"]),
            ("shop.example/img/*.png", "shop.example/img/*.png", "shop.example", &["/img/*.png"]),
        ] {
            let address: RouteAddress = text.parse().unwrap();
            assert_eq!((address.to_string().as_str(), address.file().as_str()), (shown, file), "{text}");
            assert_eq!(address.all_patterns(), patterns, "{text}");
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
            assert_eq!(path_of(&address.all_patterns()), Some(address.path.as_str()), "{text}");
        }
        assert_eq!(path_of(&["/docs/*".to_owned()]), Some("/docs"));
        for patterns in [&["/a"][..], &["/a", "/b/*"], &["/a*", "/a*/*"], &["/a", "/a/*", "/b"], &[]] {
            let patterns: Vec<_> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
            assert_eq!(path_of(&patterns), None, "{patterns:?}");
        }
    }
}
