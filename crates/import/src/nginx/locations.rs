//! The locations of a server, and the order in which routes have the effect of nginx's choice among them.
//!
//! nginx takes an exact location at once; otherwise it remembers the longest prefix, looks into its nested locations in
//! the same way, then tries the regular expressions of this level in the order of the file, unless the prefix has `^~`, and
//! goes back to the prefix if none matches (`ngx_http_core_find_location`). Routes have one order: the first that matches
//! counts. A prefix that has regular expressions of its own, or `^~`, is therefore a block of routes before those of shorter
//! prefixes, in which the expressions of outer levels stand once more.

use std::rc::Rc;

use serow_nginx_syntax::{
    directive::Directive,
    pattern::{Beginning, Pattern, UnreadableError},
    scope::Scope,
};
use serow_settings_writer::matching::{Match, Paths, Within};

use crate::report::Notes;

/// Directives that pass requests to another server.
pub(super) const PASSES: &[&str] =
    &["proxy_pass", "fastcgi_pass", "uwsgi_pass", "scgi_pass", "grpc_pass", "memcached_pass"];

/// A location, or the server as a location for all paths.
#[derive(Debug)]
pub(crate) struct Location<'tree> {
    /// The directive.
    pub(crate) directive: &'tree Directive,
    /// Its block.
    pub(crate) scope: Rc<Scope<'tree>>,
    /// The paths that it matches.
    pub(crate) kind: Kind,
    /// Why nothing in it is translated: its expression is unreadable, and its paths are more than those that it matches.
    pub(crate) unreadable: Option<String>,
    /// The locations in it.
    nested: Vec<Location<'tree>>,
}

/// The paths that a location matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `location = /path`.
    Exact(String),
    /// `location /path`, and with `^~` the regular expressions of the same level are not tried.
    Prefix { path: String, stops: bool },
    /// `location ~ expression`.
    Expression(Pattern),
    /// `location @name`.
    Named(String),
}

impl Kind {
    /// Whether it may be for folders without a slash at their end: most expressions are for endings of files.
    pub(crate) fn takes_folders(&self) -> bool {
        matches!(self, Self::Prefix { .. })
    }
}

/// A step of the order.
#[derive(Debug)]
pub(crate) enum Choice<'a, 'tree> {
    /// This location, for paths within others.
    Location(&'a Location<'tree>, Vec<Within>),
    /// A redirect to a path with a slash at its end, since the location has `proxy_pass` or the like.
    AddSlash(&'a Location<'tree>, String),
}

impl<'tree> Location<'tree> {
    /// The server as a location for all paths.
    pub(crate) fn of_server(server: &'tree Directive, scope: &Rc<Scope<'tree>>, notes: &Notes) -> Self {
        let kind = Kind::Prefix { path: String::new(), stops: false };
        Self {
            directive: server,
            scope: Rc::clone(scope),
            kind,
            unreadable: None,
            nested: nested(server, scope, notes),
        }
    }

    fn new(directive: &'tree Directive, around: &Rc<Scope<'tree>>, notes: &Notes) -> Option<Self> {
        let scope = around.inner(directive);
        let (kind, unreadable) = match kind(directive) {
            Ok(kind) => (kind, None),
            Err(NoKind::Invalid(why)) => {
                notes.lost_with_all(directive, &why);
                return None;
            }
            Err(NoKind::Expression(UnreadableError { why, around })) => {
                notes.lost_with_all(directive, &why);
                (Kind::Expression(around), Some(why))
            }
        };
        let nested = if unreadable.is_some() { Vec::new() } else { nested(directive, &scope, notes) };
        Some(Self { directive, scope, kind, unreadable, nested })
    }

    /// The requests that it takes, within others.
    pub(crate) fn matching(&self, within: Vec<Within>) -> Match {
        let paths = match &self.kind {
            Kind::Prefix { path, .. } if path.is_empty() => Paths::Prefix("/".to_owned()),
            Kind::Prefix { path, .. } => Paths::Prefix(path.clone()),
            Kind::Exact(path) => Paths::Exact(path.clone()),
            Kind::Expression(pattern) => Paths::Expression(pattern.clone()),
            Kind::Named(_) => Paths::Prefix("/".to_owned()),
        };
        Match::within(paths, within)
    }

