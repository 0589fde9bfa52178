//! Where the server of a settings file is reached by those who run it.

use std::path::{Path, PathBuf};

use super::{document::Document, paths};
use crate::values::AdminAddress;

/// Where the server is reached, and what those show who change something there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminEndpoint {
    /// Its address; the path of a socket is absolute or relative to the working directory.
    pub address: AdminAddress,
    /// The file with its token, if it is a port that can change something.
    pub token_file: Option<PathBuf>,
}

/// What the file's keys `admin` and `admin-token-file` say, whatever else is wrong with the file: who wants it reloaded will
/// be told.
pub(super) fn of(text: &str, folder: &Path) -> Option<AdminEndpoint> {
    let document = Document::parse(text).ok()?;
    let text = |key| document.root().get(key)?.get_ref().as_str();
    let mut address: AdminAddress = text("admin")?.parse().ok()?;
    paths::resolve_address(&mut address.0, folder);
    let token_file = text("admin-token-file").map(|file| paths::resolved(Path::new(file), folder));
    Some(AdminEndpoint { address, token_file })
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
            let door = of(text, Path::new("/etc")).map(|door| door.address.0.to_string());
            assert_eq!(door.as_deref(), expected, "{text}");
        }
        let door = of("admin = \"9000\"\nadmin-token-file = \"token\"", Path::new("/etc")).unwrap();
        assert_eq!(door.token_file.as_deref(), Some(Path::new("/etc/token")));
    }
}
