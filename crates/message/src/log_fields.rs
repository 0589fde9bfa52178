//! Fields that a script adds to the access log.

use std::{string::String, vec::Vec};

/// Fields that a script adds to the line of a request in the access log, in the order of their names; in the extensions
/// of the response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFields(pub Vec<(String, String)>);

impl LogFields {
    /// The text of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, text)| &**text)
    }
}
