//! Routes as they are made, before they are written.

use super::{handler::Handler, matching::Match};
use crate::settings::{table::Table, value::Value};

/// A route.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// The requests that it takes.
    pub(crate) matching: Match,
    /// Its other keys.
    pub(crate) table: Table,
}

impl Route {
    pub(crate) fn new(matching: Match) -> Self {
        Self { matching, table: Table::default() }
    }

    /// A rewrite after which all routes of the site are tried again.
    pub(crate) fn restarting(matching: Match, to: impl Into<Value>) -> Self {
        let mut route = Self::new(matching);
        let again = vec![("to".to_owned(), to.into()), ("restart".to_owned(), Value::Bool(true))];
        route.table.set("rewrite", Value::Table(again));
        route
    }

    /// A refusal in the place of routes that have no translation: those behind it must not take their requests.
    pub(crate) fn refusing(matching: Match, why: String) -> Self {
        let mut route = Self::new(matching);
        route.table.comment(why);
        route.table.set("respond", Handler::responding(501).table.into_value());
        route
    }

    /// Whether it leads to other routes after a restart.
    pub(crate) fn restarts(&self) -> bool {
        matches!(self.table.get("rewrite"), Some(Value::Table(_)))
    }

    /// It as a table of the settings file.
    pub(crate) fn into_table(self) -> Table {
        let mut table = self.table;
        let names_groups = table.entries.iter().any(|(_, value)| names_group(value));
        self.matching.write(names_groups, &mut table);
        table
    }
}

/// Whether a text in the value has `$1` or the like.
fn names_group(value: &Value) -> bool {
    match value {
        Value::Text(text) => text
            .replace("$$", "")
            .split('$')
            .skip(1)
            .any(|behind| behind.trim_start_matches('{').starts_with(|first: char| first.is_ascii_digit())),
        Value::List(values) => values.iter().any(names_group),
        Value::Table(entries) => entries.iter().any(|(_, value)| names_group(value)),
        Value::Number(_) | Value::Bool(_) => false,
    }
}
