//! The status of a redirect.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};

use super::{SettingValue, Unquoted, in_settings_file};

/// The status of a redirect (RFC 9110 §15.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedirectStatus(pub u16);

impl Default for RedirectStatus {
    /// A status that browsers do not keep, so that the redirect can be taken back.
    fn default() -> Self {
        Self(302)
    }
}

impl FromStr for RedirectStatus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let status = text.parse().ok().filter(|status| STATUSES.contains(status));
        status.map(Self).ok_or_else(|| format!("{text} is not the status of a redirect: write {}", Self::expected()))
    }
}

impl fmt::Display for RedirectStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl SettingValue for RedirectStatus {
    const UNQUOTED: Unquoted = Unquoted::OnlyNumbers;

    fn expected() -> String {
        "301, 302, 303, 307 or 308".to_owned()
    }

    fn schema() -> Value {
        json!({ "enum": STATUSES })
    }
}

in_settings_file!(RedirectStatus, "RedirectStatus");

/// Those with which browsers go on (300 and 304 are not redirects, 305 and 306 are no longer used).
const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses() {
        for (text, expected) in [("301", Some(301)), ("308", Some(308)), ("300", None), ("304", None), ("x", None)] {
            assert_eq!(text.parse().ok(), expected.map(RedirectStatus), "{text}");
        }
        assert_eq!(RedirectStatus::default().to_string().parse(), Ok(RedirectStatus(302)));
    }
}
