//! The admin endpoint of a settings file, for the commands that connect to it.

use std::path::{Path, PathBuf};

use serow_document::{Document, environment};

use crate::{paths, values::AdminSocket};

/// The admin endpoint that a settings file describes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdminSettings {
    /// Where it is, if the file says so; the path of a socket is absolute or relative to the working directory.
    pub socket: Option<AdminSocket>,
    /// The file with its token, if it is a port that can change something.
    pub token_file: Option<PathBuf>,
}

/// Reads the keys `admin` and `admin-token-file` only, so that a file with other errors can be used: `serow reload`
/// reports those.
pub(super) fn of(text: &str, folder: &Path) -> AdminSettings {
    let Ok(document) = Document::parse(text) else { return AdminSettings::default() };
    let text = |key| environment::expand(document.root().get(key)?.get_ref().as_str()?, false).ok();
    let mut socket: Option<AdminSocket> = text("admin").and_then(|text| text.parse().ok());
    if let Some(address) = socket.as_mut().and_then(AdminSocket::address_mut) {
        paths::resolve_address(address, folder);
    }
    let token_file = text("admin-token-file").map(|file| paths::resolved(Path::new(&*file), folder));
    AdminSettings { socket, token_file }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_whatever_else_is_wrong() {
        for (text, expected) in [
            ("admin = \"unix:a.sock\"\nlistn = 1\n", Some("unix:/etc/a.sock")),
            ("admin = \"unix:/run/a.sock\"", Some("unix:/run/a.sock")),
            ("admin = \"127.0.0.1:9000\"", Some("127.0.0.1:9000")),
            ("admin = \"off\"", Some("off")),
            ("admin = \"0.0.0.0:9000\"", None),
            ("admin = 9000", None),
            ("admin = \"unix:a.sock\"\n[", None),
            ("", None),
        ] {
            let settings = of(text, Path::new("/etc")).socket.map(|socket| socket.to_string());
            assert_eq!(settings.as_deref(), expected, "{text}");
        }
        let settings = of("admin = \"9000\"\nadmin-token-file = \"token\"", Path::new("/etc"));
        assert_eq!(settings.token_file.as_deref(), Some(Path::new("/etc/token")));
    }
}
