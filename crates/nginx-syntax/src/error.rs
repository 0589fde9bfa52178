//! Errors of files that nginx would not read either.

use std::{error, fmt};

use super::place::Place;

/// An error in a configuration file, or in reading one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// Where it is.
    pub place: Place,
    /// One sentence that names the fault and, where there is one, the remedy.
    pub message: String,
}

impl ImportError {
    pub(crate) fn new(place: &Place, message: impl Into<String>) -> Self {
        Self { place: place.clone(), message: message.into() }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.message)
    }
}

impl error::Error for ImportError {}
