//! As what a listing is written: a page or json.

use serow_message::{KnownHeader, Request, weight::weighted};

use super::query::parameter;
use crate::settings::Listing;

/// How a listing is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Html,
    Json,
}

impl Format {
    /// Returns the format of the settings; where they leave it to the client, that of `?format=`, or else the one that
    /// `Accept` prefers.
    pub(super) fn of(setting: Listing, request: &Request, query: &str) -> Self {
        match setting {
            Listing::Html => return Self::Html,
            Listing::Json => return Self::Json,
            Listing::Negotiated | Listing::Off => {}
        }
        match parameter(query, "format") {
            Some("json") => return Self::Json,
            Some("html") => return Self::Html,
            _ => {}
        }
        let quality = |wanted: &[u8]| {
            let members = request.headers.list(KnownHeader::Accept).map(weighted);
            members.filter(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, quality)| quality).max()
        };
        match (quality(b"application/json"), quality(b"text/html")) {
            (Some(json), html) if json > html.unwrap_or(0) => Self::Json,
            _ => Self::Html,
        }
    }

    /// The value of Content-Type.
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Json => "application/json",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        let cases = [
            ("/", "", Format::Html),
            ("/", "text/html, application/json;q=0.9", Format::Html),
            ("/", "application/json", Format::Json),
            ("/", "application/json, */*", Format::Json),
            ("/", "application/json;q=0", Format::Html),
            ("/", "*/*", Format::Html),
            ("/?format=json", "text/html", Format::Json),
            ("/?sort=name&format=html", "application/json", Format::Html),
            ("/?format=pdf", "application/json", Format::Json),
        ];
        for (target, accept, format) in cases {
            let mut request = Request::get(target);
            if !accept.is_empty() {
                request.headers.append(KnownHeader::Accept, accept).unwrap();
            }
            assert_eq!(
                Format::of(Listing::Negotiated, &request, request.target.query().unwrap_or_default()),
                format,
                "{target} {accept}"
            );
        }
    }
    #[test]
    fn the_settings_can_leave_no_choice() {
        for (setting, format) in [(Listing::Html, Format::Html), (Listing::Json, Format::Json)] {
            for query in ["", "format=json", "format=html"] {
                let mut request = Request::get("/");
                request.headers.append(KnownHeader::Accept, "application/json").unwrap();
                assert_eq!(Format::of(setting, &request, query), format, "{query}");
            }
        }
    }
}
