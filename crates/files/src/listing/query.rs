//! The query of a listing's URL.

/// The value of a parameter in a query; the first, if it occurs more than once.
pub(super) fn parameter<'query>(query: &'query str, name: &str) -> Option<&'query str> {
    query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
}
