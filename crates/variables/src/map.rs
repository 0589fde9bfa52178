//! A map: what a text is for each of its values, as in nginx.

use std::collections::HashMap;

use serow_message::NetworkMap;
use smallvec::SmallVec;

use crate::{
    expression::{Captures, Expression},
    form::Form,
    literal_index::LiteralIndex,
    shares::Shares,
    source::Source,
    text::{Part, Text},
    value_pattern::ValuePattern,
};

/// A map: the text that a variable stands for, by the value of another text.
#[derive(Clone, Debug)]
pub struct Map {
    from: Text,
    results: Results,
    default: Text,
    /// Whether all results are constant; decided once, since a map can have very many.
    is_constant: bool,
    /// Whether the path of a request decides about it.
    depends_on_path: bool,
    /// Whether all results begin with a slash, or are empty.
    begins_path: bool,
}

/// The results of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Results {
    /// By the value itself.
    Values(ValueResults),
    /// By a hash of the value.
    Shares(Shares),
    /// By the address that the value is.
    Networks(NetworkMap<Text>),
}

impl Results {
    fn all(&self) -> Box<dyn Iterator<Item = &Text> + '_> {
        match self {
            Self::Values(results) => Box::new(results.all()),
            Self::Shares(shares) => Box::new(shares.results()),
            Self::Networks(networks) => Box::new(networks.values()),
        }
    }

    /// The result for a value, and the expression that the value matches, if it has groups.
    fn find(&self, value: &[u8]) -> Option<(&Text, Option<&Expression>)> {
        match self {
            Self::Values(results) => results.find(value),
            Self::Shares(shares) => shares.find(value).map(|text| (text, None)),
            Self::Networks(networks) => {
                let address = str::from_utf8(value).ok().and_then(|text| text.parse().ok())?;
                networks.find(address).map(|text| (text, None))
            }
        }
    }
}

/// Results by values: the exact ones first.
#[derive(Clone, Debug)]
pub(crate) struct ValueResults {
    /// By value, in lower case.
    exact: HashMap<Box<[u8]>, Text>,
    /// In their order.
    patterns: Vec<(ValuePattern, Text)>,
    /// Of the patterns; nothing for few.
    index: Option<LiteralIndex>,
}

impl ValueResults {
    pub(crate) fn new(exact: HashMap<Box<[u8]>, Text>, patterns: Vec<(ValuePattern, Text)>) -> Self {
        let index = LiteralIndex::of_many(patterns.iter().map(|(pattern, _)| pattern.literals()));
        Self { exact, patterns, index }
    }

    fn all(&self) -> impl Iterator<Item = &Text> {
        self.exact.values().chain(self.patterns.iter().map(|(_, text)| text))
    }

    fn find(&self, value: &[u8]) -> Option<(&Text, Option<&Expression>)> {
        let mut lower: SmallVec<[u8; 256]> = SmallVec::from_slice(value);
        lower.make_ascii_lowercase();
        let exact = self.exact.get(&lower[..]).map(|text| (text, None));
        exact.or_else(|| self.find_pattern(value))
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

impl PartialEq for ValueResults {
    fn eq(&self, other: &Self) -> bool {
        (&self.exact, &self.patterns) == (&other.exact, &other.patterns)
    }
}

impl Eq for ValueResults {}

impl Map {
    pub(crate) fn new(from: Text, results: Results, default: Text) -> Self {
        let map = Self { from, results, default, is_constant: false, depends_on_path: false, begins_path: false };
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
        self.results.all().chain([&self.default])
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
        let (result, expression) = self.results.find(&output[before..]).unwrap_or((&self.default, None));
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
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        (&self.from, &self.results, &self.default) == (&other.from, &other.results, &other.default)
    }
}

impl Eq for Map {}
