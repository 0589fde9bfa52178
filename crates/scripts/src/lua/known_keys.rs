//! Tables of scripts that may have some keys and no others.

use mlua::{Table, Value};

/// Looks whether a table has these keys at most.
///
/// # Errors
///
/// The first key that is not among them, as text.
pub(crate) fn check(table: &Table, known: &[&str]) -> Result<(), String> {
    for pair in table.pairs::<Value, Value>() {
        let name = pair.and_then(|(name, _)| name.to_string()).map_err(|error| error.to_string())?;
        if !known.contains(&&*name) {
            return Err(name);
        }
    }
    Ok(())
}
