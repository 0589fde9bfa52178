//! `${NAME}` of the environment in the texts of a settings file.

use std::{borrow::Cow, env};

/// Replaces each `${NAME}` by the variable of the environment, and `${NAME:-text}` by the text if there is none. Names
/// of the environment are in capitals, so `${uri}` stays: it is a variable of requests. `$${NAME}` stands for
/// the text `${NAME}`.
///
/// `has_variables`: the text names variables of requests too, so a `$` in a value of the environment is doubled, and
/// `$${NAME}` stays as it is.
///
/// # Errors
///
/// A name that the environment does not have: what to do.
pub fn expand(text: &str, has_variables: bool) -> Result<Cow<'_, str>, String> {
    expand_with(text, has_variables, |name| env::var(name).ok())
}

fn expand_with(text: &str, has_variables: bool, find: impl Fn(&str) -> Option<String>) -> Result<Cow<'_, str>, String> {
    if !text.contains("${") {
        return Ok(Cow::Borrowed(text));
    }
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find("${") {
        let (before, name) = (&rest[..place], &rest[place + 2..]);
        let Some(Named { name, default, length }) = Named::read(name) else {
            expanded.push_str(&rest[..place + 2]);
            rest = name;
            continue;
        };
        rest = &rest[place + 2 + length..];
        // An odd number of dollars before: the last two of them are one dollar.
        if before.bytes().rev().take_while(|&byte| byte == b'$').count() % 2 == 1 {
            expanded.push_str(if has_variables { before } else { &before[..before.len() - 1] });
            expanded.push_str(&text[text.len() - rest.len() - length - 2..text.len() - rest.len()]);
            continue;
        }
        expanded.push_str(before);
        let value = find(name).filter(|value| !value.is_empty() || default.is_none()).or(default.map(str::to_owned));
        let value = value.ok_or_else(|| {
            format!("the environment has no {name}: set it, or write ${{{name}:-text}} for a text in its place")
        })?;
        expanded.push_str(&if has_variables { value.replace('$', "$$") } else { value });
    }
    expanded.push_str(rest);
    Ok(Cow::Owned(expanded))
}

/// The name behind `${`, and its default.
struct Named<'t> {
    name: &'t str,
    default: Option<&'t str>,
    /// Up to the closing brace and with it.
    length: usize,
}

impl<'t> Named<'t> {
    /// Reads a name of the environment.
    fn read(text: &'t str) -> Option<Self> {
        let end = text.find('}')?;
        let inside = &text[..end];
        let (name, default) = inside.split_once(":-").map_or((inside, None), |(name, text)| (name, Some(text)));
        let is_name = name.starts_with(|first: char| first.is_ascii_uppercase() || first == '_')
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        is_name.then_some(Self { name, default, length: end + 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_capitals_are_of_the_environment() {
        let find = |name: &str| match name {
            "PORT" => Some("8080".to_owned()),
            "PRICE_2" => Some("$5 ${PORT}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let missing = "the environment has no NONE: set it, or write ${NONE:-text} for a text in its place";
        for (text, plain, with_variables) in [
            ("a", Ok("a"), Ok("a")),
            (":${PORT}", Ok(":8080"), Ok(":8080")),
            ("${PORT}${PORT}x", Ok("80808080x"), Ok("80808080x")),
            ("${PRICE_2}", Ok("$5 ${PORT}"), Ok("$$5 $${PORT}")),
            ("${NONE:-a b}", Ok("a b"), Ok("a b")),
            ("${NONE:-}", Ok(""), Ok("")),
            ("[${EMPTY}]${EMPTY:-x}", Ok("[]x"), Ok("[]x")),
            ("${NONE}", Err(missing), Err(missing)),
            ("${uri} ${Port} $PORT ${", Ok("${uri} ${Port} $PORT ${"), Ok("${uri} ${Port} $PORT ${")),
            ("a$${PORT}b", Ok("a${PORT}b"), Ok("a$${PORT}b")),
            ("$$${PORT}", Ok("$$8080"), Ok("$$8080")),
        ] {
            for (has_variables, expected) in [(false, plain), (true, with_variables)] {
                let expanded = expand_with(text, has_variables, find);
                assert_eq!(expanded.as_deref().map_err(String::as_str), expected, "{text}");
            }
        }
    }
}
