//! Lookarounds: expressions of PCRE look at the text around a place; Serow's do not, since their time grows only with the length of
//! the path.

use crate::pattern::{escaped, has_alternatives_outside, literal_of, operators};

/// The beginnings of groups that look around.
pub(crate) const SIGNS: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];

/// Two expressions that say together the same as one.
pub(crate) struct WithException {
    /// The paths of this one,
    pub(crate) expression: String,
    /// except for those of this one.
    pub(crate) except: String,
}

/// `^/text(?!other)rest` as `^/text` with its rest, except for `^/text(?:other)`. Behind a text that is the same in all paths, there is only
/// one place to look at.
pub(crate) fn as_exception(expression: &str) -> Option<WithException> {
    let (before, behind) = expression.split_once("(?!")?;
    literal_of(before.strip_prefix('^')?)?;
    let (inside, rest) = behind.split_at_checked(end_of_group(behind)?)?;
    let rest = rest.strip_prefix(')')?;
    (!has_alternatives_outside(rest))
        .then(|| WithException { expression: format!("{before}{rest}"), except: format!("{before}(?:{inside})") })
}

/// The expression without what it looks at, and with anything in the place of a group that stands for a second time: it
/// matches the same paths, and others.
pub(crate) fn without(expression: &str) -> String {
    let mut rest = expression.replace("(?>", "(?:");
    for group in 1..=9 {
        rest = rest.replace(&format!("\\{group}"), ".*");
    }
    while let Some((start, length)) = SIGNS.iter().find_map(|sign| Some((rest.find(sign)?, sign.len()))) {
        let Some(end) = end_of_group(&rest[start + length..]) else { return String::new() };
        rest.replace_range(start..=start + length + end, "");
    }
    rest
}

/// Where the group ends that a text is the inside of.
fn end_of_group(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, letter) in operators(text) {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(place),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// An expression in which `(?!text)` before an end that matches anything is spelled out: `/\.(?!well-known)` matches a dot
/// that no `well-known` follows.
pub(crate) fn spelled_out(expression: &str) -> String {
    spelled(expression).unwrap_or_else(|| expression.to_owned())
}

fn spelled(expression: &str) -> Option<String> {
    let (before, behind) = expression.split_once("(?!")?;
    let (excluded, rest) = behind.split_once(')')?;
    if before.contains("(?!") {
        return None;
    }
    let texts = excluded.split('|').map(literal_of).collect::<Option<Vec<_>>>()?;
    if texts.iter().any(|text| !text.is_ascii() || text.is_empty()) {
        return None;
    }
    let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let other = other_beginnings(&texts);
    match rest {
        "" | ".*" | ".*$" => Some(format!("{before}(?:{other})")),
        "(.*)" | "(.*)$" => Some(format!("{before}((?:{other}).*)")),
        _ => {
            let behind_anything = rest.strip_prefix(".*").filter(|behind| ends_with_group(behind))?;
            Some(format!("{before}(?:{other}).*{behind_anything}"))
        }
    }
}

/// Whether an alternative ends where this text begins, and the whole expression with its group.
fn ends_with_group(text: &str) -> bool {
    let behind = end_of_group(text).filter(|_| text.starts_with(['|', ')'])).and_then(|end| text.get(end + 1..));
    behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('$'))
}

/// An expression for texts that begin with none of these: the end, another first letter, or one of the first letters and
/// then another beginning.
fn other_beginnings(texts: &[&[u8]]) -> String {
    let mut firsts: Vec<u8> = texts.iter().filter_map(|text| text.first().copied()).collect();
    firsts.sort_unstable();
    firsts.dedup();
    let class: String = firsts.iter().map(|first| escaped(&char::from(*first).to_string())).collect();
    let mut alternatives = vec!["$".to_owned(), format!("[^{class}]")];
    for first in firsts {
        let behind: Vec<&[u8]> = texts.iter().filter_map(|text| text.strip_prefix(&[first])).collect();
        if behind.iter().all(|text| !text.is_empty()) {
            alternatives.push(format!("{}(?:{})", escaped(&char::from(first).to_string()), other_beginnings(&behind)));
        }
    }
    alternatives.join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_behind_a_text() {
        let split = |expression: &str| as_exception(expression).map(|split| (split.expression, split.except));
        let pair = |one: &str, other: &str| Some((one.to_owned(), other.to_owned()));
        assert_eq!(split(r"^/(?!(a|b)/)"), pair("^/", "^/(?:(a|b)/)"));
        assert_eq!(split(r"^/x(?!\.json$|[)])(.*)$"), pair("^/x(.*)$", r"^/x(?:\.json$|[)])"));
        for without_equal in [r"/x(?!a)b", r"^/.*(?!a)b", r"^/(api(?!-docs$)|socket)", r"^/x(?!a)b|c", "^/(?!a"] {
            assert_eq!(split(without_equal), None, "{without_equal}");
        }
    }

    #[test]
    fn texts_that_do_not_follow_are_spelled_out() {
        for (expression, expected) in [
            (r"/\.(?!ab)", r"/\.(?:$|[^a]|a(?:$|[^b]))"),
            (r"^/(\.(?!a).*|b)$|c", r"^/(\.(?:$|[^a]).*|b)$|c"),
            (r"^/(?!a)(.*)$", "^/((?:$|[^a]).*)"),
            (r"^/(?!a).*b", r"^/(?!a).*b"),
            (r"^/(x(?!a).*|b)c", r"^/(x(?!a).*|b)c"),
        ] {
            assert_eq!(spelled_out(expression), expected);
        }
    }

    #[test]
    fn expressions_without_looks_match_more() {
        for (expression, expected) in [
            (r"^/(api(?!-docs$)|socket)", "^/(api|socket)"),
            (r"(?<!a)b(?=c(d))", "b"),
            (r"^/(?>a)", "^/(?:a)"),
            ("a(?!b", ""),
            (r"(a)\1", "(a).*"),
        ] {
            assert_eq!(without(expression), expected, "{expression}");
        }
    }
}
