//! Regular expressions of bounded size.

use std::{error::Error, fmt, str::FromStr};

use regex::bytes::{Regex, RegexBuilder};
use smallvec::SmallVec;

use crate::{literals::Literals, reserved_names::check_new_name};

/// A regular expression, as the crate [`regex`] reads it. Matching takes time that is linear in the text, whatever a
/// client sends.
///
/// Texts are bytes: `\w`, `\d` and `(?i)` are about ASCII, and `.` is any byte, the end of a line too, so no text
/// passes by a rule with a line break in it.
#[derive(Clone, Debug)]
pub struct Expression {
    regex: Regex,
    ignores_case: bool,
}

/// The texts that the groups of an expression matched, in their order; an empty one for an unused group.
pub type Captures<'t> = SmallVec<[&'t [u8]; 8]>;

impl Expression {
    /// An expression that ignores the case of letters.
    ///
    /// # Errors
    ///
    /// As [`str::parse`].
    pub fn ignoring_case(text: &str) -> Result<Self, InvalidExpression> {
        Self::new(text, true)
    }

    fn new(text: &str, ignore_case: bool) -> Result<Self, InvalidExpression> {
        if text.len() > MAX_LENGTH {
            return Err(InvalidExpression("is longer than 4096 characters: shorten it".to_owned()));
        }
        let mut builder = RegexBuilder::new(text);
        builder.unicode(false).dot_matches_new_line(true).case_insensitive(ignore_case);
        builder.size_limit(MAX_SIZE).dfa_size_limit(MAX_SIZE).nest_limit(MAX_NESTING);
        let regex = builder.build().map_err(|error| InvalidExpression::of(&error))?;
        for name in regex.capture_names().flatten() {
            check_new_name(name).map_err(|problem| InvalidExpression(format!("has a group {name}: {problem}")))?;
        }
        Ok(Self { regex, ignores_case: ignore_case })
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.regex.as_str()
    }

    /// Whether a text matches; allocates nothing once the expression was used.
    #[must_use]
    #[inline]
    pub fn matches(&self, text: &[u8]) -> bool {
        self.regex.is_match(text)
    }

    /// Returns the texts that its groups match; `None` if the whole text does not match.
    #[must_use]
    pub fn captures<'t>(&self, text: &'t [u8]) -> Option<Captures<'t>> {
        let mut places = self.regex.capture_locations();
        self.regex.captures_read(&mut places, text)?;
        let group = |number| places.get(number).map_or(&text[..0], |(start, end)| &text[start..end]);
        Some((1..places.len()).map(group).collect())
    }

    /// Literals that each text that matches contains.
    #[must_use]
    pub fn literals(&self) -> Literals {
        Literals::of_expression(self.as_str(), self.ignores_case, MAX_NESTING)
    }

    /// The groups, from the first on, with their names.
    pub fn group_names(&self) -> impl Iterator<Item = Option<&str>> {
        self.regex.capture_names().skip(1)
    }
}

impl FromStr for Expression {
    type Err = InvalidExpression;

    fn from_str(text: &str) -> Result<Self, InvalidExpression> {
        Self::new(text, false)
    }
}

impl PartialEq for Expression {
    /// Expressions with the same text.
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Expression {}

/// Why a text is not a regular expression: what follows the text in a message that says what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidExpression(String);

impl InvalidExpression {
    fn of(error: &regex::Error) -> Self {
        Self(match error {
            regex::Error::CompiledTooBig(_) => {
                "needs more than 1 MB of memory: repeat less, as in x{1,100} in place of x{1,10000}".to_owned()
            }
            regex::Error::Syntax(text) => {
                // The reader shows the text with a mark below it, and what is wrong behind "error: ".
                let problem = text.lines().rev().find_map(|line| line.trim().strip_prefix("error: "));
                let problem = problem.unwrap_or("unknown syntax");
                match problem {
                    _ if problem.contains("look-around") => {
                        "has look-around, (?=…) or (?!…), which takes too long: write a second route or condition"
                            .to_owned()
                    }
                    _ if problem.contains("backreferences") => {
                        "has a backreference, which takes too long: leave it out".to_owned()
                    }
                    _ => format!("is not a regular expression: {problem}"),
                }
            }
            other => format!("is not a regular expression: {other}").replace('\n', " "),
        })
    }
}

impl fmt::Display for InvalidExpression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for InvalidExpression {}

/// Longer than any that people write; whoever can write settings files must not stop the server by mistake.
const MAX_LENGTH: usize = 4096;

/// Memory for the compiled form, and for the automaton that each thread builds from it: `a{1000}{1000}` would take all.
const MAX_SIZE: usize = 1 << 20;

/// Deeper groups would overflow the stack of the reader.
const MAX_NESTING: u32 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_and_their_groups() {
        /// An expression, a text, and what its groups match.
        type Case<'c> = (&'c str, &'c [u8], Option<&'c [&'c str]>);
        let cases: [Case<'_>; 10] = [
            ("^/users/(?<id>[0-9]+)$", b"/users/17", Some(&["17"])),
            ("^/users/(?<id>[0-9]+)$", b"/users/17\n", None),
            ("^/users/(?<id>[0-9]+)$", b"/x/users/17", None),
            ("^/(a)?(b)?$", b"/b", Some(&["", "b"])),
            (r"\.php$", b"/a/b.php", Some(&[])),
            ("(?i)^/ADMIN", b"/admin", Some(&[])),
            ("^/admin/.*$", b"/admin/\n", Some(&[])),
            ("^/.$", b"/\xff", Some(&[])),
            ("^/\u{e4}$", "/\u{e4}".as_bytes(), Some(&[])),
            ("", b"/", Some(&[])),
        ];
        for (expression, text, expected) in cases {
            let expression: Expression = expression.parse().unwrap();
            let found = expression.captures(text);
            let found =
                found.map(|groups| groups.iter().map(|group| group.escape_ascii().to_string()).collect::<Vec<_>>());
            let expected = expected.map(|groups| groups.iter().map(ToString::to_string).collect::<Vec<_>>());
            assert_eq!(found, expected, "{expression:?}");
            assert_eq!(expression.matches(text), expected.is_some(), "{expression:?}");
        }
    }

    #[test]
    fn errors_are_a_line_that_says_what_to_do() {
        let long = "a".repeat(5000);
        let deep = "(".repeat(60) + &")".repeat(60);
        for (text, expected) in [
            ("^/(a", "is not a regular expression: unclosed group"),
            ("*", "is not a regular expression: repetition operator missing expression"),
            ("a(?!b)", "has look-around, (?=…) or (?!…), which takes too long: write a second route or condition"),
            (r"(a)\1", "has a backreference, which takes too long: leave it out"),
            ("(a{1000}){1000}", "needs more than 1 MB of memory: repeat less, as in x{1,100} in place of x{1,10000}"),
            ("^/(?<host>a)$", "has a group host: $host has a meaning already: choose another name"),
            (&long, "is longer than 4096 characters: shorten it"),
        ] {
            assert_eq!(text.parse::<Expression>().unwrap_err().to_string(), expected);
        }
        assert!(deep.parse::<Expression>().unwrap_err().to_string().starts_with("is not a regular expression"));
    }
}
