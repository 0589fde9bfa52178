//! Text from files, networks and users, made safe for a terminal and for the lines of a log.

/// Replaces control characters with escapes, so that a text with any content stays on one line.
pub fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() { line.extend(character.escape_default()) } else { line.push(character) }
    }
    line
}

/// Keeps the line breaks of a text and replaces other control characters, as [`on_one_line`] does. Backtraces are
/// indented with tabs, which become spaces.
pub fn on_lines(text: &str) -> String {
    text.trim_end().lines().map(|line| on_one_line(&line.replace('\t', "    "))).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_escapes() {
        assert_eq!(on_one_line("a\nb\x1b[31m é"), r"a\nb\u{1b}[31m é");
        assert_eq!(on_lines("a\n\tb\x07\n"), "a\n    b\\u{7}");
    }
}
