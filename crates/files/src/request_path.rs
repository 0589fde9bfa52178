//! From the path of a request to the names of folders and a file, or a refusal.
//!
//! This is the first of two fences. It refuses what no honest client sends; the second, [`crate::root`], lets the
//! kernel refuse whatever would leave the root, symbolic links included.

use std::fmt;

use serow_message::percent::{Octet, PercentDecodeError, decode};

/// The names a request path is made of, decoded, none of them empty, `.` or `..`, none with a slash or NUL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPath {
    /// The names, joined by `/`, without a slash at either end.
    names: Vec<u8>,
    /// Whether the path ended with a slash, so that it means a folder.
    folder: bool,
}

impl RequestPath {
    /// Decodes the path of a request target, which still is percent-encoded.
    ///
    /// Decoding happens once: `%252e` is the name `%2e`. Repeated slashes count as one, as nginx has it.
    ///
    /// # Errors
    ///
    /// A path that names nothing that may be served.
    pub fn parse(encoded: &str, hidden: Hidden) -> Result<Self, PathRefused> {
        let decoded = percent_decoded(encoded.as_bytes())?;
        Self::from_decoded(&decoded, hidden)
    }

    /// Takes a path that is decoded already: one that a rewrite rule made, or one from the settings.
    ///
    /// # Errors
    ///
    /// As for [`Self::parse`].
    pub fn from_decoded(decoded: &[u8], hidden: Hidden) -> Result<Self, PathRefused> {
        let mut names = Vec::with_capacity(decoded.len());
        for name in decoded.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            check_name(name, hidden)?;
            if !names.is_empty() {
                names.push(b'/');
            }
            names.extend_from_slice(name);
        }
        let folder = names.is_empty() || decoded.last() == Some(&b'/');
        Ok(Self { names, folder })
    }

    /// The path below the root, without a slash at either end; empty for the root itself.
    #[must_use]
    pub fn relative(&self) -> &[u8] {
        &self.names
    }

    /// Whether the path means a folder: it ended with a slash.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.folder
    }

    /// The path as rules see it: with a slash before it, and one behind if it means a folder.
    #[must_use]
    pub fn absolute(&self) -> Vec<u8> {
        let mut path = Vec::with_capacity(self.names.len() + 2);
        path.push(b'/');
        path.extend_from_slice(&self.names);
        if self.folder && !self.names.is_empty() {
            path.push(b'/');
        }
        path
    }
}

/// Whether names that begin with a dot are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hidden {
    /// They answer 404 and no listing shows them: `.git`, `.env` and `.htpasswd` lie in many a folder that is served.
    /// `.well-known` is served all the same (RFC 8615).
    #[default]
    Refuse,
    /// They are served and listed like any other.
    Serve,
}

impl Hidden {
    /// Whether a file or folder of this name may be seen. Names that begin with [`UPLOAD_PREFIX`] never are.
    #[must_use]
    pub fn allows(self, name: &[u8]) -> bool {
        match self {
            _ if name.first() != Some(&b'.') => true,
            Self::Serve => !name.starts_with(UPLOAD_PREFIX.as_bytes()),
            Self::Refuse => name == WELL_KNOWN,
        }
    }
}

/// Why a path is refused before any file is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathRefused {
    /// No honest client sends it (400): NUL, `..`, or a percent sign without two hexadecimal digits.
    Malformed,
    /// Nothing can have or may show that name (404): an encoded slash, a backslash, a hidden name.
    NotFound,
}

impl fmt::Display for PathRefused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Malformed => "the path holds NUL, '..' or a broken percent-encoding",
            Self::NotFound => "the path names something hidden or impossible",
        })
    }
}

/// A path of a request as people read it, for a page that shows it; as it came where it cannot be decoded.
pub(crate) fn readable(encoded: &str) -> String {
    match percent_decoded(encoded.as_bytes()) {
        Ok(decoded) => String::from_utf8_lossy(&decoded).into_owned(),
        Err(_) => encoded.to_owned(),
    }
}

fn percent_decoded(encoded: &[u8]) -> Result<Vec<u8>, PathRefused> {
    let mut decoded = Vec::with_capacity(encoded.len());
    for octet in decode(encoded) {
        match octet {
            // A file name cannot hold a slash, so a slash that was encoded names nothing. Taking it for a separator
            // instead would let `..%2f` past every proxy that looks for `../`.
            Ok(Octet::Encoded(b'/')) => return Err(PathRefused::NotFound),
            Ok(octet) => decoded.push(octet.byte()),
            Err(PercentDecodeError) => return Err(PathRefused::Malformed),
        }
    }
    Ok(decoded)
}

