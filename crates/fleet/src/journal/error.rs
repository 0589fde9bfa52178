//! Why a command cannot be given to the fleet.

use std::fmt;

use super::{MAX_BYTES, MAX_ENTRIES, entry::MAX_COMMAND};

/// Why a command cannot be given to the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalError {
    /// There are too many.
    Full,
    /// It is too long.
    TooLong,
    /// Its subject or its text is not one.
    Invalid,
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(
                f,
                "the fleet keeps {MAX_ENTRIES} commands and {} MB of them at most: write what is to stay into the settings \
                 files of the servers, and put several sites into one added file",
                MAX_BYTES >> 20
            ),
            Self::TooLong => write!(
                f,
                "a command to the fleet has {} KB at most: split the added file into several, or put it on each server",
                MAX_COMMAND >> 10
            ),
            Self::Invalid => {
                f.write_str("the command has a name or a text that the fleet cannot keep: shorten its names")
            }
        }
    }
}

impl std::error::Error for JournalError {}
