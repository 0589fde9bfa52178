//! Regular expressions: from those of PCRE, which nginx has, to those that Serow has.

use std::{cell::RefCell, collections::HashMap};

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::{
    ParserBuilder,
    hir::{
        Hir, HirKind,
        literal::{ExtractKind, Extractor, Literal},
    },
};

/// How many compiled expressions are kept: thousands of servers have the same few.
const MAX_COMPILED: usize = 100;

thread_local! {
    /// Compiled expressions by their text; nothing for one that cannot be compiled.
    static COMPILED: RefCell<HashMap<String, Option<Regex>>> = RefCell::default();
}

/// An expression in Serow's syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// The expression, without a flag for case.
    expression: String,
    /// Whether case does not matter.
    pub(crate) ignores_case: bool,
}

/// How many of the paths that an expression matches begin with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    All,
    Some,
    None,
}

impl Pattern {
    /// The expression that matches the same paths.
    ///
    /// # Errors
    ///
    /// The reason why there is none, as a sentence.
    pub(crate) fn new(perl: &str, ignores_case: bool) -> Result<Self, String> {
        let expression = without_lookahead(&perl.replace("\\/", "/"))?;
        let this = Self { expression, ignores_case };
        match this.parsed() {
            Ok(_) => Ok(this),
            Err(_) if ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| perl.contains(look)) => Err(format!(
                "the expression {perl} looks around, which Serow's do not, since their time grows only with the length of \
                 the path"
            )),
            Err(why) => {
                let reason = why.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                Err(format!("Serow cannot read the expression {perl}: {reason}"))
            }
        }
    }

    fn parsed(&self) -> Result<Hir, Box<regex_syntax::Error>> {
        ParserBuilder::new()
            .unicode(false)
            .utf8(false)
            .case_insensitive(self.ignores_case)
            .build()
            .parse(&self.expression)
            .map_err(Box::new)
    }

    /// The expression as `path-regex` has it.
    pub(crate) fn written(&self) -> String {
        format!("{}{}", if self.ignores_case { "(?i)" } else { "" }, self.expression)
    }

    /// The expression as conditions and maps have it.
    pub(crate) fn written_as_condition(&self) -> String {
        format!("{}{}", if self.ignores_case { "~*" } else { "~" }, self.expression)
    }

    /// Whether all paths that it matches begin with a text, or none of them.
    pub(crate) fn beginning(&self, prefix: &str) -> Beginning {
        let Some(text) = self.anchored_text() else { return Beginning::Some };
        let is_start = |long: &str, short: &str| match self.ignores_case {
            true => long.get(..short.len()).is_some_and(|start| start.eq_ignore_ascii_case(short)),
            false => long.starts_with(short),
        };
        if !self.ignores_case && text.starts_with(prefix) {
            Beginning::All
        } else if is_start(prefix, &text) || is_start(&text, prefix) {
            Beginning::Some
        } else {
            Beginning::None
        }
    }

    /// The text that each path begins with which it matches, if it is anchored; nothing if it is not.
    fn anchored_text(&self) -> Option<String> {
        let rest = self.expression.strip_prefix('^')?;
        if has_alternatives_outside(rest) {
            return None;
        }
        let mut text = String::new();
        let mut letters = rest.chars().peekable();
        while let Some(letter) = letters.next() {
            let literal = match letter {
                '\\' => match letters.next() {
                    Some(escaped) if !escaped.is_ascii_alphanumeric() => escaped,
                    _ => break,
                },
                '.' | '[' | '(' | '*' | '+' | '?' | '{' | '|' | '$' | '^' => break,
                plain => plain,
            };
            if matches!(letters.peek(), Some('*' | '?' | '{')) {
                break;
            }
            text.push(literal);
        }
        Some(text)
    }

    /// The paths with stars that match the same: `\.php$` is `*.php`, `^/a/.*\.(png|jpg)$` is `/a/*.png` and `/a/*.jpg`.
    pub(crate) fn as_paths(&self) -> Option<Vec<String>> {
        if self.ignores_case {
            return None;
        }
        let (start, rest) = match self.expression.strip_prefix('^') {
            None => (String::new(), self.expression.strip_prefix(".*").unwrap_or(&self.expression)),
            Some(anchored) => {
                let (start, rest) = anchored.split_once(".*")?;
                (literal_of(start)?, rest)
            }
        };
        let rest = rest.strip_prefix("\\.")?.strip_suffix('$')?;
        let endings = match rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            // A group that is not named `(?:` can be named by its number.
            Some(group) => {
                group.strip_prefix("?:").unwrap_or(group).split('|').map(literal_of).collect::<Option<Vec<_>>>()?
            }
            None => vec![literal_of(rest)?],
        };
        let is_plain = |ending: &String| !ending.is_empty() && !ending.contains(['*', '/']);
        endings.iter().all(is_plain).then(|| endings.iter().map(|ending| format!("{start}*.{ending}")).collect())
    }

    /// The path with a star that matches the same, and whose star is the only group: `^/old/(.*)$` is `/old/*`.
    pub(crate) fn as_path_with_capture(&self) -> Option<String> {
        if self.ignores_case {
            return None;
        }
        let start = self.expression.strip_prefix('^')?;
        let start = start.strip_suffix("(.*)$").or_else(|| start.strip_suffix("(.*)"))?;
        literal_of(start)
            .filter(|start| start.starts_with('/') && !start.contains('*'))
            .map(|start| format!("{start}*"))
    }

    /// Whether it has an end, and paths with a slash at their end may match.
    pub(crate) fn may_end_with_slash(&self) -> bool {
        let Ok(hir) = self.parsed() else { return false };
        let mut extractor = Extractor::new();
        let suffixes = extractor.kind(ExtractKind::Suffix).extract(&hir);
        let ends_with_slash = |literals: &[Literal]| literals.iter().any(|literal| literal.as_bytes().ends_with(b"/"));
        self.expression.ends_with('$') && suffixes.literals().is_none_or(ends_with_slash)
    }

    /// Whether a path matches: for paths that are known when the settings are written.
    pub(crate) fn matches(&self, path: &str) -> bool {
        COMPILED.with_borrow_mut(|compiled| {
            if compiled.len() >= MAX_COMPILED {
                compiled.clear();
            }
            let expression = compiled.entry(self.written()).or_insert_with(|| {
                RegexBuilder::new(&self.expression).unicode(false).case_insensitive(self.ignores_case).build().ok()
            });
            expression.as_ref().is_some_and(|expression| expression.is_match(path.as_bytes()))
        })
    }

    /// The number of its groups.
    pub(crate) fn groups(&self) -> usize {
        self.parsed().map_or(0, |hir| hir.properties().explicit_captures_len())
    }

    /// The names of its groups, with their numbers.
    pub(crate) fn group_names(&self) -> Vec<(String, u32)> {
        let mut names = Vec::new();
        if let Ok(hir) = self.parsed() {
            append_names(&hir, &mut names);
        }
        names
    }

    /// The names that a host has which it matches: `^(.+)\.example\.com$` is `*.example.com`. Whether they are all of them is
    /// the second part.
    pub(crate) fn as_hosts(&self) -> Option<(Vec<String>, bool)> {
        let rest = self.expression.strip_suffix('$')?;
        let (start, suffix) = match rest.strip_prefix('^') {
            Some(anchored) => match anchored.split_once(")\\.").or_else(|| anchored.split_once("+\\.")) {
                Some((group, suffix)) => (group, suffix),
                None => return Some((vec![literal_of(anchored)?], true)),
            },
            None => (".+", rest.strip_prefix("\\.")?),
        };
        let suffix = literal_of(suffix).filter(|suffix| !suffix.is_empty())?;
        let group = start.trim_start_matches('(').trim_end_matches('+');
        let group = group.strip_prefix('?').and_then(|named| named.split_once('>')).map_or(group, |(_, group)| group);
        let names: Option<Vec<String>> = group.split('|').map(literal_of).collect();
        if let Some(names) = names.filter(|names| start.starts_with('(') && names.iter().all(|name| !name.is_empty())) {
            return Some((names.iter().map(|name| format!("{name}.{suffix}")).collect(), true));
        }
        let is_all = group == "." || group == ".*";
        Some((vec![format!("*.{suffix}")], is_all))
    }

    /// The expression itself.
    pub(crate) fn expression(&self) -> &str {
        &self.expression
    }
}

