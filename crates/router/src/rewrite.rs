//! The other path that a request goes on with.

use std::{fmt, str::FromStr};

use serow_message::Template;

use crate::path_pattern::{InvalidPath, check};

/// The path that a request goes on with: decoded, each `*` filled with what the `*` of the route's path stood for, in
/// order.
///
/// ```
/// use serow_router::RewriteTarget;
///
/// assert!("/static/*.png".parse::<RewriteTarget>().is_ok());
/// assert!("/static?name=*".parse::<RewriteTarget>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteTarget {
    text: String,
    template: Template,
}

impl RewriteTarget {
    pub(crate) fn fill(&self, captures: &[&[u8]]) -> Vec<u8> {
        self.template.fill(captures)
    }

    pub(crate) fn stars(&self) -> usize {
        self.template.stars()
    }
}

impl FromStr for RewriteTarget {
    type Err = InvalidPath;

    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        if !text.starts_with('/') {
            return Err(InvalidPath::WithoutSlash);
        }
        check(text)?;
        Ok(Self { text: text.to_owned(), template: Template::new(text) })
    }
}

impl fmt::Display for RewriteTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let cases = [
            ("/", None),
            ("/a/*.png", None),
            ("/*/*", None),
            ("", Some(InvalidPath::WithoutSlash)),
            ("*", Some(InvalidPath::WithoutSlash)),
            ("a", Some(InvalidPath::WithoutSlash)),
            ("/a?b", Some(InvalidPath::Query)),
            ("/a%20", Some(InvalidPath::Encoded)),
            ("/../a", Some(InvalidPath::NeverClean)),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<RewriteTarget>().err(), expected, "{text}");
        }
    }
}
