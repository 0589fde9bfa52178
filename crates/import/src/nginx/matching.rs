//! The requests that a route takes: its path and its conditions.

use serow_router::PathPattern;

use serow_nginx_syntax::pattern::{Beginning, Pattern, escaped};

use super::locations::{Kind, Location, Within};
use crate::settings::{table::Table, value::Value};

/// The requests that a route takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    paths: Paths,
    /// Further conditions on the path, as patterns of the variable `uri`.
    within: Vec<Within>,
    /// Methods of the requests: all, if there are none.
    methods: Vec<String>,
    /// Conditions: the kind, the name unless the kind has none, and the pattern.
    conditions: Vec<Condition>,
}

/// A condition of `when`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    /// `header`, `cookie`, `variable`, `host`, `scheme`, `client`, `file`.
    pub(crate) kind: &'static str,
    /// The name of the field, cookie or variable.
    pub(crate) name: String,
    /// The patterns, of which one has to match.
    pub(crate) patterns: Vec<String>,
}

impl Condition {
    /// A condition of a kind that has no names.
    pub(crate) fn unnamed(kind: &'static str, patterns: Vec<String>) -> Self {
        Self { kind, name: String::new(), patterns }
    }

    /// The condition that a variable is neither empty nor `0`.
    pub(crate) fn is_true(variable: String) -> Self {
        Self { kind: "variable", name: variable, patterns: vec!["!".to_owned(), "!0".to_owned()] }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Paths {
    Exact(String),
    Prefix(String),
    Expression(Pattern),
}

impl Match {
    /// The requests for all paths.
    pub(crate) fn all() -> Self {
        Self { paths: Paths::Prefix("/".to_owned()), within: Vec::new(), methods: Vec::new(), conditions: Vec::new() }
    }

    /// The requests that a location takes, within others.
    pub(crate) fn of(location: &Location<'_>, within: Vec<Within>) -> Self {
        let paths = match &location.kind {
            Kind::Exact(path) => Paths::Exact(path.clone()),
            Kind::Prefix { path, .. } if path.is_empty() => Paths::Prefix("/".to_owned()),
            Kind::Prefix { path, .. } => Paths::Prefix(path.clone()),
            Kind::Expression(pattern) => Paths::Expression(pattern.clone()),
            Kind::Named(_) => Paths::Prefix("/".to_owned()),
        };
        Self { paths, within, ..Self::all() }
    }

    /// The requests for a single path.
    pub(crate) fn exact(path: &str) -> Self {
        Self { paths: Paths::Exact(path.to_owned()), ..Self::all() }
    }

    /// All requests for its paths.
    pub(crate) fn without_conditions(&self) -> Self {
        Self { paths: self.paths.clone(), ..Self::all() }
    }

    /// Those of the requests for one path.
    pub(crate) fn only(&self, path: &str) -> Self {
        Self { paths: Paths::Exact(path.to_owned()), ..self.clone() }
    }

    /// Those of the requests whose path begins with a text.
    pub(crate) fn below(&self, prefix: &str) -> Self {
        Self { paths: Paths::Prefix(prefix.to_owned()), ..self.clone() }
    }

    /// The exact path that it takes.
    pub(crate) fn exact_path(&self) -> Option<&str> {
        match &self.paths {
            Paths::Exact(path) => Some(path),
            Paths::Prefix(_) | Paths::Expression(_) => None,
        }
    }

    /// Whether it takes only names with endings, as files have.
    pub(crate) fn is_for_files(&self) -> bool {
        match &self.paths {
            Paths::Exact(path) => path.rsplit('/').next().is_some_and(|name| name.contains('.')),
            Paths::Prefix(_) => false,
            Paths::Expression(pattern) => pattern.expression().ends_with('$') && pattern.expression().contains("\\."),
        }
    }

    /// All its paths, if they are a few.
    pub(crate) fn few_paths(&self) -> Option<Vec<String>> {
        match &self.paths {
            Paths::Exact(path) => Some(vec![path.clone()]),
            Paths::Prefix(_) => None,
            Paths::Expression(pattern) => pattern.few_paths(),
        }
    }

    /// Whether it takes folders without the files in them: an exact path, or an expression with an end.
    pub(crate) fn excludes_files_below(&self) -> bool {
        match &self.paths {
            Paths::Exact(path) => path.ends_with('/'),
            Paths::Prefix(_) => false,
            Paths::Expression(pattern) => pattern.may_end_with_slash(),
        }
    }

    /// The prefix of paths that it takes.
    pub(crate) fn prefix(&self) -> Option<&str> {
        match &self.paths {
            Paths::Prefix(path) => Some(path),
            Paths::Exact(_) | Paths::Expression(_) => None,
        }
    }

    /// Those of the requests whose path also matches an expression, whose groups the texts of the route can name. Nothing if
    /// there are none.
    pub(crate) fn and_expression(&self, pattern: &Pattern) -> Option<Self> {
        if matches!(pattern.expression(), "^" | "" | "^/" | ".*" | "^.*$" | "^/.*$" | "^.*") && pattern.groups() == 0 {
            return Some(self.clone());
        }
        let mut within = self.within.clone();
        match &self.paths {
            Paths::Prefix(path) if path == "/" => {}
            Paths::Prefix(path) => match pattern.beginning(path) {
                Beginning::All => {}
                Beginning::Some => within.push(Within::Prefix(path.clone())),
                Beginning::None => return None,
            },
            Paths::Exact(path) if !pattern.matches(path) => return None,
            Paths::Exact(path) => {
                let only = Pattern::new(&format!("^{}$", escaped(path)), false).ok()?;
                within.push(Within::Expression(only));
            }
            Paths::Expression(other) if other == pattern => {}
            Paths::Expression(other) => within.push(Within::Expression(other.clone())),
        }
        Some(Self { paths: Paths::Expression(pattern.clone()), within, ..self.clone() })
    }

    /// Those of the requests that meet a condition.
    pub(crate) fn and(&self, condition: Condition) -> Self {
        let mut and = self.clone();
        and.conditions.push(condition);
        and
    }

    /// Those of the requests with this method; nothing if it has another one already.
    pub(crate) fn and_method(&self, method: &str) -> Self {
        let mut and = self.clone();
        and.methods.push(method.to_owned());
        and
    }

    /// Whether the requests have a method that files do not have.
    pub(crate) fn changes_files(&self) -> bool {
        self.methods.iter().any(|method| !matches!(method.as_str(), "GET" | "HEAD"))
    }

    /// Writes it into the table of a route, at its beginning.
    pub(crate) fn write(&self, names_groups: bool, route: &mut Table) {
        let mut table = Table::default();
        match &self.paths {
            Paths::Exact(path) if is_plain(path) => table.set("path", path.as_str()),
            Paths::Prefix(path) if is_plain(path) => table.set("path", format!("{path}*")),
            Paths::Exact(path) => table.set("path-regex", format!("^{}$", escaped(path))),
            Paths::Prefix(path) if names_groups => table.set("path-regex", format!("^{}(.*)$", escaped(path))),
            Paths::Prefix(path) => table.set("path-regex", format!("^{}", escaped(path))),
            Paths::Expression(pattern) => {
                let captured = pattern.as_path_with_capture();
                match pattern.as_paths().filter(|_| !names_groups) {
                    Some(paths) => table.set("path", Value::texts(paths)),
                    None if captured.is_some() => table.set_some("path", captured),
                    None => table.set("path-regex", pattern.written()),
                }
            }
        }
        if !self.methods.is_empty() {
            table.set("methods", Value::texts(self.methods.iter().cloned()));
        }
        let when = self.when();
        if !when.is_empty() {
            table.set("when", when.into_value());
        }
        table.entries.append(&mut route.entries);
        route.entries = table.entries;
    }

    /// Whether this is the path itself of each request that it takes.
    pub(crate) fn is_path_itself(&self, target: &str) -> bool {
        let (mut table, path) = (Table::default(), target.split('?').next().unwrap_or_default());
        self.write(true, &mut table);
        table.entries.len() == 1 && table.get("path") == Some(&Value::Text(path.replacen("$1", "*", 1)))
    }

    /// The number of groups that the texts of a route can name.
    pub(crate) fn groups(&self) -> usize {
        match &self.paths {
            Paths::Exact(_) => 0,
            // Its star, or what an expression has in its place.
            Paths::Prefix(_) => 1,
            Paths::Expression(pattern) => pattern.groups(),
        }
    }

    /// The expression of its paths.
    pub(crate) fn expression(&self) -> Option<&Pattern> {
        match &self.paths {
            Paths::Expression(pattern) => Some(pattern),
            Paths::Exact(_) | Paths::Prefix(_) => None,
        }
    }

    fn when(&self) -> Table {
        let mut when = Table::default();
        let mut named: Vec<(&str, Vec<(String, Value)>)> = Vec::new();
        // Two names of the same value: a table has a name once. Those that must not match can stand beside another one.
        let names = ["uri", "document_uri"].into_iter();
        let (needed, mut except) = (self.within(), self.except());
        let mut patterns: Vec<Vec<String>> = needed.into_iter().map(|pattern| vec![pattern]).collect();
        match patterns.first_mut() {
            Some(first) => first.append(&mut except),
            None if !except.is_empty() => patterns.push(except),
            None => {}
        }
        let paths = patterns.into_iter().zip(names).map(|(patterns, name)| Condition {
            kind: "variable",
            name: name.to_owned(),
            patterns,
        });
        for condition in self.conditions.iter().cloned().chain(paths) {
            let value = Value::texts(condition.patterns);
            if condition.name.is_empty() {
                when.set(condition.kind, value);
                continue;
            }
            match named.iter_mut().find(|(kind, _)| *kind == condition.kind) {
                Some((_, entries)) => entries.push((condition.name, value)),
                None => named.push((condition.kind, vec![(condition.name, value)])),
            }
        }
        for (kind, entries) in named {
            when.set(kind, Value::Table(entries));
        }
        when
    }

    /// The patterns of the path, each once, without those that the path or another one implies.
    fn within(&self) -> Vec<String> {
        let implies = |start: &str| self.prefix().or(self.exact_path()).is_some_and(|path| path.starts_with(start));
        let mut needed: Vec<String> = Vec::new();
        for within in &self.within {
            let (is_implied, written) = match within {
                Within::Prefix(prefix) => {
                    let is_shorter = |other: &Within| matches!(other, Within::Prefix(other) if other.len() > prefix.len() && other.starts_with(prefix.as_str()));
                    (implies(prefix) || self.within.iter().any(is_shorter), format!("~^{}", escaped(prefix)))
                }
                Within::Expression(pattern) => (
                    self.paths == Paths::Expression(pattern.clone())
                        || self.exact_path().is_some_and(|path| pattern.matches(path)),
                    pattern.written_as_condition(),
                ),
                Within::Except(_) => continue,
            };
            if !is_implied && !needed.contains(&written) {
                needed.push(written);
            }
        }
        needed
    }

    /// The patterns that the path must not match, each once.
    fn except(&self) -> Vec<String> {
        let mut except: Vec<String> = Vec::new();
        for within in &self.within {
            if let Within::Except(pattern) = within
                && self.exact_path().is_none_or(|path| pattern.matches(path))
            {
                let written = format!("!{}", pattern.written_as_condition());
                if !except.contains(&written) {
                    except.push(written);
                }
            }
        }
        except
    }

    /// Whether two conditions are on the same name, of which a table can have only one.
    pub(crate) fn is_writable(&self) -> bool {
        let conditions = self.conditions.iter().map(|condition| (condition.kind, condition.name.as_str()));
        let mut seen: Vec<(&str, &str)> = conditions.collect();
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        let names_path = seen.iter().any(|(_, name)| ["uri", "document_uri"].contains(name));
        let conditions = self.within().len().max(usize::from(!self.except().is_empty()));
        seen.len() == count && self.methods.len() < 2 && conditions <= if names_path { 0 } else { 2 }
    }
}

/// Whether the pattern of a path can have this text, and stands for it alone.
fn is_plain(path: &str) -> bool {
    !path.contains('*') && path.parse::<PathPattern>().is_ok()
}
