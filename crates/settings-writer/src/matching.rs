//! The requests that a route takes: its path and its conditions.

mod writing;

use serow_nginx_syntax::pattern::{Beginning, Pattern, escaped};

/// The requests that a route takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
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
pub struct Condition {
    /// `header`, `cookie`, `variable`, `host`, `scheme`, `client`, `file`.
    pub kind: &'static str,
    /// The name of the field, cookie or variable.
    pub name: String,
    /// The patterns, of which one has to match.
    pub patterns: Vec<String>,
}

impl Condition {
    /// A condition of a kind that has no names.
    #[must_use]
    pub fn unnamed(kind: &'static str, patterns: Vec<String>) -> Self {
        Self { kind, name: String::new(), patterns }
    }

    /// The condition that a variable is neither empty nor `0`.
    #[must_use]
    pub fn is_true(variable: String) -> Self {
        Self { kind: "variable", name: variable, patterns: vec!["!".to_owned(), "!0".to_owned()] }
    }
}

/// The paths of the requests that a route takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paths {
    /// One path.
    Exact(String),
    /// Those that begin with this text.
    Prefix(String),
    /// Those that this expression matches.
    Expression(Pattern),
}

/// A further condition on the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Within {
    /// The path begins with this text.
    Prefix(String),
    /// The path matches this expression.
    Expression(Pattern),
    /// The path does not match this expression.
    Except(Pattern),
}

impl Within {
    /// The conditions that the paths of an expression fulfil.
    pub fn of(pattern: &Pattern) -> impl Iterator<Item = Self> {
        std::iter::once(Self::Expression(pattern.clone())).chain(pattern.except().map(Self::Except))
    }
}

impl Match {
    /// The requests for all paths.
    #[must_use]
    pub fn all() -> Self {
        Self { paths: Paths::Prefix("/".to_owned()), within: Vec::new(), methods: Vec::new(), conditions: Vec::new() }
    }

    /// The requests for these paths, where they also meet further conditions.
    #[must_use]
    pub fn within(paths: Paths, within: Vec<Within>) -> Self {
        Self { paths, within, ..Self::all() }
    }

    /// The requests for a single path.
    #[must_use]
    pub fn exact(path: &str) -> Self {
        Self { paths: Paths::Exact(path.to_owned()), ..Self::all() }
    }

    /// All requests for its paths.
    #[must_use]
    pub fn without_conditions(&self) -> Self {
        Self { paths: self.paths.clone(), ..Self::all() }
    }

    /// Those of the requests for one path.
    #[must_use]
    pub fn only(&self, path: &str) -> Self {
        Self { paths: Paths::Exact(path.to_owned()), ..self.clone() }
    }

    /// Those of the requests whose path begins with a text.
    #[must_use]
    pub fn below(&self, prefix: &str) -> Self {
        Self { paths: Paths::Prefix(prefix.to_owned()), ..self.clone() }
    }

    /// The exact path that it takes.
    #[must_use]
    pub fn exact_path(&self) -> Option<&str> {
        match &self.paths {
            Paths::Exact(path) => Some(path),
            Paths::Prefix(_) | Paths::Expression(_) => None,
        }
    }

    /// Whether it takes only names with endings, as files have.
    #[must_use]
    pub fn is_for_files(&self) -> bool {
        match &self.paths {
            Paths::Exact(path) => path.rsplit('/').next().is_some_and(|name| name.contains('.')),
            Paths::Prefix(_) => false,
            Paths::Expression(pattern) => pattern.expression().ends_with('$') && pattern.expression().contains("\\."),
        }
    }

    /// All its paths, if they are a few.
    #[must_use]
    pub fn few_paths(&self) -> Option<Vec<String>> {
        match &self.paths {
            Paths::Exact(path) => Some(vec![path.clone()]),
            Paths::Prefix(_) => None,
            Paths::Expression(pattern) => pattern.few_paths(),
        }
    }

    /// Whether it takes folders without the files in them: an exact path, or an expression with an end.
    #[must_use]
    pub fn excludes_files_below(&self) -> bool {
        match &self.paths {
            Paths::Exact(path) => path.ends_with('/'),
            Paths::Prefix(_) => false,
            Paths::Expression(pattern) => pattern.may_end_with_slash(),
        }
    }

    /// The prefix of paths that it takes.
    #[must_use]
    pub fn prefix(&self) -> Option<&str> {
        match &self.paths {
            Paths::Prefix(path) => Some(path),
            Paths::Exact(_) | Paths::Expression(_) => None,
        }
    }

    /// Those of the requests whose path also matches an expression, whose groups the texts of the route can name. Nothing if
    /// there are none.
    #[must_use]
    pub fn and_expression(&self, pattern: &Pattern) -> Option<Self> {
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
    #[must_use]
    pub fn and(&self, condition: Condition) -> Self {
        let mut and = self.clone();
        and.conditions.push(condition);
        and
    }

    /// Those of the requests with this method; nothing if it has another one already.
    #[must_use]
    pub fn and_method(&self, method: &str) -> Self {
        let mut and = self.clone();
        and.methods.push(method.to_owned());
        and
    }

    /// Whether the requests have a method that files do not have.
    #[must_use]
    pub fn changes_files(&self) -> bool {
        self.methods.iter().any(|method| !matches!(method.as_str(), "GET" | "HEAD"))
    }

    /// The number of groups that the texts of a route can name.
    #[must_use]
    pub fn groups(&self) -> usize {
        match &self.paths {
            Paths::Exact(_) => 0,
            // Its star, or what an expression has in its place.
            Paths::Prefix(_) => 1,
            Paths::Expression(pattern) => pattern.groups(),
        }
    }

    /// The expression of its paths.
    #[must_use]
    pub fn expression(&self) -> Option<&Pattern> {
        match &self.paths {
            Paths::Expression(pattern) => Some(pattern),
            Paths::Exact(_) | Paths::Prefix(_) => None,
        }
    }
}
