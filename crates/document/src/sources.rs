//! The texts that a configuration is made of: the settings file, and those that it includes.

use std::cell::OnceCell;

use crate::{fault::Fault, lines::Lines, printable::on_one_line};

/// The texts of a configuration, as if they stood behind each other: each place in one of them has an offset of its
/// own.
#[derive(Debug, Default)]
pub struct Sources {
    texts: Vec<SourceText>,
}

/// A text, and where it is from.
#[derive(Debug)]
struct SourceText {
    /// The path, as it is shown.
    name: String,
    text: String,
    /// Made when a place in it is shown.
    lines: OnceCell<Lines>,
    /// The offset of its first byte.
    start: usize,
}

impl Sources {
    /// The text of a settings file.
    pub fn of(name: &str, text: String) -> Self {
        let mut sources = Self::default();
        sources.add(name, text);
        sources
    }

    /// Adds a text; the offset of its first byte.
    pub fn add(&mut self, name: &str, text: String) -> usize {
        // A text can end at the offset behind its last byte.
        let start = self.texts.last().map_or(0, |last| last.start + last.text.len() + 1);
        self.texts.push(SourceText { name: on_one_line(name), lines: OnceCell::new(), text, start });
        start
    }

    /// All texts, the settings file first, and their offsets.
    pub fn texts(&self) -> impl Iterator<Item = (&str, usize)> {
        self.texts.iter().map(|source| (source.text.as_str(), source.start))
    }

    /// All texts, the settings file first, with the paths as they are shown.
    pub fn named_texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|source| (source.name.as_str(), source.text.as_str()))
    }

    /// How many bytes they have together.
    pub fn length(&self) -> usize {
        self.texts.iter().map(|source| source.text.len()).sum()
    }

    /// A fault as it is shown: what and where, and the line of the file.
    pub fn show(&self, fault: &Fault) -> String {
        self.source(fault).map_or_else(String::new, |SourceText { name, text, lines, start }| {
            fault.moved_back(*start).show(name, text, lines.get_or_init(|| Lines::of(text)))
        })
    }

    /// A fault and its place, on one line.
    pub fn line(&self, fault: &Fault) -> String {
        self.source(fault).map_or_else(String::new, |SourceText { name, text, lines, start }| {
            fault.moved_back(*start).line(name, text, lines.get_or_init(|| Lines::of(text)))
        })
    }

    /// The text that a fault is in.
    fn source(&self, fault: &Fault) -> Option<&SourceText> {
        let start = fault.span.as_ref().map_or(0, |span| span.start);
        self.texts.iter().rev().find(|source| source.start <= start).or(self.texts.first())
    }

    /// The path of the settings file, as it is shown.
    pub fn name(&self) -> &str {
        self.texts.first().map_or("", |source| &source.name)
    }
}
