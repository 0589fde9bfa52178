//! Labels as wanted routes.

mod rule;
mod serow;
mod traefik;

use std::{collections::BTreeMap, fmt};

use crate::{
    container::Container,
    settings::{ContainerSettings, is_host_name},
};

/// A route that labels of a container ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedRoute {
    pub(crate) host: String,
    pub(crate) path: WantedPath,
    /// The port of the container, where the labels say it.
    pub(crate) port: Option<u16>,
    pub(crate) scheme: Scheme,
    pub(crate) weight: u16,
    /// The network whose address is used, where the labels say it.
    pub(crate) network: Option<String>,
    /// Whether the server does not get the prefix.
    pub(crate) strips_prefix: bool,
    /// Whether requests come while the health check has no result yet.
    pub(crate) takes_starting: bool,
    /// Whether its host needs a certificate.
    pub(crate) wants_certificate: bool,
    /// Other keys, which the settings allow.
    pub(crate) keys: BTreeMap<String, String>,
}

/// Which paths a route has; of two that fit, the longer one counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WantedPath {
    /// This one only.
    Exact(String),
    /// This one, without a slash at its end, and all below it; an empty one is all paths.
    Below(String),
}

/// How requests are sent to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scheme {
    #[default]
    Http,
    Https,
    H2c,
}

/// A label that is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RefusedLabel {
    pub(crate) label: String,
    pub(crate) reason: String,
}

/// The routes that the labels of a container ask for; what is refused is added to the list.
pub(crate) fn routes(
    container: &Container,
    settings: &ContainerSettings,
    refused: &mut Vec<RefusedLabel>,
) -> Vec<WantedRoute> {
    let mut routes = Vec::new();
    if container.labels.len() > MAX_LABELS {
        refused.push(RefusedLabel::new("", format!("it has more than {MAX_LABELS} labels")));
        return routes;
    }
    if settings.labels.serow {
        routes.extend(serow::routes(container, settings, refused));
    }
    if settings.labels.traefik {
        routes.extend(traefik::routes(container, settings, refused));
    }
    if routes.len() > MAX_ROUTES {
        refused.push(RefusedLabel::new("", format!("its labels ask for more than {MAX_ROUTES} routes")));
        routes.truncate(MAX_ROUTES);
    }
    routes
}

/// Whether labels may ask for routes at all.
pub(crate) fn are_of_routes(labels: &BTreeMap<String, String>) -> bool {
    labels.keys().any(|label| label.starts_with(serow::PREFIX) || label.starts_with(traefik::PREFIX))
}

impl WantedRoute {
    /// A route to a container without further labels.
    fn new(host: String, path: WantedPath) -> Self {
        Self {
            host,
            path,
            port: None,
            scheme: Scheme::Http,
            weight: 1,
            network: None,
            strips_prefix: false,
            takes_starting: false,
            wants_certificate: false,
            keys: BTreeMap::new(),
        }
    }
}

impl WantedPath {
    /// All paths below this one, with or without a slash at its end.
    ///
    /// # Errors
    ///
    /// It is not a path, or has letters that mean something in patterns.
    fn below(text: &str) -> Result<Self, String> {
        let path = text.strip_suffix("/*").unwrap_or(text).trim_end_matches('/');
        if !path.is_empty() {
            check_path(path)?;
        } else if !text.starts_with('/') {
            return Err(not_a_path(text));
        }
        Ok(Self::Below(path.to_owned()))
    }

    /// This path only.
    ///
    /// # Errors
    ///
    /// As for [`Self::below`].
    fn exact(text: &str) -> Result<Self, String> {
        check_path(text)?;
        Ok(Self::Exact(text.to_owned()))
    }
}

fn check_path(text: &str) -> Result<(), String> {
    // RFC 3986 §3.3, without the star, which is a pattern, and the dollar, which is a variable.
    let is_of_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!&'()+,;=:@".contains(&byte);
    let is_path = text.starts_with('/') && text.len() <= MAX_PATH && text.bytes().all(is_of_path);
    let has_dots = text.split('/').any(|segment| matches!(segment, "." | ".."));
    if is_path && !has_dots && !text.contains("//") { Ok(()) } else { Err(not_a_path(text)) }
}

