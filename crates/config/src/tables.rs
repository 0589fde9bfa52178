//! A table of a settings file that several types read, each the keys it knows. A key that none of them knows is a
//! problem.

pub mod access;
pub mod applications;
pub mod cache;
pub mod cgi;
pub mod client_certificate;
pub mod client_limits;
pub mod compression;
pub mod docker;
pub mod error_pages;
pub mod forward_auth;
pub mod handlers;
pub mod header_rules;
mod independence;
pub mod jwt;
pub mod kinds;
pub mod login;
pub mod logs;
pub mod maps;
pub mod matching;
pub mod meant;
pub mod mirror;
pub mod mounting;
pub mod nginx;
pub mod other_servers;
pub mod php;
pub mod policies;
pub mod redis;
pub mod root;
mod site_properties;
pub mod sites;
pub mod upstreams;

use serde::Deserialize;
use serow_document::{
    Place, Problem, Problems, Table, Value, deserializer,
    names::{self, Telling},
};
use toml::{Spanned, de::DeValue};

/// A table that is being read.
pub struct TableReading<'t, 'p> {
    table: &'t Table<'t>,
    /// The table that has this one at a key of its own.
    parent: Option<&'t Table<'t>>,
    place: Place,
    problems: &'p Problems,
    known: Vec<&'static str>,
    /// Keys that are missing, perhaps because they are misspelled: an unknown key that is similar is reported instead.
    missing: Vec<(&'static str, Problem)>,
}

impl<'t, 'p> TableReading<'t, 'p> {
    /// A table at this place.
    pub fn new(table: &'t Table<'t>, place: Place, problems: &'p Problems) -> Self {
        Self { table, parent: None, place, problems, known: Vec::new(), missing: Vec::new() }
    }

    /// Where the table is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Reads the keys of the table that a type knows; nothing where one of them is wrong. A wrong key is left out and
    /// the rest read again, so that all errors are found.
    pub fn settings<T: Deserialize<'t>>(&mut self) -> Option<T> {
        let mut without = Vec::new();
        loop {
            let problem = match deserializer::read_table(self.table, &self.place, &without, &mut self.known) {
                Ok(settings) if without.is_empty() => return Some(settings),
                Ok(_) => return None,
                Err(problem) => problem,
            };
            let key = problem.place().and_then(|place| place.key_below(&self.place)).map(str::to_owned);
            match problem.missing() {
                // A key that is missing because it was wrong has been reported.
                Some(missing) if without.iter().any(|key| key == missing) => {}
                Some(missing) => self.missing.push((missing, problem)),
                None => self.problems.add(meant::explained(problem, self.table, &self.place)),
            }
            match key {
                Some(key) if !without.contains(&key) => without.push(key),
                _ => return None,
            }
        }
    }

    /// The value of a key that is read elsewhere.
    fn value(&mut self, key: &'static str) -> Option<&'t Value<'t>> {
        self.known.push(key);
        self.table.get(key)
    }

    /// The table at a key, in which this other key says the most.
    pub fn table(&mut self, key: &'static str, main: &str) -> Option<TableReading<'t, 'p>> {
        let value = self.value(key)?;
        let place = self.place.key(key);
        match value.get_ref() {
            DeValue::Table(table) => Some(Self { parent: Some(self.table), ..Self::new(table, place, self.problems) }),
            DeValue::String(text) => self.refuse(place, meant::table_of_text(key, main, text)),
            DeValue::Integer(number) => self.refuse(place, meant::table_of_number(key, main, &number.to_string())),
            _ => self.refuse(place, format!("expected a table, as in {{ {main} = value }}")),
        }
    }

    fn refuse<T>(&self, place: Place, text: String) -> Option<T> {
        self.problems.add(Problem::of_value(place, text));
        None
    }

    /// The tables of an array, `[[key]]`.
    pub fn tables(&mut self, key: &'static str) -> Vec<TableReading<'t, 'p>> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let place = self.place.key(key);
        let expected = format!("expected tables: begin each with [[{}]]", place.header());
        let DeValue::Array(elements) = value.get_ref() else {
            self.problems.add(Problem::of_value(place, expected));
            return Vec::new();
        };
        let mut tables = Vec::new();
        for (number, element) in elements.iter().map(Spanned::get_ref).enumerate() {
            let place = place.element(number);
            match element {
                DeValue::Table(table) => tables.push(Self::new(table, place, self.problems)),
                _ => self.problems.add(Problem::of_value(place, expected.clone())),
            }
        }
        tables
    }

    /// Counts a key as known that is read only where it is there.
    pub fn know(&mut self, key: &'static str) {
        self.known.push(key);
    }

    /// Whether the table has a key.
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Whether the table has a key, and not an empty list there.
    pub fn has_something(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|value| value.get_ref().as_array().is_none_or(|list| !list.is_empty()))
    }

    /// Notes that a key is missing, unless one that is similar is there.
    pub fn misses(&mut self, key: &'static str, text: impl Into<String>) {
        self.missing.push((key, Problem::of_key(self.place.clone(), text)));
    }

    /// Reports a problem.
    pub fn problem(&self, problem: Problem) {
        self.problems.add(problem);
    }

    /// Reads the table as one of its kind, and reports the keys that are left.
    pub fn read<T: FromTable>(mut self) -> Option<T> {
        let read = T::read(&mut self);
        let mut keys: Vec<_> = self.table.keys().filter(|key| !self.known.contains(&&**key.get_ref())).collect();
        keys.sort_by_key(|key| key.span().start);
        for (missing, problem) in self.missing {
            if !keys.iter().any(|key| names::near(key.get_ref(), &[missing]).is_some()) {
                self.problems.add(problem);
            }
        }
        for (number, key) in keys.into_iter().map(|key| key.get_ref()).enumerate() {
            let text = match number {
                0 => kinds::unknown(key, &self.known, Telling::All),
                1..MAX_COMPARED => kinds::unknown(key, &self.known, Telling::Near),
                _ => format!("unknown key `{}`", names::shown(key)),
            };
            self.problems.add(Problem::of_key(self.place.key(&**key), text));
        }
        read
    }
}

/// A kind of table.
pub trait FromTable: Sized {
    /// Reads what it knows of a table; nothing where something of it is wrong.
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self>;

    /// The keys it knows.
    fn keys() -> Vec<&'static str> {
        let (table, problems) = (Table::new(), Problems::default());
        let mut reading = TableReading::new(&table, Place::default(), &problems);
        Self::read(&mut reading);
        reading.known
    }
}

/// A file with more unknown keys is not a settings file, and further keys need not be compared with the known ones.
const MAX_COMPARED: usize = 50;
