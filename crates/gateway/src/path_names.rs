//! The names of a request's path, decoded once.

use serow_message::percent::{self, Octet};

/// The names of a path between its slashes.
#[derive(Debug, PartialEq, Eq)]
pub struct PathNames {
    names: Vec<PathName>,
    /// Whether the path ends with a slash: it means a folder.
    pub is_folder: bool,
}

/// A name, decoded.
#[derive(Debug, PartialEq, Eq)]
pub struct PathName {
    /// The name; it may have slashes, where they were encoded.
    pub text: Vec<u8>,
    /// Where its slash is in the encoded path.
    start: usize,
    is_of_file: bool,
}

/// A path that no honest client sends: NUL, `..`, or a broken percent-encoding (400).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedPath;

impl PathNames {
    /// Decodes a path, once: `%252e` is the name `%2e`. Repeated slashes count as one.
    ///
    /// # Errors
    ///
    /// A path that no honest client sends.
    pub fn parse(encoded: &str) -> Result<Self, MalformedPath> {
        let mut names = Vec::new();
        let mut start = 0;
        for part in encoded.split_inclusive('/') {
            let name = part.trim_end_matches('/');
            if !name.is_empty() {
                names.push(PathName::decode(name, start)?);
            }
            start += part.len();
        }
        Ok(Self { is_folder: names.is_empty() || encoded.ends_with('/'), names })
    }

    /// The names.
    pub fn iter(&self) -> impl Iterator<Item = &PathName> {
        self.names.iter()
    }

    /// The names below a prefix, or nothing where the path does not begin with it.
    #[must_use]
    pub fn below(mut self, prefix: &Self) -> Option<Self> {
        let mut first = self.names.iter().map(|name| &name.text);
        if !prefix.names.iter().all(|name| first.next() == Some(&name.text)) {
            return None;
        }
        self.names.drain(..prefix.names.len());
        Some(self)
    }

    /// The path below a folder that the first `count` names make, if each can be the name of a file.
    #[must_use]
    pub fn joined(&self, count: usize) -> Option<Vec<u8>> {
        let names = self.names.get(..count)?;
        names
            .iter()
            .all(|name| name.is_of_file)
            .then(|| names.iter().map(|name| name.text.as_slice()).collect::<Vec<_>>().join(&b'/'))
    }

    /// The decoded path, with one slash before each name.
    #[must_use]
    pub fn path(&self) -> Vec<u8> {
        let mut path: Vec<u8> = self.names.iter().flat_map(|name| [b"/", name.text.as_slice()].concat()).collect();
        if self.is_folder {
            path.push(b'/');
        }
        path
    }

    /// The number of names.
    #[must_use]
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// The part of the encoded path behind the first `count` names.
    #[must_use]
    pub fn behind<'path>(&self, count: usize, encoded: &'path str) -> &'path str {
        match self.names.get(count) {
            // With the slash before it.
            Some(next) => &encoded[next.start.saturating_sub(1)..],
            None if self.is_folder && count > 0 => "/",
            None => "",
        }
    }

    /// Whether one of the first `count` names begins with a dot, so that it is none that is served: `.git`, `.env`.
    /// `.well-known` is (RFC 8615 §3).
    #[must_use]
    pub fn has_hidden(&self, count: usize) -> bool {
        self.names.iter().take(count).any(|name| name.text.first() == Some(&b'.') && name.text != b".well-known")
    }
}

impl PathName {
    fn decode(encoded: &str, start: usize) -> Result<Self, MalformedPath> {
        let mut text = Vec::with_capacity(encoded.len());
        let mut is_of_file = true;
        for octet in percent::decode(encoded.as_bytes()) {
            match octet {
                Err(_) | Ok(Octet::Plain(0) | Octet::Encoded(0)) => return Err(MalformedPath),
                // A file name has no slash, and a backslash is one to some: the name is for a script alone.
                Ok(Octet::Encoded(b'/') | Octet::Plain(b'\\') | Octet::Encoded(b'\\')) => is_of_file = false,
                Ok(_) => {}
            }
            text.push(octet.map_or(0, Octet::byte));
        }
        // Also between encoded slashes: whoever sends it means to climb.
        // Some servers drop everything after a semicolon.
        let mut parts = text.split(|byte| matches!(byte, b'/' | b'\\'));
        if parts.any(|part| part == b".." || part.starts_with(b"..;")) {
            return Err(MalformedPath);
        }
        is_of_file &= text != b".";
        Ok(Self { text, start, is_of_file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_decoded_once_and_refused_where_they_climb() {
        for (path, expected) in [
            ("/", Ok(("", true))),
            ("/a/b.php", Ok(("a|b.php", false))),
            ("//a///b/", Ok(("a|b", true))),
            ("/a%20b/%252e", Ok(("a b|%2e", false))),
            ("/a%2Fb", Ok(("a/b", false))),
            ("/%2e%2e/a", Err(MalformedPath)),
            ("/a/../b", Err(MalformedPath)),
            ("/a%2f..%2fb", Err(MalformedPath)),
            ("/a%5c..%5cb", Err(MalformedPath)),
            ("/a%00.php", Err(MalformedPath)),
            ("/a%zz", Err(MalformedPath)),
            ("/..;/a", Err(MalformedPath)),
            ("/..a;/", Ok(("..a;", true))),
            ("/a...b", Ok(("a...b", false))),
        ] {
            let parsed = PathNames::parse(path).map(|names| {
                let texts: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(&name.text).into_owned()).collect();
                (texts.join("|"), names.is_folder)
            });
            assert_eq!(parsed, expected.map(|(text, is_folder)| (text.to_owned(), is_folder)), "{path}");
        }
    }

    #[test]
    fn the_part_behind_names_keeps_its_slashes() {
        for (path, count, expected) in [
            ("/a.php", 1, ""),
            ("/a.php/", 1, "/"),
            ("/a.php/b/c", 1, "/b/c"),
            ("/a.php//b", 1, "/b"),
            ("/x/a.php/b%2Fc/", 2, "/b%2Fc/"),
        ] {
            assert_eq!(PathNames::parse(path).unwrap().behind(count, path), expected, "{path}");
        }
    }

    #[test]
    fn names_below_a_prefix_keep_their_places() {
        for (path, prefix, expected) in [
            ("/cgi-bin/a/b", "/cgi-bin", Some("/a/b")),
            ("//cgi-bin//a", "/cgi-bin", Some("/a")),
            ("/cgi%2Dbin/a%2Fb/", "/cgi-bin", Some("/a%2Fb/")),
            ("/a/b", "/", Some("/a/b")),
            ("/cgi-bin", "/cgi-bin", Some("")),
            ("/cgi-bin%2Fa", "/cgi-bin", None),
            ("/./cgi-bin/a", "/cgi-bin", None),
            ("/cgi-binary/a", "/cgi-bin", None),
            ("/a", "/a/b", None),
        ] {
            let names = PathNames::parse(path).unwrap().below(&PathNames::parse(prefix).unwrap());
            assert_eq!(names.map(|names| names.behind(0, path).to_owned()).as_deref(), expected, "{path} {prefix}");
        }
    }

    #[test]
    fn names_with_encoded_slashes_are_not_those_of_files() {
        let names = PathNames::parse("/a/b%2Fc/d").unwrap();
        assert_eq!((names.joined(1), names.joined(2), names.joined(3)), (Some(b"a".to_vec()), None, None));
    }
}