fn append_names(hir: &Hir, names: &mut Vec<(String, u32)>) {
    match hir.kind() {
        HirKind::Capture(capture) => {
            names.extend(capture.name.as_ref().map(|name| (name.to_string(), capture.index)));
            append_names(&capture.sub, names);
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().for_each(|part| append_names(part, names)),
        HirKind::Repetition(repetition) => append_names(&repetition.sub, names),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => {}
    }
}

/// A literal text as an expression that matches only it.
pub(crate) fn escaped(text: &str) -> String {
    regex_syntax::escape(text)
}

/// The text that an expression without operators matches.
fn literal_of(expression: &str) -> Option<String> {
    let mut text = String::new();
    let mut letters = expression.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next()? {
                escaped if escaped.is_ascii_alphanumeric() => return None,
                escaped => text.push(escaped),
            },
            '.' | '[' | ']' | '(' | ')' | '*' | '+' | '?' | '{' | '}' | '|' | '$' | '^' => return None,
            plain => text.push(plain),
        }
    }
    Some(text)
}

/// Whether a `|` stands outside of all groups, so that an anchor at the beginning is only that of the first alternative.
fn has_alternatives_outside(expression: &str) -> bool {
    let (mut depth, mut in_class, mut is_escaped) = (0_usize, false, false);
    for letter in expression.chars() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            ']' => in_class = false,
            _ if in_class => {}
            '[' => in_class = true,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

/// An expression in which `(?!text)` before an end that matches anything is spelled out: `/\.(?!well-known)` matches a dot
/// that no `well-known` follows.
fn without_lookahead(expression: &str) -> Result<String, String> {
    let Some((before, behind)) = expression.split_once("(?!") else { return Ok(expression.to_owned()) };
    let Some((excluded, rest)) = behind.split_once(')') else { return Ok(expression.to_owned()) };
    if !matches!(rest, "" | ".*" | ".*$" | "(.*)" | "(.*)$") || before.contains("(?!") {
        return Ok(expression.to_owned());
    }
    let alternatives: Option<Vec<String>> = excluded.split('|').map(literal_of).collect();
    match alternatives {
        Some(texts) if texts.iter().all(|text| text.is_ascii() && !text.is_empty()) => {
            let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            let group = if rest.starts_with("(.*)") { ("(", ".*)") } else { ("(?:", ")") };
            let other = other_beginnings(&texts);
            match group.0 {
                "(" => Ok(format!("{before}((?:{other}){}", group.1)),
                _ => Ok(format!("{before}(?:{other})")),
            }
        }
        _ => Ok(expression.to_owned()),
    }
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
