//! A map: what a text is for each of its values, as in nginx.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::{
    expression::{Captures, Expression},
    form::Form,
    literal_index::LiteralIndex,
    source::Source,
    text::{Part, Text},
    value_pattern::ValuePattern,
};

/// A map: the text that a variable stands for, by the value of another text.
#[derive(Clone, Debug)]
pub struct Map {
    pub(crate) from: Text,
    /// By value, in lower case.
    pub(crate) exact: HashMap<Box<[u8]>, Text>,
    /// In their order.
    pub(crate) patterns: Vec<(ValuePattern, Text)>,
    /// Of the patterns; nothing for few.
    index: Option<LiteralIndex>,
    pub(crate) default: Text,
    /// Whether all results are constant; decided once, since a map can have very many.
    is_constant: bool,
    /// Whether the path of a request decides about it.
    depends_on_path: bool,
    /// Whether all results begin with a slash, or are empty.
    begins_path: bool,
}

impl Map {
    pub(crate) fn new(
        from: Text,
        exact: HashMap<Box<[u8]>, Text>,
        patterns: Vec<(ValuePattern, Text)>,
        default: Text,
    ) -> Self {
        let index = LiteralIndex::of_many(patterns.iter().map(|(pattern, _)| pattern.literals()));
        let map = Self {
            from,
            exact,
            patterns,
            index,
            default,
            is_constant: false,
            depends_on_path: false,
            begins_path: false,
        };
        let is_constant = map.results().all(|text| text.constant().is_some());
        let depends_on_path = map.from.depends_on_path() || map.results().any(Text::depends_on_path);
        let begins_path = map.results().all(|text| match text.parts() {
            [] => true,
            [first, ..] => matches!(first, Part::Text(text) if text.starts_with('/')),
        });
        Self { is_constant, depends_on_path, begins_path, ..map }
    }

    /// Whether no request has a say in its values but by choosing one.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.is_constant
    }

    /// Whether each of its values that is not empty begins with a slash, whatever a client sends.
    #[must_use]
    pub fn begins_path(&self) -> bool {
        self.begins_path
    }

    /// All texts that it may result in.
    fn results(&self) -> impl Iterator<Item = &Text> {
        let patterns = self.patterns.iter().map(|(_, text)| text);
        self.exact.values().chain(patterns).chain([&self.default])
    }

    /// Whether the path of a request decides about it.
    pub(crate) fn depends_on_path(&self) -> bool {
        self.depends_on_path
    }

    /// Appends what it comes to; `false` if that is empty.
    pub(crate) fn append(&self, source: &Source<'_>, output: &mut Vec<u8>) -> bool {
        let before = output.len();
        self.from.append(source, Form::Raw, output);
        // The value is looked up where it stands, and taken away again.
        let (result, expression) = self.find(&output[before..]);
        match expression.filter(|_| result.has_captures()) {
            None => {
                output.truncate(before);
                result.append(source, Form::Raw, output);
            }
            Some(expression) => {
                let value: SmallVec<[u8; 256]> = SmallVec::from_slice(&output[before..]);
                output.truncate(before);
                let captures: Captures<'_> = expression.captures(&value).unwrap_or_default();
                result.append(&Source { captures: &captures, ..*source }, Form::Raw, output);
            }
        }
        output.len() > before
    }

    /// The result for a value, and the expression that the value matches, if it has groups.
    fn find(&self, value: &[u8]) -> (&Text, Option<&Expression>) {
        let mut lower: SmallVec<[u8; 256]> = SmallVec::from_slice(value);
        lower.make_ascii_lowercase();
        let exact = self.exact.get(&lower[..]).map(|text| (text, None));
        exact.or_else(|| self.find_pattern(value)).unwrap_or((&self.default, None))
    }

    /// The result of the first pattern that a value matches.
    fn find_pattern(&self, value: &[u8]) -> Option<(&Text, Option<&Expression>)> {
        let matches = |(pattern, _): &&(ValuePattern, Text)| pattern.matches(Some(value));
        let found = match &self.index {
            None => self.patterns.iter().find(matches),
            Some(index) => {
                index.candidates(value).filter_map(|number| self.patterns.get(number as usize)).find(matches)
            }
        };
        found.map(|(pattern, text)| (text, pattern.expression()))
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        (&self.from, &self.exact, &self.patterns, &self.default)
            == (&other.from, &other.exact, &other.patterns, &other.default)
    }
}

impl Eq for Map {}
