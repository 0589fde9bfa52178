//! Text from outside, made safe to stand in a page.

/// The text for an element or an attribute in quotes: nothing in it means anything to HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_means_something() {
        assert_eq!(escaped("<a href=\"'&'\">é</a>"), "&lt;a href=&quot;&#39;&amp;&#39;&quot;&gt;é&lt;/a&gt;");
    }
}
