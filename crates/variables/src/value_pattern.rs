//! Patterns of values: of fields, cookies, arguments, and whatever a map looks up.

use std::fmt;

use crate::expression::{Expression, InvalidExpression};

/// A pattern of a value.
///
/// `*` stands for any text; `~` begins a regular expression, `~*` one that ignores case, and `!` a pattern that must
/// not match. A value that is missing matches `""` only, as one that is empty does; so `*` means that there is a value,
/// and `!*` that there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuePattern {
    text: Box<str>,
    is_negated: bool,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// This text; nothing, if it is empty.
    Exact(Box<[u8]>, Letters),
    /// Any.
    Any,
    Expression(Expression),
}

/// How letters are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// Case matters.
    Exact,
    /// Case does not matter, as in most fields and in nginx's maps.
    AnyCase,
}

impl ValuePattern {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// An invalid regular expression.
    pub fn parse(text: &str, letters: Letters) -> Result<Self, InvalidExpression> {
        let (is_negated, pattern) = text.strip_prefix('!').map_or((false, text), |pattern| (true, pattern));
        let kind = if pattern == "*" {
            Kind::Any
        } else if let Some(expression) = pattern.strip_prefix("~*") {
            Kind::Expression(Expression::ignoring_case(expression.trim_start())?)
        } else if let Some(expression) = pattern.strip_prefix('~') {
            Kind::Expression(expression.trim_start().parse()?)
        } else if pattern.contains('*') {
            Kind::Expression(of_stars(pattern, letters)?)
        } else {
            Kind::Exact(pattern.as_bytes().into(), letters)
        };
        Ok(Self { text: text.into(), is_negated, kind })
    }

    /// The text that it is compared with, if there is nothing else to it.
    #[must_use]
    pub fn exact(&self) -> Option<&[u8]> {
        match &self.kind {
            Kind::Exact(text, _) if !self.is_negated => Some(text),
            _ => None,
        }
    }

    /// Whether a value, or none, matches.
    #[must_use]
    #[inline]
    pub fn matches(&self, value: Option<&[u8]>) -> bool {
        self.fits(value) != self.is_negated
    }

    fn fits(&self, value: Option<&[u8]>) -> bool {
        match (&self.kind, value) {
            (Kind::Exact(text, _), None) => text.is_empty(),
            (Kind::Exact(text, Letters::Exact), Some(value)) => **text == *value,
            (Kind::Exact(text, Letters::AnyCase), Some(value)) => text.eq_ignore_ascii_case(value),
            (Kind::Any, value) => value.is_some(),
            (Kind::Expression(_), None) => false,
            (Kind::Expression(expression), Some(value)) => expression.matches(value),
        }
    }
}

impl fmt::Display for ValuePattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The expression of a text in which stars stand for any text.
fn of_stars(text: &str, letters: Letters) -> Result<Expression, InvalidExpression> {
    let pieces: Vec<_> = text.split('*').map(regex::escape).collect();
    let expression = format!("^{}$", pieces.join(".*"));
    match letters {
        Letters::Exact => expression.parse(),
        Letters::AnyCase => Expression::ignoring_case(&expression),
    }
}

/// Patterns of one value: one of them must match, and none of those with `!` may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValuePatterns {
    patterns: Box<[ValuePattern]>,
}

impl ValuePatterns {
    /// Reads patterns.
    ///
    /// # Errors
    ///
    /// An invalid one: its number, and what is wrong with it.
    pub fn parse<T: AsRef<str>>(texts: &[T], letters: Letters) -> Result<Self, (usize, InvalidExpression)> {
        let parse =
            |(number, text): (usize, &T)| ValuePattern::parse(text.as_ref(), letters).map_err(|error| (number, error));
        Ok(Self { patterns: texts.iter().enumerate().map(parse).collect::<Result<_, _>>()? })
    }

    /// Whether one of several values matches; there may be none.
    #[must_use]
    pub fn match_any<'v, I: Iterator<Item = &'v [u8]>>(&self, values: impl Fn() -> I) -> bool {
        let mut wanted = None;
        for pattern in &self.patterns {
            let fits =
                values().any(|value| pattern.fits(Some(value))) || values().next().is_none() && pattern.fits(None);
            match pattern.is_negated {
                true if fits => return false,
                true => {}
                false => wanted = Some(wanted.unwrap_or(false) || fits),
            }
        }
        wanted.unwrap_or(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_values_match() {
        use Letters::{AnyCase, Exact};
        let cases: [(&[&str], Letters, &[&str], bool); 24] = [
            (&["de*"], AnyCase, &["DE-at,en"], true),
            (&["de*"], Exact, &["DE-at,en"], false),
            (&["de*"], AnyCase, &["en,de"], false),
            (&["*curl*"], AnyCase, &["libCURL 8"], true),
            (&["a.c"], AnyCase, &["abc"], false),
            (&["a*.c"], AnyCase, &["abxc"], false),
            (&["1"], Exact, &["1"], true),
            (&["1"], Exact, &["2", "1"], true),
            (&["1"], Exact, &[], false),
            (&[""], Exact, &[], true),
            (&[""], Exact, &[""], true),
            (&[""], Exact, &["x"], false),
            (&["*"], Exact, &[""], true),
            (&["*"], Exact, &[], false),
            (&["!*"], Exact, &[], true),
            (&["!*"], Exact, &[""], false),
            (&["!bot*"], AnyCase, &["Bot"], false),
            (&["!bot*"], AnyCase, &[], true),
            (&["~^[a-c]+$"], Exact, &["abc"], true),
            (&["~ ^[a-c]+$"], Exact, &["ABC"], false),
            (&["~*^[a-c]+$"], Exact, &["ABC"], true),
            (&["!~^a"], Exact, &["b"], true),
            (&["a*", "b*", "!*z"], Exact, &["bx"], true),
            (&["a*", "b*", "!*z"], Exact, &["bz"], false),
        ];
        for (patterns, letters, values, expected) in cases {
            let parsed = ValuePatterns::parse(patterns, letters).unwrap();
            let matched = parsed.match_any(|| values.iter().map(|value| value.as_bytes()));
            assert_eq!(matched, expected, "{patterns:?} {values:?}");
        }
        assert_eq!(ValuePatterns::parse(&["a", "~("], Exact).unwrap_err().0, 1);
    }
}
