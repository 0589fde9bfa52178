//! Regular expressions: from those of PCRE, which nginx has, to those that Serow has.

use std::{cell::RefCell, collections::HashMap};

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::{
    ParserBuilder,
    hir::{
        Hir,
        literal::{ExtractKind, Extractor, Literal},
    },
};

use crate::lookaround;

/// How many compiled expressions are kept: thousands of servers have the same few.
const MAX_COMPILED: usize = 100;

/// How many paths are a few.
const MAX_PATHS: usize = 8;

thread_local! {
    /// Compiled expressions by their text; nothing for one that cannot be compiled.
    static COMPILED: RefCell<HashMap<String, Option<Regex>>> = RefCell::default();
}

/// An expression in Serow's syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The expression, without a flag for case.
    expression: String,
    /// Whether case does not matter.
    pub ignores_case: bool,
    /// An expression of the paths that it does not match, although the first one does.
    except: Option<String>,
}

/// An expression that has no equal in Serow's syntax.
#[derive(Debug)]
pub struct UnreadableError {
    /// The reason, as a sentence.
    pub why: String,
    /// An expression that matches all of its paths, and others.
    pub around: Pattern,
}

/// How many of the paths that an expression matches begin with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// All of them.
    All,
    /// Perhaps some of them.
    Some,
    /// None of them.
    None,
}

