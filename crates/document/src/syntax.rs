//! Syntax errors, explained for users who do not know TOML.

use std::ops::Range;

use toml::de::Error;

use crate::{fault::Fault, names::shown};

/// The errors of a text that is not TOML: one for each line, and not many, since one leads to another.
pub(crate) fn faults(text: &str, mut errors: Vec<Error>) -> Vec<Fault> {
    errors.truncate(MAX_SYNTAX_ERRORS);
    let line_of = |error: &Error| {
        let before = text.bytes().take(error.span().map_or(0, |span| span.start));
        before.filter(|byte| *byte == b'\n').count()
    };
    let mut errors: Vec<_> = errors.into_iter().map(|error| (line_of(&error), error)).collect();
    // In a line, the first that was found is what is wrong with it.
    errors.sort_by_key(|(line, _)| *line);
    errors.dedup_by_key(|(line, _)| *line);
    errors.iter().take(MAX_SHOWN).map(|(_, error)| fault(text, error)).collect()
}

fn fault(text: &str, error: &Error) -> Fault {
    let span = error.span();
    let token = span.clone().and_then(|span| text.get(span)).unwrap_or_default();
    let (problem, expected) = error.message().split_once(", expected ").unwrap_or((error.message(), ""));
    let problem = problem.split(';').next().unwrap_or_default();
    let text = match problem {
        _ if is_number_alike(problem) && unquoted(text, span.as_ref()).is_some() => {
            let value = unquoted(text, span.as_ref()).unwrap_or_default();
            format!("write \"{}\", in quotes", shown(value))
        }
        "duplicate key" => format!("duplicate key `{}`: leave one out", shown(token)),
        "string values must be quoted" if token.is_empty() => "the value is missing".to_owned(),
        "string values must be quoted" | "invalid boolean" if SWITCHES.contains(&&*token.to_lowercase()) => {
            format!("{token} is neither true nor false; text stands in quotes")
        }
        "string values must be quoted" | "invalid boolean" => format!("write \"{}\", in quotes", shown(token)),
        "unexpected key or value" => "expected the end of the line: write each key on a line of its own".to_owned(),
        "key with no value" => "expected = and a value behind the key".to_owned(),
        "invalid basic string" if expected == "`\"`" => "the text has no end: write a quotation mark".to_owned(),
        "unclosed array" | "unclosed array table" | "unclosed table" | "unclosed inline table" => {
            format!("{problem}: write {expected}")
        }
        "recursion limit" | "cannot recurse further" => "tables or lists are nested too deeply".to_owned(),
        _ if matches!(expected, "" | "nothing") => problem.to_owned(),
        _ => format!("{problem}; expected {expected}"),
    };
    Fault { span, text }
}

/// Whether the reader took what it found for a number or a date.
fn is_number_alike(problem: &str) -> bool {
    ["float", "integer", "number", "digit", "date", "time"].iter().any(|kind| problem.contains(kind))
}

/// The value of the line where a span begins, where that stands without quotes and looks like text: an address with
/// dots and a colon, a path, a size.
fn unquoted<'t>(text: &'t str, span: Option<&Range<usize>>) -> Option<&'t str> {
    let start = span?.start;
    let line_start = text.get(..start)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text[line_start..].lines().next()?;
    let (_, value) = line.split_once('=')?;
    let value = value.split('#').next().unwrap_or_default().trim();
    let is_text =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b':' | b'/' | b'-' | b'_' | b'@' | b'*');
    let is_plain = !value.is_empty() && value.bytes().all(is_text);
    // Without these, the author meant a number, and the mistake is in the number.
    let has_letters_or_colon = value.contains(':') || value.matches('.').count() > 1 || value.contains('/');
    (is_plain && has_letters_or_colon).then_some(value)
}

/// Words that people write for true and false, with typing errors.
const SWITCHES: [&str; 10] = ["yes", "no", "on", "off", "true", "false", "tru", "fals", "ture", "flase"];

/// More follow from the first ones.
const MAX_SHOWN: usize = 3;

/// Garbage has an error in each line, and the line of each has to be found.
const MAX_SYNTAX_ERRORS: usize = 100;
