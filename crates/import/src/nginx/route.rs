//! Routes as they are made, before they are written.

use super::matching::Match;
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