impl Pattern {
    /// The expression that matches the same paths.
    ///
    /// # Errors
    ///
    /// The reason why there is none, as a sentence.
    pub fn new(perl: &str, ignores_case: bool) -> Result<Self, String> {
        let expression = with_literal_braces(&perl.replace("\\/", "/"));
        let this = Self { expression: lookaround::spelled_out(&expression), ignores_case, except: None };
        match this.parsed() {
            Ok(_) => Ok(this),
            Err(_) if lookaround::SIGNS.iter().any(|look| perl.contains(look)) => Err(format!(
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

    /// The expression of a location, which can have conditions on the path beside it.
    ///
    /// # Errors
    ///
    /// There is none. The location must keep its paths all the same: others must not get them.
    pub fn of_location(perl: &str, ignores_case: bool) -> Result<Self, UnreadableError> {
        let why = match Self::new(perl, ignores_case) {
            Ok(pattern) => return Ok(pattern),
            Err(why) => why,
        };
        let readable = |expression: &str| Self::new(expression, ignores_case).ok();
        let excepting = lookaround::as_exception(perl).and_then(|split| {
            let (pattern, except) = (readable(&split.expression)?, readable(&split.except)?);
            // A group within the exception would move the numbers of those behind it.
            (except.groups() == 0 || pattern.groups() == 0)
                .then_some(Self { except: Some(except.expression), ..pattern })
        });
        excepting.ok_or_else(|| {
            let all = Self { expression: "^".to_owned(), ignores_case, except: None };
            UnreadableError { why, around: readable(&lookaround::without(perl)).unwrap_or(all) }
        })
    }

    /// The expression of the paths that it does not match, although its own one does.
    pub fn except(&self) -> Option<Self> {
        self.except.as_ref().map(|except| Self { expression: except.clone(), except: None, ..*self })
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
    pub fn written(&self) -> String {
        format!("{}{}", if self.ignores_case { "(?i)" } else { "" }, self.expression)
    }

    /// The expression as conditions and maps have it.
    pub fn written_as_condition(&self) -> String {
        format!("{}{}", if self.ignores_case { "~*" } else { "~" }, self.expression)
    }

    /// Whether all paths that it matches begin with a text, or none of them.
    pub fn beginning(&self, prefix: &str) -> Beginning {
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
    pub fn as_paths(&self) -> Option<Vec<String>> {
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
    pub fn as_path_with_capture(&self) -> Option<String> {
        if self.ignores_case {
            return None;
        }
        let start = self.expression.strip_prefix('^')?;
        let start = start.strip_suffix("(.*)$").or_else(|| start.strip_suffix("(.*)"))?;
        literal_of(start)
            .filter(|start| start.starts_with('/') && !start.contains('*'))
            .map(|start| format!("{start}*"))
    }

    /// All paths that it matches, if they are a few: `^/(status|ping)$`.
    pub fn few_paths(&self) -> Option<Vec<String>> {
        let literals = Extractor::new().extract(&self.parsed().ok()?);
        let literals = literals.literals().filter(|literals| literals.iter().all(Literal::is_exact))?;
        let paths: Vec<String> = literals
            .iter()
            .map(|literal| String::from_utf8(literal.as_bytes().to_vec()).ok())
            .collect::<Option<_>>()?;
        let is_whole = |path: &String| {
            let others = [format!("{path}x"), format!("{path}/"), format!("/x{path}")];
            path.starts_with('/') && self.matches(path) && !others.iter().any(|other| self.matches(other))
        };
        (!self.ignores_case && paths.len() <= MAX_PATHS && paths.iter().all(is_whole)).then_some(paths)
    }

    /// Whether it has an end, and paths with a slash at their end may match.
    pub fn may_end_with_slash(&self) -> bool {
        let Ok(hir) = self.parsed() else { return false };
        let mut extractor = Extractor::new();
        let suffixes = extractor.kind(ExtractKind::Suffix).extract(&hir);
        let ends_with_slash = |literals: &[Literal]| literals.iter().any(|literal| literal.as_bytes().ends_with(b"/"));
        self.expression.ends_with('$') && suffixes.literals().is_none_or(ends_with_slash)
    }

    /// Whether a path matches: for paths that are known when the settings are written.
    pub fn matches(&self, path: &str) -> bool {
        self.expression_matches(path) && !self.except().is_some_and(|except| except.expression_matches(path))
    }

    fn expression_matches(&self, path: &str) -> bool {
        self.compiled(|expression| expression.is_match(path.as_bytes())).unwrap_or_default()
    }

    /// The names of its groups, each with its number.
    pub fn group_names(&self) -> Vec<(String, usize)> {
        let names = |expression: &Regex| {
            let numbered = expression.capture_names().enumerate();
            numbered.filter_map(|(number, name)| Some((name?.to_owned(), number))).collect()
        };
        self.compiled(names).unwrap_or_default()
    }

    /// Whether what a group matches begins with a slash.
    pub fn group_begins_with_slash(&self, number: usize) -> bool {
        let mut groups = 0;
        for (place, _) in operators(&self.expression).filter(|(_, letter)| *letter == '(') {
            let inside = &self.expression[place + 1..];
            let named = inside.strip_prefix("?<").or_else(|| inside.strip_prefix("?P<"));
            let inside = named.and_then(|named| named.split_once('>')).map_or(inside, |(_, inside)| inside);
            groups += usize::from(!inside.starts_with('?'));
            if groups == number && !inside.starts_with('?') {
                return inside.starts_with('/');
            }
        }
        false
    }

    /// A property of the compiled expression.
    fn compiled<T>(&self, property: impl FnOnce(&Regex) -> T) -> Option<T> {
        COMPILED.with_borrow_mut(|compiled| {
            if compiled.len() >= MAX_COMPILED {
                compiled.clear();
            }
            let expression = compiled.entry(self.written()).or_insert_with(|| {
                RegexBuilder::new(&self.expression).unicode(false).case_insensitive(self.ignores_case).build().ok()
            });
            expression.as_ref().map(property)
        })
    }

    /// The number of its groups.
    pub fn groups(&self) -> usize {
        self.parsed().map_or(0, |hir| hir.properties().explicit_captures_len())
    }

    /// The names that a host has which it matches: `^(.+)\.example\.com$` is `*.example.com`. Whether they are all of them is
    /// the second part.
    pub fn as_hosts(&self) -> Option<(Vec<String>, bool)> {
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
    pub fn expression(&self) -> &str {
        &self.expression
    }
}

/// A literal text as an expression that matches only it.
pub fn escaped(text: &str) -> String {
    regex_syntax::escape(text)
}

/// An expression in which braces that are not a number of repetitions are letters, as PCRE reads them.
fn with_literal_braces(expression: &str) -> String {
    let mut written = String::with_capacity(expression.len());
    let (mut in_class, mut letters) = (false, expression.char_indices());
    while let Some((start, letter)) = letters.next() {
        match letter {
            '\\' => {
                written.push(letter);
                let escaped = letters.next().map(|(_, escaped)| escaped);
                written.extend(escaped);
                // `\x{2f}` and `\p{L}`.
                if let Some('x' | 'p' | 'P' | 'u') = escaped
                    && letters.as_str().starts_with('{')
                {
                    written.extend(letters.next().map(|(_, brace)| brace));
                }
                continue;
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '{' if !in_class && !is_repetition(&expression[start..]) => written.push('\\'),
            _ => {}
        }
        written.push(letter);
    }
    written
}

/// Whether a text begins with a number of repetitions: `{2}`, `{2,}`, `{2,3}`.
fn is_repetition(text: &str) -> bool {
    let inside = text.strip_prefix('{').and_then(|behind| behind.split_once('}')).map(|(inside, _)| inside);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    inside.is_some_and(|inside| match inside.split_once(',') {
        Some((least, most)) => is_number(least) && (most.is_empty() || is_number(most)),
        None => is_number(inside),
    })
}

/// The text that an expression without operators matches.
pub(crate) fn literal_of(expression: &str) -> Option<String> {
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
pub(crate) fn has_alternatives_outside(expression: &str) -> bool {
    let mut depth = 0_usize;
    for (_, letter) in operators(expression) {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

/// The letters of an expression that may be operators, with their places: none that is escaped or in a class.
pub(crate) fn operators(expression: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut in_class, mut is_escaped) = (false, false);
    expression.char_indices().filter(move |(_, letter)| {
        let was_in_class = in_class;
        match letter {
            _ if is_escaped => {
                is_escaped = false;
                return false;
            }
            '\\' => is_escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            _ => return !was_in_class,
        }
        false
    })
}
