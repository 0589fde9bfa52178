//! The beginning of the names of keys in Redis.

/// Refuses a text that cannot begin the name of a key.
///
/// # Errors
///
/// The text, and the remedy.
pub fn redis_prefix(prefix: &str) -> Result<(), String> {
    // In a cluster, braces would decide about the node; white space and quotes are hard to type in redis-cli.
    let is_of_prefix = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'/');
    if prefix.len() > MAX_PREFIX || !prefix.bytes().all(is_of_prefix) {
        return Err(format!("{prefix:?} cannot begin a key: use letters, digits and - _ . : /, at most {MAX_PREFIX}"));
    }
    Ok(())
}

/// Bytes: each key has it.
const MAX_PREFIX: usize = 64;
