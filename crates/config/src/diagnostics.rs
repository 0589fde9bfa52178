//! What is wrong with a settings file, and how it is shown: each fault with its line and column, an excerpt of the line
//! and a suggestion.

pub(crate) mod excerpt;
pub(crate) mod names;
pub(crate) mod problem;
pub(crate) mod syntax;
