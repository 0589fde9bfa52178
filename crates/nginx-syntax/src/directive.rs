//! Directives: a name, words, and for some of them a block of further ones.

use super::{place::Place, token::Argument};

/// A directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Its name, or in `map`, `geo`, `types` and the like the word at the beginning of the line.
    pub name: Argument,
    /// The words behind its name.
    pub words: Vec<Argument>,
    /// The directives in its braces, if it has braces.
    pub block: Option<Vec<Directive>>,
    /// Where its name stands.
    pub place: Place,
    /// Its number in the order of reading, by which the report notes what became of it.
    pub number: usize,
}

impl Directive {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name.text
    }

    /// A word behind its name, from 0.
    #[must_use]
    pub fn word(&self, position: usize) -> Option<&str> {
        self.words.get(position).map(|word| word.text.as_str())
    }

    /// The words behind its name.
    pub fn texts(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.words.iter().map(|word| word.text.as_str())
    }

    /// The directives of its block.
    #[must_use]
    pub fn children(&self) -> &[Directive] {
        self.block.as_deref().unwrap_or_default()
    }

    /// It on one line, as a report quotes it.
    #[must_use]
    pub fn quoted(&self) -> String {
        let mut text = String::from(self.name());
        for word in &self.words {
            text.push(' ');
            let is_plain = !word.text.is_empty() && !word.text.contains([' ', ';', '{', '}', '"', '\n', '\t']);
            if word.is_quoted && !is_plain {
                text.push_str(&format!("{:?}", word.text));
            } else {
                text.push_str(&word.text);
            }
        }
        match text.char_indices().nth(100) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}
