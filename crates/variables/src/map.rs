//! A map: what a text is for each of its values, as in nginx.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::{form::Form, literal_index::LiteralIndex, source::Source, text::Text, value_pattern::ValuePattern};

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
}

impl Map {
    pub(crate) fn new(
        from: Text,
        exact: HashMap<Box<[u8]>, Text>,
        patterns: Vec<(ValuePattern, Text)>,
        default: Text,
    ) -> Self {
        let index = LiteralIndex::of_many(patterns.iter().map(|(pattern, _)| pattern.literals()));
        let map = Self { from, exact, patterns, index, default, is_constant: false, depends_on_path: false };
        let is_constant = map.results().all(|text| text.constant().is_some());
        let depends_on_path = map.from.depends_on_path() || map.results().any(Text::depends_on_path);
        Self { is_constant, depends_on_path, ..map }
    }

    /// Whether no request has a say in its values but by choosing one.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.is_constant
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
        let result = self.find(&output[before..]);
        output.truncate(before);
        result.append(source, Form::Raw, output);
        output.len() > before
    }

    fn find(&self, value: &[u8]) -> &Text {
        let mut lower: SmallVec<[u8; 256]> = SmallVec::from_slice(value);
        lower.make_ascii_lowercase();
        self.exact.get(&lower[..]).or_else(|| self.find_pattern(value)).unwrap_or(&self.default)
    }

    /// The result of the first pattern that a value matches.
    fn find_pattern(&self, value: &[u8]) -> Option<&Text> {
        let matches = |(pattern, _): &&(ValuePattern, Text)| pattern.matches(Some(value));
        let found = match &self.index {
            None => self.patterns.iter().find(matches),
            Some(index) => {
                index.candidates(value).filter_map(|number| self.patterns.get(number as usize)).find(matches)
            }
        };
        found.map(|(_, text)| text)
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        (&self.from, &self.exact, &self.patterns, &self.default)
            == (&other.from, &other.exact, &other.patterns, &other.default)
    }
}

impl Eq for Map {}
