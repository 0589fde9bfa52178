//! Patterns of values: of fields, cookies, arguments, and whatever a map looks up.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

use crate::{
    expression::{Expression, InvalidExpression},
    literal_index::LiteralIndex,
    literals::Literals,
};

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

    /// The expression that a value must match, as it is written; nothing for other patterns.
    pub(crate) fn expression(&self) -> Option<&Expression> {
        match &self.kind {
            Kind::Expression(expression) if !self.is_negated && self.text.starts_with('~') => Some(expression),
            _ => None,
        }
    }

    /// Whether a value, or none, matches.
    #[must_use]
    #[inline]
    pub fn matches(&self, value: Option<&[u8]>) -> bool {
        self.fits(value) != self.is_negated
    }

    /// Literals that each value that matches contains.
    pub(crate) fn literals(&self) -> Literals {
        if self.is_negated { Literals::none() } else { self.fitting_literals() }
    }

    /// The same, without regard to a `!`.
    fn fitting_literals(&self) -> Literals {
        match &self.kind {
            Kind::Exact(text, _) => Literals::of_text(text),
            Kind::Any => Literals::none(),
            Kind::Expression(expression) => expression.literals(),
        }
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
#[derive(Clone, Debug)]
pub struct ValuePatterns {
    patterns: Box<[ValuePattern]>,
    /// Whether all begin with `!`.
    are_negated: bool,
    /// Without regard to `!`; nothing for few patterns.
    index: Option<Box<LiteralIndex>>,
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
        let patterns: Box<[_]> = texts.iter().enumerate().map(parse).collect::<Result<_, _>>()?;
        let index = LiteralIndex::of_many(patterns.iter().map(ValuePattern::fitting_literals)).map(Box::new);
        let are_negated = patterns.iter().all(|pattern| pattern.is_negated);
        Ok(Self { patterns, are_negated, index })
    }

    /// Whether one of several values matches; there may be none.
    #[must_use]
    pub fn match_any<'v, I: Iterator<Item = &'v [u8]>>(&self, values: impl Fn() -> I) -> bool {
        let fits = |pattern: &&ValuePattern| {
            values().any(|value| pattern.fits(Some(value))) || values().next().is_none() && pattern.fits(None)
        };
        let Some(index) = &self.index else { return self.decide(self.patterns.iter().filter(fits)) };
        // Only patterns that an empty value matches as well match a missing one.
        let missing = values().next().is_none().then_some(&[][..]);
        let candidates = values().chain(missing).flat_map(|value| index.candidates(value));
        self.decide(candidates.filter_map(|number| self.patterns.get(number as usize)).filter(fits))
    }

    /// Whether values match that these patterns fit.
    fn decide<'p>(&self, fitting: impl Iterator<Item = &'p ValuePattern>) -> bool {
        let mut matches = self.are_negated;
        for pattern in fitting {
            if pattern.is_negated {
                return false;
            }
            matches = true;
        }
        matches
    }
}

impl Default for ValuePatterns {
    /// Without patterns, which any value matches.
    fn default() -> Self {
        Self { patterns: Box::default(), are_negated: true, index: None }
    }
}

impl PartialEq for ValuePatterns {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl Eq for ValuePatterns {}

impl Hash for ValuePatterns {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.patterns.iter().for_each(|pattern| pattern.text.hash(state));
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection, prelude::*};

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

    proptest! {
        /// Many patterns match what they match one by one.
        #[test]
        fn an_index_changes_no_match(
            patterns in collection::vec("!?(\\*|~|~\\*|~\\^)?[abA]{0,2}\\*?[ab]{0,2}\\$?", 9..20),
            values in collection::vec("[abAB$]{0,5}", 0..3),
            any_case: bool,
        ) {
            let letters = if any_case { Letters::AnyCase } else { Letters::Exact };
            let Ok(indexed) = ValuePatterns::parse(&patterns, letters) else { return Ok(()) };
            prop_assert!(indexed.index.is_some());
            let each = ValuePatterns { index: None, ..indexed.clone() };
            let matches = |patterns: &ValuePatterns| patterns.match_any(|| values.iter().map(String::as_bytes));
            prop_assert_eq!(matches(&indexed), matches(&each), "{:?} {:?}", patterns, values);
        }
    }
}
