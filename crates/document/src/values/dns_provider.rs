//! The provider that changes DNS records: a program, or a name server that accepts updates (`rfc2136:192.0.2.1`); or
//! none, since they stay (`persist`).

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    str::FromStr,
};

use serde_json::{Value, json};

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError},
};

/// The provider that changes DNS records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DnsProviderRule {
    /// A program.
    Program(PathBuf),
    /// A name server.
    Update {
        /// Its name or address.
        host: String,
        /// Its port.
        port: u16,
    },
    /// None: the records were added once. Serow looks them up with this name server instead of those of the system.
    Persist(Option<SocketAddr>),
}

impl FromStr for DnsProviderRule {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text.is_empty() {
            return Err(ValueError::new(text, format!("not the path of a program: write one, or {EXAMPLE}")));
        }
        if text == PERSIST {
            return Ok(Self::Persist(None));
        }
        if let Some(server) = text.strip_prefix("persist:") {
            let parsed = parse_server(server).and_then(|(host, port)| Some((host.parse::<IpAddr>().ok()?, port)));
            let problem = "not the address of a name server: write persist, or as in persist:192.0.2.1";
            return Ok(Self::Persist(Some(parsed.ok_or_else(|| ValueError::new(text, problem))?.into())));
        }
        let Some(server) = text.strip_prefix(SCHEME) else { return Ok(Self::Program(text.into())) };
        let parsed = parse_server(server);
        let (host, port) = parsed.ok_or_else(|| {
            ValueError::new(text, format!("not a name server: write its name or address, as in {EXAMPLE}"))
        })?;
        Ok(Self::Update { host, port })
    }
}

/// The host and port.
fn parse_server(text: &str) -> Option<(String, u16)> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return (address.port() != 0).then(|| (address.ip().to_string(), address.port()));
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Some((address.to_string(), DNS_PORT));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, port.parse().ok().filter(|port| *port != 0)?),
        None => (text, DNS_PORT),
    };
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    host.split('.').all(is_label).then(|| (host.to_owned(), port))
}

impl fmt::Display for DnsProviderRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(path) => path.display().fmt(f),
            Self::Persist(None) => f.write_str(PERSIST),
            Self::Persist(Some(server)) if server.port() == DNS_PORT => write!(f, "{PERSIST}:{}", server.ip()),
            Self::Persist(Some(server)) => write!(f, "{PERSIST}:{server}"),
            Self::Update { host, port } if *port == DNS_PORT => write!(f, "{SCHEME}{host}"),
            Self::Update { host, port } if host.contains(':') => write!(f, "{SCHEME}[{host}]:{port}"),
            Self::Update { host, port } => write!(f, "{SCHEME}{host}:{port}"),
        }
    }
}

impl SettingValue for DnsProviderRule {
    fn expected() -> String {
        format!(r#"the path of a program, a name server, as in "{EXAMPLE}", or "{PERSIST}""#)
    }

    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1 })
    }
}

in_settings_file!(DnsProviderRule, "DnsProvider");

/// The prefix of a name server: the RFC of updates, as in other programs.
const SCHEME: &str = "rfc2136:";

const EXAMPLE: &str = "rfc2136:ns1.example.com";

/// The value for records that stay.
const PERSIST: &str = "persist";

/// RFC 1035 §4.2.
const DNS_PORT: u16 = 53;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_name_servers_are_parsed_or_refused() {
        for (text, shown, expected) in [
            ("rfc2136:192.0.2.1", "rfc2136:192.0.2.1", Some(("192.0.2.1", 53))),
            ("rfc2136:192.0.2.1:53", "rfc2136:192.0.2.1", Some(("192.0.2.1", 53))),
            ("rfc2136:ns1.example.com:5353", "rfc2136:ns1.example.com:5353", Some(("ns1.example.com", 5353))),
            ("rfc2136:localhost", "rfc2136:localhost", Some(("localhost", 53))),
            ("rfc2136:2001:db8::1", "rfc2136:2001:db8::1", Some(("2001:db8::1", 53))),
            ("rfc2136:[2001:db8::1]", "rfc2136:2001:db8::1", Some(("2001:db8::1", 53))),
            ("rfc2136:[::1]:5353", "rfc2136:[::1]:5353", Some(("::1", 5353))),
            ("dns-record", "dns-record", None),
            ("/usr/bin/a b", "/usr/bin/a b", None),
            ("persist", "persist", None),
            ("persist:192.0.2.1:53", "persist:192.0.2.1", None),
            ("persist:[::1]:5353", "persist:[::1]:5353", None),
            ("persist:::1", "persist:::1", None),
        ] {
            let rule: DnsProviderRule = text.parse().unwrap();
            assert_eq!(rule.to_string(), shown);
            let server = match &rule {
                DnsProviderRule::Program(_) | DnsProviderRule::Persist(_) => None,
                DnsProviderRule::Update { host, port } => Some((host.as_str(), *port)),
            };
            assert_eq!(server, expected, "{text}");
            assert_eq!(shown.parse(), Ok(rule));
        }
        for text in [
            "",
            "rfc2136:",
            "rfc2136::53",
            "rfc2136:a:0",
            "rfc2136:127.0.0.1:0",
            "rfc2136:a:b",
            "persist:",
            "persist:ns1.example.com",
            "rfc2136:a b",
            "rfc2136:a..b",
        ] {
            assert!(text.parse::<DnsProviderRule>().is_err(), "{text}");
        }
    }
}
