//! Tables of scripts that may have some keys and no others.

use mlua::{Table, Value};

/// Looks whether a table has these keys at most.
///
/// # Errors
///
/// The first key that is not among them, as text.
pub(crate) fn check(table: &Table, known: &[&str]) -> Result<(), String> {
    for pair in table.pairs::<Value, Value>() {
        let (key, _) = pair.map_err(|error| error.to_string())?;
        let is_known = key.as_string().is_some_and(|key| known.iter().any(|known| *key == **known));
        if !is_known {
            return Err(key.to_string().unwrap_or_else(|error| error.to_string()));
        }
    }
    Ok(())
}
