//! Routes as they are made, before they are written.

use std::sync::Arc;

use serow_router::{Redirect, RewriteTarget};
use serow_variables::{MapTable, Maps, Scope};

use super::{matching::Match, table::Table, value::Value};

/// A route.
#[derive(Clone, Debug)]
pub struct Route {
    /// The requests that it takes.
    pub matching: Match,
    /// Its other keys.
    pub table: Table,
}

impl Route {
    /// A route that takes these requests, without a handler yet.
    #[must_use]
    pub fn new(matching: Match) -> Self {
        Self { matching, table: Table::default() }
    }

    /// A rewrite after which all routes of the site are tried again.
    #[must_use]
    pub fn restarting(matching: Match, to: impl Into<Value>) -> Self {
        let mut route = Self::new(matching);
        let again = vec![("to".to_owned(), to.into()), ("restart".to_owned(), Value::Bool(true))];
        route.table.set("rewrite", Value::Table(again));
        route
    }

    /// A refusal in the place of routes that have no translation: those behind it must not take their requests.
    #[must_use]
    pub fn refusing(matching: Match, why: String) -> Self {
        let mut route = Self::new(matching);
        route.table.comment(why);
        route.table.set("respond", Value::Table(vec![("status".to_owned(), Value::Number(501))]));
        route
    }

    /// Whether it leads to other routes after a restart.
    #[must_use]
    pub fn restarts(&self) -> bool {
        matches!(self.table.get("rewrite"), Some(Value::Table(_)))
    }

    /// The reason why Serow refuses the target of its redirect or rewrite, where maps make these variables.
    #[must_use]
    pub fn refused_target(&self, maps: &[String]) -> Option<String> {
        let inner = |key: &str, inner: &str| match self.table.get(key)? {
            Value::Text(text) => Some(text.clone()),
            Value::Table(entries) => entries.iter().find_map(|(name, value)| match value {
                Value::Text(text) if name == inner => Some(text.clone()),
                _ => None,
            }),
            _ => None,
        };
        let table = |name: &String| MapTable { from: "$uri".to_owned(), to: name.clone(), ..MapTable::default() };
        let tables: Vec<MapTable> = maps.iter().map(table).collect();
        let scope = Scope::new(Arc::new(Maps::new(&tables).ok()?)).of_stars(9);
        let redirect = inner("redirect", "to").and_then(|to| Redirect::with_variables(&to, 302, &scope).err());
        let rewrite = inner("rewrite", "to").and_then(|to| RewriteTarget::with_variables(&to, &scope).err());
        redirect.map(|why| why.to_string()).or_else(|| rewrite.map(|why| why.to_string()))
    }

    /// It as a table of the settings file.
    #[must_use]
    pub fn into_table(self) -> Table {
        let mut table = self.table;
        let names_groups = table.entries.iter().any(|(_, value)| highest_group(value) > 0);
        self.matching.write(names_groups, &mut table);
        table
    }
}

/// The highest number of a group that a text in the value names, as in `$1`; 0 if none does.
#[must_use]
pub fn highest_group(value: &Value) -> usize {
    let of_text = |text: &str| {
        let text = text.replace("$$", "");
        let behind = text.split('$').skip(1).map(|behind| behind.trim_start_matches('{'));
        let number = |behind: &str| behind.chars().next()?.to_digit(10);
        behind.filter_map(number).max().unwrap_or(0) as usize
    };
    match value {
        Value::Text(text) => of_text(text),
        Value::List(values) => values.iter().map(highest_group).max().unwrap_or(0),
        Value::Table(entries) => entries.iter().map(|(_, value)| highest_group(value)).max().unwrap_or(0),
        Value::Number(_) | Value::Bool(_) => 0,
    }
}
