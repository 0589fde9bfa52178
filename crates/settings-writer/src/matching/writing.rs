//! The requests that a route takes, as keys of its table.

use serow_nginx_syntax::pattern::escaped;
use serow_router::PathPattern;

use super::{Condition, Match, Paths, Within};
use crate::{table::Table, value::Value};

impl Match {
    /// Writes it into the table of a route, at its beginning.
    pub fn write(&self, names_groups: bool, route: &mut Table) {
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
    #[must_use]
    pub fn is_path_itself(&self, target: &str) -> bool {
        let (mut table, path) = (Table::default(), target.split('?').next().unwrap_or_default());
        self.write(true, &mut table);
        table.entries.len() == 1 && table.get("path") == Some(&Value::Text(path.replacen("$1", "*", 1)))
    }

    /// Whether two conditions are on the same name, of which a table can have only one.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        let conditions = self.conditions.iter().map(|condition| (condition.kind, condition.name.as_str()));
        let mut seen: Vec<(&str, &str)> = conditions.collect();
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        let names_path = seen.iter().any(|(_, name)| ["uri", "document_uri"].contains(name));
        let conditions = self.needed().len().max(usize::from(!self.except().is_empty()));
        seen.len() == count && self.methods.len() < 2 && conditions <= if names_path { 0 } else { 2 }
    }

    fn when(&self) -> Table {
        let mut when = Table::default();
        let mut named: Vec<(&str, Vec<(String, Value)>)> = Vec::new();
        // Two names of the same value: a table has a name once. Those that must not match can stand beside another one.
        let names = ["uri", "document_uri"].into_iter();
        let (needed, mut except) = (self.needed(), self.except());
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
    fn needed(&self) -> Vec<String> {
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
}

/// Whether the pattern of a path can have this text, and stands for it alone.
fn is_plain(path: &str) -> bool {
    !path.contains('*') && path.parse::<PathPattern>().is_ok()
}
