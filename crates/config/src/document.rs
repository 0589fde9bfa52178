//! A settings file as text and as a tree, which knows for each part of the tree where in the text it stands.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue, Error},
};

use crate::place::{Place, Step};

/// A value and where it stands.
pub(super) type Value<'t> = Spanned<DeValue<'t>>;

/// A table: its keys and values, and where each stands.
pub(super) type Table<'t> = DeTable<'t>;

/// A settings file, taken apart.
pub(super) struct Document<'t> {
    root: Spanned<Table<'t>>,
}

/// What of a place is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The key.
    Key,
    /// The value.
    Value,
    /// The value; what is wrong with it names its key.
    Whole,
}

impl<'t> Document<'t> {
    /// Takes a text apart.
    ///
    /// # Errors
    ///
    /// All that breaks the format.
    pub(super) fn parse(text: &'t str) -> Result<Self, Vec<Error>> {
        let (root, errors) = DeTable::parse_recoverable(text);
        if errors.is_empty() { Ok(Self { root }) } else { Err(errors) }
    }

    pub(super) fn root(&self) -> &Table<'t> {
        self.root.get_ref()
    }

    /// Where in the text a place is; of one that is not there, where it would be: the last on the way to it that is.
    pub(super) fn span(&self, place: &Place, part: Part) -> Range<usize> {
        let (mut table, mut value, mut span) = (Some(self.root()), None::<&Value<'t>>, 0..0);
        let last = place.steps().len().saturating_sub(1);
        for (number, step) in place.steps().iter().enumerate() {
            let below = match step {
                Step::Key(key) => {
                    let Some((key, below)) = table.and_then(|table| table.get_key_value(key.as_str())) else { break };
                    // The last step alone can mean a key: what lies above is pointed at as a whole, which is its name.
                    if part == Part::Key && number == last {
                        return key.span();
                    }
                    span = if below.get_ref().is_table() && number == last { key.span() } else { below.span() };
                    below
                }
                // One value stands for an array of it.
                Step::Element(element) => match value.map(Spanned::get_ref) {
                    Some(DeValue::Array(elements)) => {
                        let Some(below) = elements.get(*element) else { break };
                        span = below.span();
                        below
                    }
                    Some(_) if *element == 0 => continue,
                    _ => break,
                },
            };
            (table, value) = (below.get_ref().as_table(), Some(below));
        }
        span
    }
}
