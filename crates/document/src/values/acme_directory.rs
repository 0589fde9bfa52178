//! The directory of a certificate authority: a URL, or a name for one of Let's Encrypt's.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_message::Origin;

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError},
};

/// The directory of a certificate authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcmeDirectory {
    /// Let's Encrypt.
    LetsEncrypt,
    /// Let's Encrypt's authority for tests.
    Staging,
    /// Any other.
    Url(String),
}

impl AcmeDirectory {
    /// Its URL.
    pub fn url(&self) -> &str {
        match self {
            Self::LetsEncrypt => "https://acme-v02.api.letsencrypt.org/directory",
            Self::Staging => "https://acme-staging-v02.api.letsencrypt.org/directory",
            Self::Url(url) => url,
        }
    }
}

impl FromStr for AcmeDirectory {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "letsencrypt" => Ok(Self::LetsEncrypt),
            "staging" => Ok(Self::Staging),
            // RFC 8555 §6.1: only with TLS.
            url if url.starts_with("https://") && Origin::of_url(url).is_ok() => Ok(Self::Url(url.to_owned())),
            _ => Err(ValueError::new(
                text,
                "not the directory of an authority: write letsencrypt, staging or a URL with https://",
            )),
        }
    }
}

impl fmt::Display for AcmeDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LetsEncrypt => "letsencrypt",
            Self::Staging => "staging",
            Self::Url(url) => url,
        })
    }
}

impl SettingValue for AcmeDirectory {
    fn expected() -> String {
        r#""letsencrypt", "staging" or a URL, as in "https://ca.example/acme/directory""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^(letsencrypt|staging|https://.+)$" })
    }
}

in_settings_file!(AcmeDirectory, "AcmeDirectory");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_parsed_or_refused() {
        for text in ["letsencrypt", "staging", "https://127.0.0.1:14000/dir"] {
            assert_eq!(text.parse::<AcmeDirectory>().unwrap().to_string(), text);
        }
        for text in ["", "http://ca.example/", "https://", "ca.example", "production"] {
            assert!(text.parse::<AcmeDirectory>().is_err(), "{text}");
        }
    }
}
