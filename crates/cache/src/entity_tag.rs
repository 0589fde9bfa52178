//! Entity tags and how they are compared (RFC 9110 §8.8.3).

/// Whether two tags are equal in the weak comparison: their opaque parts are the same.
pub(crate) fn equal_weakly(first: &[u8], second: &[u8]) -> bool {
    opaque(first) == opaque(second)
}

/// Whether two tags are equal in the strong comparison: the same, and neither of them is weak.
pub(crate) fn equal_strongly(first: &[u8], second: &[u8]) -> bool {
    is_strong(first) && first == second
}

pub(crate) fn is_strong(tag: &[u8]) -> bool {
    !tag.starts_with(b"W/")
}

/// Whether it is a strong tag as RFC 9110 §8.8.3 writes it, in quotes.
pub(crate) fn is_quoted_and_strong(tag: &[u8]) -> bool {
    let text = tag.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    text.is_some_and(|text| !text.contains(&b'"'))
}

fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

/// The members of a list of tags, such as If-None-Match; commas within quotes belong to a tag.
pub(crate) fn members(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut is_quoted = false;
    let parts = list.split(move |byte| {
        is_quoted ^= *byte == b'"';
        *byte == b',' && !is_quoted
    });
    parts.map(<[u8]>::trim_ascii).filter(|tag| !tag.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_of_rfc_9110() {
        // The table in §8.8.3.2.
        for (first, second, strongly, weakly) in [
            ("W/\"1\"", "W/\"1\"", false, true),
            ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true),
        ] {
            let (first, second) = (first.as_bytes(), second.as_bytes());
            assert_eq!((equal_strongly(first, second), equal_weakly(first, second)), (strongly, weakly));
        }
    }

    #[test]
    fn commas_in_tags_do_not_separate() {
        let found: Vec<_> = members(b"\"a,b\" , W/\"c\",, d").collect();
        assert_eq!(found, [&b"\"a,b\""[..], b"W/\"c\"", b"d"]);
    }
}
