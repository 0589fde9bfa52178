//! The names of one certificate: `example.com,www.example.com`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_message::CertificateName;

use crate::{
    in_settings_file,
    values::{SettingValue, ValueError},
};

/// The names of one certificate, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateNames(pub Vec<CertificateName>);

impl FromStr for CertificateNames {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let mut names = Vec::new();
        for part in text.split(',') {
            let name = part.trim().parse::<CertificateName>();
            let name = name
                .map_err(|error| ValueError::new(part, format!("not a name for a certificate: {}", error.problem())))?;
            if names.contains(&name) {
                return Err(ValueError::new(text, format!("a list with {name} twice: leave one out")));
            }
            names.push(name);
        }
        if names.len() > MAX_NAMES {
            return Err(ValueError::new(
                text,
                format!("more than {MAX_NAMES} names, the most that authorities put in one certificate: write several"),
            ));
        }
        Ok(Self(names))
    }
}

impl fmt::Display for CertificateNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, name) in self.0.iter().enumerate() {
            write!(f, "{}{name}", if number == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl SettingValue for CertificateNames {
    fn expected() -> String {
        r#"the names of a certificate, as in "example.com,www.example.com""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1 })
    }
}

in_settings_file!(CertificateNames, "CertificateNames");

/// Let's Encrypt's limit; others have the same or less.
const MAX_NAMES: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_names_are_parsed_or_refused() {
        for (text, expected) in [
            ("example.com", Ok("example.com")),
            ("Example.com, www.example.com", Ok("example.com,www.example.com")),
            ("192.0.2.1,2001:db8::1", Ok("192.0.2.1,2001:db8::1")),
            ("a.example,a.example", Err("twice")),
            ("a.example,", Err("labels")),
            ("bücher.example", Err("punycode")),
        ] {
            let parsed = text.parse::<CertificateNames>();
            match expected {
                Ok(expected) => assert_eq!(parsed.unwrap().to_string(), expected),
                Err(part) => assert!(parsed.unwrap_err().to_string().contains(part), "{text}"),
            }
        }
        let many: Vec<_> = (0..101).map(|number| format!("a{number}.example")).collect();
        assert!(many.join(",").parse::<CertificateNames>().unwrap_err().to_string().contains("more than 100"));
    }
}
