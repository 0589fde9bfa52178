//! Rules that choose by path or ending: `'/assets/*=365d'`, `md=text/markdown`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};

use crate::{
    in_settings_file,
    values::{SettingValue, Span, ValueError, span},
};

/// `[PATTERN=]TIME`: how long what fits may be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpiresRule {
    /// Which paths it is for; all that have no other rule, where there is none.
    pub pattern: Option<String>,
    /// How long.
    pub span: Span,
}

/// `[PATTERN=]TEXT`: what Cache-Control says of what fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheControlRule {
    /// Which paths it is for; all that have no other rule, where there is none.
    pub pattern: Option<String>,
    /// The value of Cache-Control.
    pub directives: String,
}

/// `EXT=TYPE`: the media type of files with an ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaTypeRule {
    /// The ending, without its dot.
    pub ending: String,
    /// The value of Content-Type.
    pub media_type: String,
}

/// `FROM=TO`: a path served from the place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteRule {
    /// The pattern of the paths.
    pub from: String,
    /// The path to serve in their place.
    pub to: String,
}

impl FromStr for ExpiresRule {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        // No duration has a sign of equality, but a path may.
        match text.rsplit_once('=') {
            Some(("", _)) => Err(ValueError::new(text, "without a pattern: write it before the =, as in '*.css=24h'")),
            Some((pattern, span)) => Ok(Self { pattern: Some(pattern.to_owned()), span: span.parse()? }),
            None => Ok(Self { pattern: None, span: text.parse()? }),
        }
    }
}

impl FromStr for CacheControlRule {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        // `max-age=60` has a sign of equality too, but no directive has a name (a token, RFC 9111 §5.2) that looks like
        // a path: with a slash, a star or a dot.
        let (pattern, directives) = match text.split_once('=') {
            Some((pattern, directives)) if pattern.contains(['/', '*', '.']) => (Some(pattern.to_owned()), directives),
            _ => (None, text),
        };
        if directives.is_empty() {
            return Err(ValueError::new(text, "without directives: write them as in no-cache or '*.js=max-age=600'"));
        }
        Ok(Self { pattern, directives: directives.to_owned() })
    }
}

impl FromStr for MediaTypeRule {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (ending, media_type) = text.split_once('=').unwrap_or_default();
        let ending = ending.trim_start_matches('.');
        let is_type = media_type.split_once('/').is_some_and(|(kind, name)| !kind.is_empty() && !name.is_empty());
        if ending.is_empty() || ending.contains(['.', '/']) || !is_type {
            return Err(ValueError::new(text, "not an ending and its media type: write them as in md=text/markdown"));
        }
        Ok(Self { ending: ending.to_owned(), media_type: media_type.to_owned() })
    }
}

impl FromStr for RewriteRule {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.split_once('=') {
            Some((from, to)) if !from.is_empty() && to.starts_with('/') => {
                Ok(Self { from: from.to_owned(), to: to.to_owned() })
            }
            _ => Err(ValueError::new(text, "not a pattern and a path: write them as in '/icon/*=/static/*.png'")),
        }
    }
}

impl fmt::Display for ExpiresRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", before_sign(self.pattern.as_deref()), self.span)
    }
}

impl fmt::Display for CacheControlRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", before_sign(self.pattern.as_deref()), self.directives)
    }
}

impl fmt::Display for MediaTypeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.ending, self.media_type)
    }
}

impl fmt::Display for RewriteRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.from, self.to)
    }
}

fn before_sign(pattern: Option<&str>) -> String {
    pattern.map(|pattern| format!("{pattern}=")).unwrap_or_default()
}

impl SettingValue for ExpiresRule {
    fn expected() -> String {
        r#"a duration, or a pattern and a duration, as in "24h" or "*.css=30d""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": format!("^(.+=)?{}$", span::PATTERN) })
    }
}

impl SettingValue for CacheControlRule {
    fn expected() -> String {
        r#"directives, or a pattern and directives, as in "no-cache" or "*.js=max-age=600""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "." })
    }
}

impl SettingValue for MediaTypeRule {
    fn expected() -> String {
        r#"an ending and its media type, as in "md=text/markdown""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": r"^\.*[^./=]+=[^/]+/.+$" })
    }
}

impl SettingValue for RewriteRule {
    fn expected() -> String {
        r#"a pattern and a path, as in "/icon/*=/static/*.png""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[^=]+=/" })
    }
}

in_settings_file!(ExpiresRule, "ExpiresRule");
in_settings_file!(CacheControlRule, "CacheControlRule");
in_settings_file!(MediaTypeRule, "MediaTypeRule");
in_settings_file!(RewriteRule, "RewriteRule");

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn expires_are_parsed_or_refused() {
        let day = Span(Duration::from_secs(86_400));
        let cases = [
            ("24h", Some((None, day))),
            ("*.css=1d", Some((Some("*.css"), day))),
            ("/a=b/*=24h", Some((Some("/a=b/*"), day))),
            ("=24h", None),
            ("*.css=", None),
            ("*.css", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|(pattern, span)| ExpiresRule { pattern: pattern.map(str::to_owned), span });
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }

    #[test]
    fn cache_control_rules_are_parsed_or_refused() {
        let cases = [
            ("no-cache", Some((None, "no-cache"))),
            ("max-age=60", Some((None, "max-age=60"))),
            ("public, max-age=60, immutable", Some((None, "public, max-age=60, immutable"))),
            ("*.js=public, max-age=600", Some((Some("*.js"), "public, max-age=600"))),
            ("/assets/*=immutable", Some((Some("/assets/*"), "immutable"))),
            ("index.html=no-cache", Some((Some("index.html"), "no-cache"))),
            ("*.js=", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|(pattern, directives)| CacheControlRule {
                pattern: pattern.map(str::to_owned),
                directives: directives.to_owned(),
            });
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }

    #[test]
    fn media_types_are_parsed_or_refused() {
        let cases = [
            ("md=text/markdown", Some(("md", "text/markdown"))),
            (".md=text/markdown", Some(("md", "text/markdown"))),
            ("log=text/plain; charset=iso-8859-1", Some(("log", "text/plain; charset=iso-8859-1"))),
            ("md", None),
            ("=text/plain", None),
            ("md=text", None),
            ("md=/", None),
            ("tar.gz=a/b", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|(ending, media_type)| MediaTypeRule {
                ending: ending.to_owned(),
                media_type: media_type.to_owned(),
            });
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }

    #[test]
    fn rewrites_are_parsed_or_refused() {
        let cases = [
            ("/icon/*=/static/*.png", Some(("/icon/*", "/static/*.png"))),
            ("*.htm=/old/*.html", Some(("*.htm", "/old/*.html"))),
            ("/a=/b=c", Some(("/a", "/b=c"))),
            ("/a", None),
            ("/a=b", None),
            ("=/b", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|(from, to)| RewriteRule { from: from.to_owned(), to: to.to_owned() });
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }
}
