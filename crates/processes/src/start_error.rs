//! Why an application does not start, or does not start again.

use std::{error::Error, fmt};

/// Why an application does not start: a text of one or more lines, with the error of the application where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartError(String);

impl From<String> for StartError {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for StartError {}
