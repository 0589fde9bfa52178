//! A map: what a text is for each of its values, as in nginx.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::{form::Form, source::Source, text::Text, value_pattern::ValuePattern};

/// What a text is for each of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    pub(crate) from: Text,
    /// By value, in lower case.
    pub(crate) exact: HashMap<Box<[u8]>, Text>,
    /// In their order.
    pub(crate) patterns: Vec<(ValuePattern, Text)>,
    pub(crate) default: Text,
}

impl Map {
    /// Whether no request has a say in its values but by choosing one.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.results().all(|text| text.constant().is_some())
    }

    /// What it may come to.
    pub fn results(&self) -> impl Iterator<Item = &Text> {
        let patterns = self.patterns.iter().map(|(_, text)| text);
        self.exact.values().chain(patterns).chain([&self.default])
    }

    /// Whether the path of a request decides about it.
    pub(crate) fn depends_on_path(&self) -> bool {
        self.from.depends_on_path() || self.results().any(Text::depends_on_path)
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
        let pattern = || self.patterns.iter().find(|(pattern, _)| pattern.matches(Some(value))).map(|(_, text)| text);
        self.exact.get(&lower[..]).or_else(pattern).unwrap_or(&self.default)
    }
}
