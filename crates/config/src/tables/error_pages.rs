//! Error pages that routes make, as they are written.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::values::{Expandable, SettingValue, Unquoted, in_settings_file};

/// An error page that a route makes.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ErrorPageTable {
    /// Name of the routes of the site that make the page: they get the request of the client, without its body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,

    /// Path whose routes make the page, with GET: "/errors/502". Variables can be a part of it, and a query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,

    /// Status in place of that of the error: a number, or route for that of the page [default: that of the error]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<PageStatusChoice>,
}

impl Expandable for ErrorPageTable {
    const EXPECTED: &'static str = r#"a file, as in "404.html", or a table, as in { route = "missing" } or { path = "/errors/404", status = 200 }"#;
}

/// The status of an error page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageStatusChoice {
    /// That of the page.
    Route,
    /// This one.
    Fixed(u16),
}

impl FromStr for PageStatusChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let status = text.parse::<u16>().ok().filter(|status| (200..600).contains(status) && !EMPTY.contains(status));
        match (text, status) {
            ("route", _) => Ok(Self::Route),
            (_, Some(status)) => Ok(Self::Fixed(status)),
            _ => Err(format!("{text:?} is not the status of a page: write {}", Self::expected())),
        }
    }
}

impl fmt::Display for PageStatusChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Route => f.write_str("route"),
            Self::Fixed(status) => status.fmt(f),
        }
    }
}

impl SettingValue for PageStatusChoice {
    const UNQUOTED: Unquoted = Unquoted::Numbers;

    fn expected() -> String {
        r#"a status from 200 to 599 that has a content, or "route" for that of the page"#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

in_settings_file!(PageStatusChoice, "PageStatus");

/// Statuses without content (RFC 9110 §15.3.5, §15.3.6, §15.4.5).
const EMPTY: [u16; 3] = [204, 205, 304];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses() {
        for (text, expected) in [
            ("route", Some(PageStatusChoice::Route)),
            ("200", Some(PageStatusChoice::Fixed(200))),
            ("599", Some(PageStatusChoice::Fixed(599))),
            ("204", None),
            ("304", None),
            ("101", None),
            ("600", None),
            ("", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }
}
