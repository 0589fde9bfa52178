//! Conditions of `if`.

use serow_nginx_syntax::{directive::Directive, pattern::Pattern};
use serow_settings_writer::matching;

use super::text::Text;

/// The condition of an `if`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    /// The text that is compared.
    pub(crate) operand: Text,
    pub(crate) test: Test,
}

/// The comparison of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// `if ($a)`: neither empty nor `0`.
    IsTrue,
    /// `=`, and `!=` if it is negated.
    Equals { value: Text, negated: bool },
    /// `~` and `~*`, and with `!` before them if it is negated.
    Matches { pattern: Pattern, negated: bool },
    /// `-f`, `-d`, `-e`, and with `!` before them if it is negated.
    Exists { kind: Existing, negated: bool },
}

/// The kind of file that has to exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    File,
    Folder,
    Either,
}

impl Condition {
    /// The condition in the parentheses of an `if`.
    ///
    /// # Errors
    ///
    /// The reason why it has no translation, as a sentence.
    pub(crate) fn of(directive: &Directive) -> Result<Self, String> {
        let mut words: Vec<&str> = directive.texts().collect();
        if let Some(first) = words.first_mut() {
            *first = first.strip_prefix('(').ok_or("the condition has no parenthesis at its beginning")?;
        }
        if let Some(last) = words.last_mut() {
            *last = last.strip_suffix(')').ok_or("the condition has no parenthesis at its end")?;
        }
        let is_of_file = words.first().is_some_and(|sign| sign.trim_start_matches('!').starts_with('-'));
        if is_of_file && words.last().is_some_and(|last| last.is_empty()) {
            words.pop();
        }
        let words: Vec<&str> = {
            let count = words.len();
            let kept = words.into_iter().enumerate();
            kept.filter(|(position, word)| {
                !(word.is_empty() && (*position == 0 || position + 1 == count) && count != 3)
            })
            .map(|(_, word)| word)
            .collect()
        };
        match words.as_slice() {
            [operand] => Ok(Self { operand: Text::of(operand), test: Test::IsTrue }),
            [sign, path] if sign.trim_start_matches('!').starts_with('-') => Self::existence(sign, path),
            [operand, sign, value] => Self::comparison(operand, sign, value),
            _ => Err("the condition is not like those of nginx".to_owned()),
        }
    }

    fn existence(sign: &str, path: &str) -> Result<Self, String> {
        let kind = match sign.trim_start_matches('!') {
            "-f" => Existing::File,
            "-d" => Existing::Folder,
            "-e" => Existing::Either,
            other => return Err(format!("Serow has no condition like {other}")),
        };
        Ok(Self { operand: Text::of(path), test: Test::Exists { kind, negated: sign.starts_with('!') } })
    }

    fn comparison(operand: &str, sign: &str, value: &str) -> Result<Self, String> {
        let negated = sign.starts_with('!');
        let test = match sign.trim_start_matches('!') {
            "=" => Test::Equals { value: Text::of(value), negated },
            "~" => Test::Matches { pattern: Pattern::new(value, false)?, negated },
            "~*" => Test::Matches { pattern: Pattern::new(value, true)?, negated },
            other => return Err(format!("`{other}` does not compare")),
        };
        Ok(Self { operand: Text::of(operand), test })
    }

    /// Whether a value meets it; nothing if that depends on more than the value.
    pub(crate) fn holds(&self, value: &str) -> Option<bool> {
        match &self.test {
            Test::IsTrue => Some(!value.is_empty() && value != "0"),
            Test::Equals { value: other, negated } => Some((other.literal()? == value) != *negated),
            Test::Matches { pattern, negated } => Some(pattern.matches(value) != *negated),
            Test::Exists { .. } => None,
        }
    }

    /// The pattern of a value that meets it; nothing if its value has variables, or a file is meant.
    pub(crate) fn pattern(&self) -> Option<Vec<String>> {
        match &self.test {
            Test::IsTrue => Some(vec!["!".to_owned(), "!0".to_owned()]),
            Test::Equals { value, negated } => {
                let mark = if *negated { "!" } else { "" };
                Some(vec![format!("{mark}{}", exact_pattern(value.literal()?))])
            }
            Test::Matches { pattern, negated } => {
                Some(vec![format!("{}{}", if *negated { "!" } else { "" }, pattern.written_as_condition())])
            }
            Test::Exists { .. } => None,
        }
    }

    /// It as a condition of a route on a variable of this name.
    pub(crate) fn on_variable(&self, name: &str) -> Option<matching::Condition> {
        let patterns = self.pattern()?;
        let (kind, name) = match name.split_once('_') {
            Some(("http", field)) if name != "http_host" => ("header", field_name(field)),
            Some(("cookie", cookie)) => ("cookie", cookie.to_owned()),
            _ => ("variable", name.to_owned()),
        };
        match (kind, name.as_str(), &self.test) {
            ("variable", "scheme", Test::Equals { value, negated }) => {
                let https = (value.literal()? == "https") != *negated;
                let scheme = if https { "https" } else { "http" };
                Some(matching::Condition::unnamed("scheme", vec![scheme.to_owned()]))
            }
            ("variable", "host", Test::Equals { value, .. })
                if value.literal().is_some_and(|host| !host.is_empty()) =>
            {
                Some(matching::Condition::unnamed("host", patterns))
            }
            _ => Some(matching::Condition { kind, name, patterns }),
        }
    }
}

/// A pattern that matches only this value.
pub(crate) fn exact_pattern(value: &str) -> String {
    let has_signs = value.contains('*') || value.starts_with(['!', '~']);
    if has_signs { format!("~^{}$", serow_nginx_syntax::pattern::escaped(value)) } else { value.to_owned() }
}

/// The name of a field from that of its variable: `user_agent` is User-Agent.
pub(crate) fn field_name(variable: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    variable.split('_').map(capital).collect::<Vec<_>>().join("-")
}

/// The field of a decision that an `auth_request_set` takes.
pub(crate) fn decided_field(set: &Directive) -> Option<String> {
    set.word(1)?.strip_prefix("$upstream_http_").map(field_name)
}
