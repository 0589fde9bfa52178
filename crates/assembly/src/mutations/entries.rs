//! The entries of a settings file that stand on one line, found without the reader.

use std::ops::Range;

/// `key = value` on a line.
#[derive(Clone, Debug)]
pub(super) struct Entry<'t> {
    /// Its line, with the end.
    pub(super) line: Range<usize>,
    pub(super) key: &'t str,
    /// Where its value stands.
    pub(super) place: Range<usize>,
    pub(super) value: &'t str,
    /// Whether a line in brackets stands before it.
    pub(super) is_at_root: bool,
}

/// The entries of a text whose lines are `key = value # comment`.
pub(super) fn entries(text: &str) -> Vec<Entry<'_>> {
    let (mut entries, mut start, mut is_at_root) = (Vec::new(), 0, true);
    for line in text.split_inclusive('\n') {
        is_at_root &= !line.starts_with('[');
        if let Some((key, value)) = line.split_once(" = ").filter(|(key, _)| is_key(key)) {
            let place = start + key.len() + 3;
            let value = without_comment(value);
            if is_whole(value) {
                let place = place..place + value.len();
                entries.push(Entry { line: start..start + line.len(), key, place, value, is_at_root });
            }
        }
        start += line.len();
    }
    entries
}

/// The text with something else in some place.
pub(super) fn replaced(text: &str, place: Range<usize>, by: &str) -> String {
    format!("{}{by}{}", &text[..place.start], &text[place.end..])
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

fn without_comment(value: &str) -> &str {
    let mut is_quoted = false;
    for (place, character) in value.char_indices() {
        match character {
            '"' => is_quoted = !is_quoted,
            '#' if !is_quoted => return value[..place].trim_end(),
            _ => {}
        }
    }
    value.trim_end()
}

/// Whether all brackets are closed.
fn is_whole(value: &str) -> bool {
    let unquoted: String = value.split('"').step_by(2).collect();
    let count = |character| unquoted.matches(character).count();
    count('[') == count(']') && count('{') == count('}')
}