    /// Whether no path is like that of the location: all begin with a slash.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.path().is_some_and(|path| !path.is_empty() && !path.starts_with('/'))
    }

    /// The path that it is for, or that its paths begin with.
    pub(crate) fn path(&self) -> Option<&str> {
        match &self.kind {
            Kind::Exact(path) | Kind::Prefix { path, .. } => Some(path),
            Kind::Expression(_) | Kind::Named(_) => None,
        }
    }

    /// Whether it is for one path.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.kind, Kind::Exact(_))
    }

    /// The named locations of the server.
    pub(crate) fn named(&self, name: &str) -> Option<&Self> {
        self.nested.iter().find(|location| matches!(&location.kind, Kind::Named(own) if own == name))
    }

    /// All locations below it.
    pub(crate) fn all(&self) -> Vec<&Self> {
        let mut all = Vec::new();
        for location in &self.nested {
            all.push(location);
            all.extend(location.all());
        }
        all
    }

    /// The variables that it sets, if it leads on to other locations: these get their values.
    pub(crate) fn carried_variables(&self) -> Vec<&'tree str> {
        let inner = |directive: &'tree Directive| match directive.name() {
            "if" => directive.children().iter().collect(),
            _ => vec![directive],
        };
        let steps: Vec<&Directive> = self.scope.directives.iter().flat_map(inner).collect();
        let leads_on = |step: &&Directive| match step.name() {
            "rewrite" => {
                let is_path =
                    step.word(1).is_some_and(|target| target.starts_with(['/', '$']) && !target.starts_with("$scheme"));
                is_path && matches!(step.word(2), None | Some("last"))
            }
            "try_files" => step.texts().last().is_some_and(|last| last.starts_with('/')),
            _ => false,
        };
        if !steps.iter().any(leads_on) {
            return Vec::new();
        }
        let names = steps.iter().filter(|step| step.name() == "set").filter_map(|set| set.word(0));
        names.map(|name| name.trim_start_matches('$')).collect()
    }

    fn has_pass(&self) -> bool {
        PASSES.iter().any(|name| self.scope.own_one(name).is_some())
    }

    /// The order of its locations, with itself at the end.
    pub(crate) fn order(&self) -> Vec<Choice<'_, 'tree>> {
        let mut order = Vec::new();
        self.append_order(&[], &[], &mut order);
        order
    }

    /// Appends the steps for paths of which this is the longest prefix, or that it matches: its nested locations, then the
    /// expressions of outer levels, then itself.
    fn append_order<'a>(&'a self, outer: &[&'a Self], within: &[Within], order: &mut Vec<Choice<'a, 'tree>>) {
        self.append_exact(&|_| true, within, order);
        let mut expressions: Vec<&Self> =
            self.nested.iter().filter(|location| matches!(location.kind, Kind::Expression(_))).collect();
        expressions.extend(outer);
        let (blocks, simple) = self.prefixes();
        for prefix in blocks {
            let Kind::Prefix { path, stops } = &prefix.kind else { continue };
            let behind = if *stops { outer } else { &expressions };
            let mut inside = within.to_vec();
            inside.push(Within::Prefix(path.clone()));
            prefix.append_order(behind, &inside, order);
        }
        for prefix in &simple {
            let is_longest =
                |path: &str| self.longest_prefix(path).is_some_and(|longest| std::ptr::eq(longest, *prefix));
            prefix.append_exact(&is_longest, within, order);
        }
        for expression in expressions {
            let Kind::Expression(pattern) = &expression.kind else { continue };
            let Some(needed) = needed(pattern, within) else { continue };
            let mut inside = needed.clone();
            inside.extend(Within::of(pattern));
            expression.append_nested(&inside, order);
            order.push(Choice::Location(expression, needed));
        }
        for prefix in simple {
            order.push(Choice::Location(prefix, needed_by_prefix(prefix, within)));
        }
        if !matches!(self.kind, Kind::Expression(_)) {
            order.push(Choice::Location(self, needed_by_prefix(self, within)));
        }
    }

    /// Appends the nested locations of an expression.
    fn append_nested<'a>(&'a self, within: &[Within], order: &mut Vec<Choice<'a, 'tree>>) {
        if !self.nested.is_empty() {
            self.append_order(&[], within, order);
        }
    }

    /// The nested location that nginx chooses by its prefix.
    fn longest_prefix(&self, path: &str) -> Option<&Self> {
        let fitting =
            self.nested.iter().filter(|location| location.prefix().is_some_and(|prefix| path.starts_with(prefix)));
        fitting.max_by_key(|location| location.prefix().map(str::len))
    }

    /// Appends the nested locations for exact paths, and the redirects to a slash: nginx tries nothing else for them.
    fn append_exact<'a>(
        &'a self,
        is_reached: &dyn Fn(&str) -> bool,
        within: &[Within],
        order: &mut Vec<Choice<'a, 'tree>>,
    ) {
        let is_taken = |path: &str| {
            self.nested.iter().any(|other| match &other.kind {
                Kind::Exact(other) | Kind::Prefix { path: other, .. } => other == path,
                Kind::Expression(_) | Kind::Named(_) => false,
            })
        };
        let expressions = || within.iter().filter(|within| !matches!(within, Within::Prefix(_))).cloned().collect();
        for location in &self.nested {
            match &location.kind {
                Kind::Exact(path) if !is_reached(path) => {}
                Kind::Exact(_) => order.push(Choice::Location(location, expressions())),
                Kind::Prefix { path, .. } if location.has_pass() => {
                    let short = path.strip_suffix('/').filter(|short| !short.is_empty() && !is_taken(short));
                    if let Some(short) = short.filter(|short| is_reached(short)) {
                        order.push(Choice::AddSlash(location, short.to_owned()));
                    }
                }
                Kind::Prefix { .. } | Kind::Expression(_) | Kind::Named(_) => {}
            }
        }
    }

    /// The nested prefixes from the longest to the shortest: those that are blocks of their own, and those that can follow
    /// the expressions of this level.
    fn prefixes<'a>(&'a self) -> (Vec<&'a Self>, Vec<&'a Self>) {
        let mut all: Vec<(&str, &'a Self)> =
            self.nested.iter().filter_map(|location| Some((location.prefix()?, location))).collect();
        all.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        let is_own_block = |location: &Self| {
            let stops = matches!(location.kind, Kind::Prefix { stops: true, .. });
            stops || location.nested.iter().any(|nested| !matches!(nested.kind, Kind::Named(_) | Kind::Exact(_)))
        };
        // A path below one that is a block has to be one, too, before it.
        let is_below_block = |path: &str| {
            all.iter()
                .any(|(other, location)| other.len() < path.len() && path.starts_with(other) && is_own_block(location))
        };
        let (blocks, simple): (Vec<_>, Vec<_>) =
            all.iter().partition(|(path, location)| is_own_block(location) || is_below_block(path));
        let locations = |pairs: Vec<(&str, &'a Self)>| pairs.into_iter().map(|(_, location)| location).collect();
        (locations(blocks), locations(simple))
    }

    fn prefix(&self) -> Option<&str> {
        match &self.kind {
            Kind::Prefix { path, .. } => Some(path),
            Kind::Exact(_) | Kind::Expression(_) | Kind::Named(_) => None,
        }
    }
}

fn nested<'tree>(directive: &'tree Directive, scope: &Rc<Scope<'tree>>, notes: &Notes) -> Vec<Location<'tree>> {
    let locations = directive.children().iter().filter(|directive| directive.name() == "location");
    locations.filter_map(|location| Location::new(location, scope, notes)).collect()
}

/// A location without paths that Serow has.
enum NoKind {
    /// nginx refuses it, too; the reason.
    Invalid(String),
    /// Its expression has no equal.
    Expression(UnreadableError),
}

/// The paths that a directive `location` matches.
fn kind(directive: &Directive) -> Result<Kind, NoKind> {
    let words: Vec<&str> = directive.texts().collect();
    // The sign may stand at the path without a space, as in `location ~^/a`.
    let (sign, path) = match words.as_slice() {
        [sign, path] => (*sign, *path),
        [word] => {
            ["~*", "^~", "~", "="].iter().find_map(|sign| Some((*sign, word.strip_prefix(sign)?))).unwrap_or(("", word))
        }
        _ => return Err(NoKind::Invalid("a location has one path, with a sign before it or without".to_owned())),
    };
    match sign {
        "" if path.starts_with('@') => Ok(Kind::Named(path[1..].to_owned())),
        "" => Ok(Kind::Prefix { path: path.to_owned(), stops: false }),
        "=" => Ok(Kind::Exact(path.to_owned())),
        "^~" => Ok(Kind::Prefix { path: path.to_owned(), stops: true }),
        "~" | "~*" => Pattern::of_location(path, sign == "~*").map(Kind::Expression).map_err(NoKind::Expression),
        other => Err(NoKind::Invalid(format!("`{other}` is not a sign of a location: they are =, ^~, ~ and ~*"))),
    }
}

/// Those of the conditions that an expression does not fulfil by itself; nothing if it can never fulfil them.
fn needed(pattern: &Pattern, within: &[Within]) -> Option<Vec<Within>> {
    let mut needed = Vec::new();
    for within in innermost(within) {
        match &within {
            Within::Prefix(prefix) => match pattern.beginning(prefix) {
                Beginning::All => {}
                Beginning::Some => needed.push(within),
                Beginning::None => return None,
            },
            Within::Expression(_) | Within::Except(_) => needed.push(within),
        }
    }
    needed.extend(pattern.except().map(Within::Except));
    Some(needed)
}

fn needed_by_prefix(location: &Location<'_>, within: &[Within]) -> Vec<Within> {
    let path = location.prefix().unwrap_or_default();
    innermost(within)
        .into_iter()
        .filter(|within| !matches!(within, Within::Prefix(prefix) if path.starts_with(prefix)))
        .collect()
}

/// The conditions without prefixes that a longer one implies, or all paths have.
fn innermost(within: &[Within]) -> Vec<Within> {
    let is_implied = |prefix: &str, position: usize| {
        within.iter().enumerate().any(|(other, longer)| {
            matches!(longer, Within::Prefix(longer) if longer.starts_with(prefix) && (longer.len(), other) > (prefix.len(), position))
        })
    };
    let pairs = within.iter().enumerate();
    pairs
        .filter(|(position, within)| {
            !matches!(within, Within::Prefix(prefix) if prefix == "/" || is_implied(prefix, *position))
        })
        .map(|(_, within)| within.clone())
        .collect()
}
