//! A position in a server: the variables there, and texts with their values.

use super::{
    server::Server,
    text::{Text, Use, Variables},
};
use crate::report::Notes;

/// A position in a server.
#[derive(Clone, Debug)]
pub(crate) struct Position<'a, 'tree> {
    pub(crate) server: &'a Server<'a, 'tree>,
    /// The variables that directives before it have set.
    pub(crate) variables: Variables,
}

impl<'a> Position<'a, '_> {
    pub(crate) fn notes(&self) -> &'a Notes {
        self.server.notes()
    }

    /// A text in which variables that `set` made are replaced by their values.
    pub(crate) fn filled(&self, raw: &str) -> Text {
        self.variables.filled(&Text::of(raw))
    }

    /// The same with the variables of Serow.
    ///
    /// # Errors
    ///
    /// The reason why a variable has no counterpart, as a sentence.
    pub(crate) fn text(&self, raw: &str, place: Use) -> Result<Text, String> {
        self.variables.resolve(&self.filled(raw), place)
    }
}