fn check_name(name: &[u8], hidden: Hidden) -> Result<(), PathRefused> {
    if name == b".." || name.contains(&0) {
        return Err(PathRefused::Malformed);
    }
    // Browsers turn a backslash into a slash, and Windows takes it for one: whoever sends it means to climb.
    if name == b"." || name.contains(&b'\\') || !hidden.allows(name) {
        return Err(PathRefused::NotFound);
    }
    Ok(())
}

/// How the names of files begin that are not complete yet, in folders that clients may write to: they are never served.
pub const UPLOAD_PREFIX: &str = ".serow-upload-";

/// RFC 8615 §3: the one hidden name that exists to be served.
const WELL_KNOWN: &[u8] = b".well-known";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_and_their_names() {
        let cases: [(&str, &str, bool); 12] = [
            ("/", "", true),
            ("//", "", true),
            ("/a", "a", false),
            ("/a/", "a", true),
            ("/a//b", "a/b", false),
            ("//a/b//", "a/b", true),
            ("/a%20b", "a b", false),
            ("/%C3%A4", "ä", false),
            ("/%252e%252e", "%2e%2e", false),
            ("/a+b", "a+b", false),
            ("/...", "...", false),
            ("/.well-known/acme", ".well-known/acme", false),
        ];
        for (encoded, names, folder) in cases {
            let hidden = if names == "..." { Hidden::Serve } else { Hidden::Refuse };
            let path = RequestPath::parse(encoded, hidden).unwrap();
            assert_eq!((path.relative(), path.is_folder()), (names.as_bytes(), folder), "{encoded}");
        }
    }

    #[test]
    fn refused_paths() {
        use PathRefused::{Malformed, NotFound};
        let cases = [
            ("/..", Malformed),
            ("/a/../b", Malformed),
            ("/%2e%2e/b", Malformed),
            ("/%2E./b", Malformed),
            ("/a%00", Malformed),
            ("/a%", Malformed),
            ("/a%4", Malformed),
            ("/a%4x", Malformed),
            ("/a%+4", Malformed),
            ("/a%2Fb", NotFound),
            ("/..%2f..%2fetc/passwd", NotFound),
            ("/..%5c..%5cetc", NotFound),
            ("/a\\b", NotFound),
            ("/.git/config", NotFound),
            ("/a/.env", NotFound),
            ("/.", NotFound),
            ("/a/./b", NotFound),
            ("/%2ehidden", NotFound),
            ("/.serow-upload-1", NotFound),
        ];
        for (encoded, refused) in cases {
            assert_eq!(RequestPath::parse(encoded, Hidden::Refuse), Err(refused), "{encoded}");
        }
        assert!(RequestPath::parse("/.git/config", Hidden::Serve).is_ok());
        assert!(RequestPath::parse("/./a", Hidden::Serve).is_err());
        assert!(RequestPath::parse("/a/.serow-upload-1", Hidden::Serve).is_err());
    }

    #[test]
    fn absolute_keeps_the_folder_slash() {
        for path in ["/", "/a", "/a/", "/a/b/"] {
            assert_eq!(RequestPath::parse(path, Hidden::Refuse).unwrap().absolute(), path.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn a_decoded_path_never_leaves_the_root(
            pieces in proptest::collection::vec(
                prop_oneof![
                    Just("/".to_owned()), Just("..".to_owned()), Just(".".to_owned()), Just("%2e".to_owned()),
                    Just("%2f".to_owned()), Just("%5c".to_owned()), Just("%00".to_owned()), Just("%".to_owned()),
                    Just("\\".to_owned()), "[ -~]{0,4}", "%[0-9a-fA-F]{2}",
                ],
                0..12,
            ),
            hidden in prop_oneof![Just(Hidden::Refuse), Just(Hidden::Serve)],
        ) {
            if let Ok(path) = RequestPath::parse(&format!("/{}", pieces.concat()), hidden) {
                let names = path.relative();
                prop_assert!(!names.contains(&0) && !names.contains(&b'\\'));
                if !names.is_empty() {
                    for name in names.split(|&byte| byte == b'/') {
                        prop_assert!(!name.is_empty() && name != b"." && name != b"..");
                        prop_assert!(hidden.allows(name));
                    }
                }
            }
        }
    }
}
