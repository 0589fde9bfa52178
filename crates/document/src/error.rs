//! Why a settings file is not what it should be, as it is shown.

use std::fmt;

use crate::{fault::Fault, printable::on_one_line, sources::Sources};

/// Why a settings file is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigurationError {
    /// It cannot be read at all; why, in one line.
    Unreadable(String),
    /// Its faults, with several lines for each.
    Wrong(String),
}

impl ConfigurationError {
    /// Shows the faults of a file, and of those that it includes.
    pub fn of_faults(sources: &Sources, faults: &[Fault]) -> Self {
        let shown: Vec<_> = faults.iter().take(MAX_SHOWN).map(|fault| sources.show(fault)).collect();
        let mut report = shown.join("\n");
        if faults.len() > MAX_SHOWN {
            report.push_str(&format!("\n{}: and {} more\n", sources.name(), faults.len() - MAX_SHOWN));
        }
        Self::Wrong(report)
    }
}

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(line) => f.write_str(&on_one_line(line)),
            Self::Wrong(report) => f.write_str(report.trim_end()),
        }
    }
}

impl std::error::Error for ConfigurationError {}

/// As many faults as fit a screen or two; those behind are mostly of the same kind.
const MAX_SHOWN: usize = 20;
