//! The settings: which labels count, and what they may set.

use std::{collections::BTreeSet, time::Duration};

/// How containers become routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerSettings {
    /// The network whose addresses are used; the only one of a container where there is none.
    pub network: Option<String>,
    /// Whether labels of Traefik count without `traefik.enable=true`.
    pub exposed_by_default: bool,
    /// Whose labels count.
    pub labels: LabelKinds,
    /// Which keys labels may set.
    pub allowed: AllowedKeys,
    /// The hosts that labels may claim; all that no site has where this is empty.
    pub hosts: Vec<HostPattern>,
    /// For how many hosts certificates are ordered.
    pub certificates: usize,
    /// How long a host without containers answers 503, before its route goes away.
    pub keep: Duration,
}

/// Whose labels count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelKinds {
    /// `serow.host` and the like.
    pub serow: bool,
    /// `traefik.http.routers.….rule` and the like.
    pub traefik: bool,
}

/// The keys of the settings file that labels may set, beside host, path and port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedKeys {
    /// Keys of `[[upstream]]`.
    pub upstream: BTreeSet<String>,
    /// Keys of `[[site.route]]`.
    pub route: BTreeSet<String>,
}

impl AllowedKeys {
    /// Whether labels may set this key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.upstream.contains(key) || self.route.contains(key)
    }
}

/// A host that labels may claim: `shop.example`, or `*.apps.example` for what is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern(Box<str>);

impl HostPattern {
    /// A pattern; nothing for a text that is none.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let host = text.to_ascii_lowercase();
        let name = host.strip_prefix("*.").unwrap_or(&host);
        (host == "*" || is_host_name(name)).then(|| Self(host.into()))
    }

    /// Whether a host, or another pattern, is one of its hosts.
    #[must_use]
    pub fn covers(&self, host: &str) -> bool {
        if &*self.0 == "*" {
            return true;
        }
        match self.0.strip_prefix('*') {
            // `*.a` covers `*.a` itself, `b.a` and `*.b.a`.
            Some(end) => host.len() > end.len() && host.ends_with(end),
            None => *self.0 == *host,
        }
    }
}

/// Whether a text is the name of a host (RFC 1123 §2.1, with underscores, which some have), in small letters.
pub(crate) fn is_host_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
        !label.is_empty() && label.len() <= 63 && !label.starts_with('-') && label.bytes().all(is_letter)
    };
    text.len() <= MAX_HOST && text.split('.').all(is_label)
}

/// Bytes of the name of a host (RFC 1035 §2.3.4), without the dot at its end.
const MAX_HOST: usize = 253;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cover_hosts_below_them() {
        let pattern = |text| HostPattern::new(text).unwrap();
        for (text, host, expected) in [
            ("shop.example", "shop.example", true),
            ("Shop.Example", "shop.example", true),
            ("shop.example", "a.shop.example", false),
            ("*.shop.example", "a.shop.example", true),
            ("*.shop.example", "a.b.shop.example", true),
            ("*.shop.example", "*.shop.example", true),
            ("*.shop.example", "*.a.shop.example", true),
            ("*.shop.example", "shop.example", false),
            ("*.shop.example", "ashop.example", false),
            ("*.a.shop.example", "*.shop.example", false),
            ("*", "a", true),
        ] {
            assert_eq!(pattern(text).covers(host), expected, "{text} {host}");
        }
        for text in ["", "a*", "*a", "*.*.a", "a/b", "a b", "a..b", "-a", "*."] {
            assert_eq!(HostPattern::new(text), None, "{text}");
        }
    }
}
