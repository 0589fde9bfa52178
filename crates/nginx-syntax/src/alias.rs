//! Aliases that name files.

/// Whether the `alias` of a location with this prefix names a file, as in `location /favicon.ico { alias /srv/icon.ico; }`: both
/// have the same ending. Without that, a dot is a part of a folder's name, as in `/srv/example.org`.
#[must_use]
pub fn names_file(prefix: &str, alias: &str) -> bool {
    ending(prefix).zip(ending(alias)).is_some_and(|(prefix, alias)| prefix.eq_ignore_ascii_case(alias))
}

/// The ending of a name, as `ico` of `favicon.ico`.
fn ending(path: &str) -> Option<&str> {
    let (name, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
    (!name.is_empty() && !ending.is_empty()).then_some(ending)
}
