//! Markdown for the manual and the reference.

/// Text in which Markdown would see more than there is.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '*' | '<' | '\\') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
