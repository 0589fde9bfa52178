//! The lines above a metric.

use std::fmt::Write;

/// Appends the help and the type of a metric.
pub(super) fn head(text: &mut String, name: &str, kind: &str, explanation: &str) {
    let _ = write!(text, "# HELP {name} {explanation}\n# TYPE {name} {kind}\n");
}
