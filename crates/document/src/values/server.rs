//! Servers that answer for this one: `127.0.0.1:9000,weight=3,backup,max=100,id=a`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_message::{ServerAddress, ServerAddressError};

use crate::{
    in_settings_file,
    values::{Count, SettingValue, ValueError},
};

/// A server of an upstream, with its own parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRule {
    /// Its location and protocol.
    pub address: ServerAddress,
    /// Its share among the others: 1 by default.
    pub weight: u16,
    /// Whether it gets requests only if no other server can.
    pub backup: bool,
    /// Requests that it gets at a time; none: any number.
    pub max_requests: Option<u32>,
    /// Its name in session cookies, if they should not reveal its address.
    pub id: Option<String>,
}

/// Why a text is not a server.
#[derive(Debug)]
pub enum ServerRuleError {
    /// The part before the first comma is not an address.
    Address(ServerAddressError),
    /// A parameter after the address is invalid.
    Parameter(ValueError),
}

impl FromStr for ServerRule {
    type Err = ServerRuleError;

    fn from_str(text: &str) -> Result<Self, ServerRuleError> {
        if let Some(rule) = of_nginx(text) {
            let problem = format!("not a server: write \"{rule}\"");
            return Err(ServerRuleError::Parameter(ValueError::new(text, problem)));
        }
        let mut parts = text.split(',').map(str::trim);
        let address = parts.next().unwrap_or_default();
        // It would be read as a host, and is a port of this machine, as in `listen`.
        let is_port = !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_digit());
        let address = if is_port { format!("127.0.0.1:{address}") } else { address.to_owned() };
        let address = address.parse().map_err(ServerRuleError::Address)?;
        let mut server = Self { address, weight: 1, backup: false, max_requests: None, id: None };
        for word in parts {
            read_parameter(word, &mut server)
                .map_err(|problem| ServerRuleError::Parameter(ValueError::new(text, problem)))?;
        }
        Ok(server)
    }
}

/// A server as it is written here, where it is written as in nginx: with spaces between the parameters.
fn of_nginx(text: &str) -> Option<String> {
    let line = text.trim().trim_end_matches(';').trim_end();
    let words: Vec<_> = line.strip_prefix("server ").unwrap_or(line).split_whitespace().collect();
    let (address, parameters) = words.split_first()?;
    let is_parameter = |word: &&str| word.contains('=') || matches!(*word, "backup" | "down" | "resolve");
    let is_rule = text.trim() != words.concat() && !line.contains(',') && parameters.iter().all(is_parameter);
    let known = ["weight=", "backup"];
    let kept = parameters.iter().filter(|word| known.iter().any(|known| word.starts_with(known)));
    let rule = [address].into_iter().chain(kept).copied().collect::<Vec<_>>().join(",");
    let is_valid = || rule.parse::<ServerRule>().is_ok();
    (is_rule && is_valid()).then_some(rule)
}

/// Reads a parameter after the address.
fn read_parameter(word: &str, server: &mut ServerRule) -> Result<(), String> {
    match word.split_once('=').unwrap_or((word, "")) {
        ("backup", "") if word == "backup" => server.backup = true,
        ("weight", number) => {
            let weight = number.parse::<Weight>().map_err(|error| format!("not a server: weight {error}"))?;
            server.weight = u16::try_from(weight.get()).unwrap_or(u16::MAX);
        }
        ("max", number) => {
            let most = number.parse::<Most>().map_err(|error| format!("not a server: max {error}"))?;
            server.max_requests = Some(most.get());
        }
        ("id", id) if !id.is_empty() && id.bytes().all(is_id_byte) => server.id = Some(id.to_owned()),
        ("id", id) => return Err(format!("not a server: id {id:?} is to be letters, digits and any of . - _")),
        _ => {
            return Err(format!(
                "not a server: behind the address may stand weight=3, backup, max=100 and id=a, but not {word:?}"
            ));
        }
    }
    Ok(())
}

/// Whether a byte needs no quotes in a cookie, and does not separate the parts of one.
fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

/// The share of a server.
type Weight = Count<1, 65_535>;

/// How many requests a server gets at a time.
type Most = Count<1, 0xffff_ffff>;

impl fmt::Display for ServerRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, weight, backup, max_requests, id } = self;
        address.fmt(f)?;
        if *weight != 1 {
            write!(f, ",weight={weight}")?;
        }
        if *backup {
            f.write_str(",backup")?;
        }
        if let Some(most) = max_requests {
            write!(f, ",max={most}")?;
        }
        match id {
            Some(id) => write!(f, ",id={id}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ServerRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => error.fmt(f),
            Self::Parameter(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ServerRuleError {}

impl SettingValue for ServerRule {
    fn expected() -> String {
        r#"a server in quotes, as in "127.0.0.1:9000", "https://app" or "unix:/run/app.sock,weight=3""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[^,]+(, *(weight=[0-9]+|backup|max=[0-9]+|id=[A-Za-z0-9._-]+))*$" })
    }
}

in_settings_file!(ServerRule, "Server");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_parsed_or_refused() {
        for (text, expected) in [
            ("127.0.0.1:9000", "127.0.0.1:9000"),
            ("http://127.0.0.1:9000,weight=1", "127.0.0.1:9000"),
            ("9000", "127.0.0.1:9000"),
            ("unix:/run/a.sock, id=a.1, max=100, backup, weight=3", "unix:/run/a.sock,weight=3,backup,max=100,id=a.1"),
            ("https://app,weight=65535", "https://app:443,weight=65535"),
            ("h2c+unix:/run/a.sock", "h2c+unix:/run/a.sock"),
        ] {
            let server: ServerRule = text.parse().unwrap();
            assert_eq!(server.to_string(), expected);
            assert_eq!(expected.parse::<ServerRule>().unwrap(), server);
        }
        for (text, expected) in [
            ("", r#""" is no"#),
            ("a:1,weight=0", r#""a:1,weight=0" is not a server: weight "0" is not a whole number from 1 to 65535"#),
            ("a:1,max=x", r#""a:1,max=x" is not a server: max "x" is not a whole number"#),
            ("a:1,wieght=3", r#"may stand weight=3, backup, max=100 and id=a, but not "wieght=3""#),
            ("a:1,backup=yes", r#"but not "backup=yes""#),
            ("a:1,backup=", r#"but not "backup=""#),
            ("a:1,", r#"but not """#),
            ("a:1,id=", "is to be letters"),
            ("a:1,id=a~b", "is to be letters"),
            ("a:1/x", "a server address with a path"),
            ("server 127.0.0.1:9000 weight=2;", r#"is not a server: write "127.0.0.1:9000,weight=2""#),
            ("a:1 weight=3 max_fails=2 backup", r#"is not a server: write "a:1,weight=3,backup""#),
            ("unix:/run/app.sock;", r#"is not a server: write "unix:/run/app.sock""#),
            ("a b c", "not a server address"),
        ] {
            let error = text.parse::<ServerRule>().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
