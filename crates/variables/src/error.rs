//! Why a text names no variable.

use std::{error::Error, fmt};

/// Why a text with variables is invalid: one line that says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableError(pub(crate) String);

impl VariableError {
    /// An error with this text, for names that only the caller knows.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for VariableError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for VariableError {}

/// The name that was meant, if one is near.
pub fn near<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distances = names.map(|name| (strsim::osa_distance(written, name), name));
    distances.filter(|(distance, _)| *distance <= SLIPS).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// Letters that are wrong, missing, too many or in the wrong order: with three, nginx's other variables would be taken
/// for ours.
const SLIPS: usize = 2;
