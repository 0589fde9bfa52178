//! The problems of a settings file, and how they are shown.

use std::{cell::RefCell, collections::HashSet, fmt::Display};

use serde::de::{self, Expected, Unexpected};

use crate::{
    document::{Document, Part},
    fault::Fault,
    names::{self, Telling},
    place::Place,
};

/// Something that is wrong with what stands at a place.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Where; nothing while whoever found it does not know.
    place: Option<Place>,
    part: Part,
    text: String,
    /// The key that is missing at the place.
    missing: Option<&'static str>,
}

impl Problem {
    /// Something is wrong with the value at a place.
    pub fn of_value(place: Place, text: impl Into<String>) -> Self {
        Self { place: Some(place), part: Part::Value, text: text.into(), missing: None }
    }

    /// Something is wrong with the key at a place.
    pub fn of_key(place: Place, text: impl Into<String>) -> Self {
        Self { place: Some(place), part: Part::Key, text: text.into(), missing: None }
    }

    /// Something is wrong with the file as a whole.
    pub fn of_file(text: impl Into<String>) -> Self {
        Self { place: None, part: Part::Whole, text: text.into(), missing: None }
    }

    /// Something is wrong with what stands at a place; the text names the key.
    pub fn of_table(place: Place, text: impl Into<String>) -> Self {
        Self { place: Some(place), part: Part::Whole, text: text.into(), missing: None }
    }

    /// It is about the value at this place, unless it knows better.
    pub fn or_at(mut self, place: &Place) -> Self {
        self.place.get_or_insert_with(|| place.clone());
        self
    }

    /// It is about the key at this place, unless it knows better.
    pub fn or_at_key(mut self, place: &Place) -> Self {
        if self.place.is_none() {
            self.place = Some(place.clone());
            self.part = Part::Key;
        }
        self
    }

    /// Where it is, if that is known.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// The key whose absence this is about.
    pub fn missing(&self) -> Option<&'static str> {
        self.missing
    }

    /// Where in the file it is, and the line that says so.
    fn found(self, document: &Document<'_>) -> Fault {
        let Some(place) = self.place else { return Fault { span: None, text: self.text } };
        let text = match (self.part, place.last_key()) {
            (Part::Value, Some(key)) => format!("`{key}`: {}", self.text),
            _ => self.text,
        };
        Fault { span: Some(document.span(&place, self.part)), text }
    }
}

/// Problems as they are found.
#[derive(Debug, Default)]
pub struct Problems {
    found: RefCell<Vec<Problem>>,
}

impl Problems {
    /// Notes a problem.
    pub fn add(&self, problem: Problem) {
        self.found.borrow_mut().push(problem);
    }

    /// Whether none was found.
    pub fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// The same, as they are shown, in the order of the file, each once.
    pub fn faults(self, document: &Document<'_>) -> Vec<Fault> {
        let mut faults: Vec<_> = self.found.into_inner().into_iter().map(|problem| problem.found(document)).collect();
        faults.sort_by_key(|fault| fault.span.as_ref().map(|span| span.start));
        // The tables and the running parts made of them are checked, and may have the same problem.
        let mut known = HashSet::new();
        faults.retain(|fault| known.insert((fault.span.clone(), fault.text.clone())));
        faults
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    fn custom<T: Display>(text: T) -> Self {
        Self { place: None, part: Part::Value, text: text.to_string(), missing: None }
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format!("expected {expected}, not {}", description(unexpected)))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn unknown_field(key: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(names::unknown(key, expected, Telling::All))
    }

    fn missing_field(key: &'static str) -> Self {
        Self { missing: Some(key), ..Self::custom(format!("`{key}` is missing")) }
    }
}

/// Describes the value that was found, in the terms of its author.
fn description(unexpected: Unexpected<'_>) -> String {
    match unexpected {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(number) => number.to_string(),
        Unexpected::Signed(number) => number.to_string(),
        Unexpected::Float(number) => number.to_string(),
        Unexpected::Str(text) => format!("{text:?}"),
        Unexpected::Seq => "an array".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}
