//! Where the server of a settings file is reached by those who run it.

use std::path::Path;

use super::{document::Document, paths};
use crate::admin::AdminAddress;

/// What the file's key `admin` says, whatever else is wrong with the file: who wants it reloaded will be told.
pub(super) fn of(text: &str, folder: &Path) -> Option<AdminAddress> {
    let document = Document::parse(text).ok()?;
    let mut address: AdminAddress = document.root().get("admin")?.get_ref().as_str()?.parse().ok()?;
    paths::resolve_address(&mut address.0, folder);
    Some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doors() {
        for (text, expected) in [
            ("admin = \"unix:a.sock\"\nlistn = 1\n", Some("unix:/etc/a.sock")),
            ("admin = \"unix:/run/a.sock\"", Some("unix:/run/a.sock")),
            ("admin = \"127.0.0.1:9000\"", Some("127.0.0.1:9000")),
            ("admin = \"0.0.0.0:9000\"", None),
            ("admin = 9000", None),
            ("admin = \"unix:a.sock\"\n[", None),
            ("", None),
        ] {
            let door = of(text, Path::new("/etc")).map(|address| address.0.to_string());
            assert_eq!(door.as_deref(), expected, "{text}");
        }
    }
}