fn not_a_path(text: &str) -> String {
    format!("{} is not a path: write one such as /api", shown(text))
}

/// A host in small letters, or a pattern such as `*.example.com`.
fn host(text: &str) -> Result<String, String> {
    let host = text.trim().to_ascii_lowercase();
    let host = host.strip_suffix('.').unwrap_or(&host);
    if is_host_name(host.strip_prefix("*.").unwrap_or(host)) {
        Ok(host.to_owned())
    } else {
        Err(format!("{} is not a host: write one such as shop.example or *.shop.example", shown(text)))
    }
}

fn port(text: &str) -> Result<u16, String> {
    let port = text.trim().parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| format!("{} is not a port: write a number such as 8080", shown(text)))
}

fn switch(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(format!("{} is neither true nor false", shown(text))),
    }
}

/// A text of a stranger for a message: its beginning, with control characters as escapes.
pub(crate) fn shown(text: &str) -> String {
    let end = text.char_indices().nth(MAX_SHOWN).map_or(text.len(), |(end, _)| end);
    format!("{:?}{}", &text[..end], if end < text.len() { "…" } else { "" })
}

impl RefusedLabel {
    pub(crate) fn new(label: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { label: label.into(), reason: reason.into() }
    }
}

impl Scheme {
    /// Before the address of a server; HTTP/1.1 without TLS is meant without one.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Http => "",
            Self::Https => "https://",
            Self::H2c => "h2c://",
        }
    }

    fn of(text: &str) -> Result<Self, String> {
        match text.trim() {
            "http" => Ok(Self::Http),
            "https" => Ok(Self::Https),
            "h2c" => Ok(Self::H2c),
            _ => Err(format!("{} is not a scheme: write http, https or h2c", shown(text))),
        }
    }
}

impl fmt::Display for RefusedLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.label.is_empty() { f.write_str(&self.reason) } else { write!(f, "{}: {}", self.label, self.reason) }
    }
}

/// Labels of a container: Docker has no limit, and each is looked at.
const MAX_LABELS: usize = 500;

/// Routes of a container: a rule with many alternatives has the product of their numbers.
const MAX_ROUTES: usize = 100;

/// Bytes of a path.
const MAX_PATH: usize = 500;

/// Letters of a label's value in a message.
const MAX_SHOWN: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_patterns_of_nothing() {
        for (text, expected) in [("/", ""), ("/*", ""), ("/api", "/api"), ("/api/", "/api"), ("/api/*", "/api")] {
            assert_eq!(WantedPath::below(text), Ok(WantedPath::Below(expected.to_owned())), "{text}");
        }
        let long = format!("/{}", "a".repeat(500));
        for text in ["", "api", "*", "/a*b", "/a b", "/a\nb", "/$host", "/a?b", "/ä", "/../a", "/a/..", "//a", &long] {
            assert!(WantedPath::below(text).is_err(), "{text}");
            assert!(WantedPath::exact(text).is_err(), "{text}");
        }
        assert_eq!(WantedPath::exact("/"), Ok(WantedPath::Exact("/".to_owned())));
    }

    #[test]
    fn hosts_are_names_or_patterns() {
        for (text, expected) in [(" Shop.Example. ", "shop.example"), ("*.a", "*.a"), ("localhost", "localhost")] {
            assert_eq!(host(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["", "*", "a b", "a/b", "a:80", "[::1]", "a\"b", "*.*", "ä.example", &"a.".repeat(200)] {
            assert!(host(text).is_err(), "{text}");
        }
    }

    #[test]
    fn texts_of_strangers_are_shown_on_one_short_line() {
        assert_eq!(shown("a\n\u{1b}[2J"), r#""a\n\u{1b}[2J""#);
        assert!(shown(&"ä".repeat(1000)).chars().count() < 100);
    }
}
