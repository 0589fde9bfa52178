//! Files that must exist for a route to take a request, or must not.

use std::{error::Error, fmt, fs, path::Path};

use serow_variables::{Form, Part, Scope, Source, Text, VariableError};

/// Files and folders that must exist, or must not: one of the first, and none of the others. By default, there are none.
///
/// Each is looked up when a request comes, as with nginx's `if (-f …)`: a system call that reads nothing of the file. The
/// thread waits for it, which takes microseconds on a local disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileConditions {
    wanted: Vec<FileName>,
    refused: Vec<FileName>,
}

/// The name of a file, or of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileName {
    /// The folder that a relative path is in, with a slash behind it.
    folder: Box<[u8]>,
    text: Text,
    is_folder: bool,
}

impl FileConditions {
    /// Reads paths, which may have variables; `!` begins one that must not exist, and a slash ends that of a folder. Relative
    /// paths are relative to this folder.
    ///
    /// # Errors
    ///
    /// The number of an invalid path, and what is wrong with it.
    pub fn parse<T: AsRef<str>>(texts: &[T], folder: &Path, scope: &Scope) -> Result<Self, (usize, InvalidFile)> {
        let mut files = Self::default();
        for (number, text) in texts.iter().enumerate() {
            let (names, text) = match text.as_ref().strip_prefix('!') {
                Some(text) => (&mut files.refused, text),
                None => (&mut files.wanted, text.as_ref()),
            };
            names.push(FileName::parse(text, folder, scope).map_err(|error| (number, error))?);
        }
        Ok(files)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.refused.is_empty()
    }

    /// The texts of all names.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &Text> {
        self.wanted.iter().chain(&self.refused).map(|name| &name.text)
    }

    /// Whether the files exist for a request as they must. `room` is where their names are filled in.
    pub(crate) fn hold(&self, source: &Source<'_>, room: &mut Vec<u8>) -> bool {
        (self.wanted.is_empty() || self.wanted.iter().any(|name| name.exists(source, room)))
            && !self.refused.iter().any(|name| name.exists(source, room))
    }
}

impl FileName {
    fn parse(text: &str, folder: &Path, scope: &Scope) -> Result<Self, InvalidFile> {
        let parsed = Text::parse(text, scope)?;
        let begins_with_text = matches!(parsed.parts().first(), Some(Part::Text(_)));
        let is_climbing = text.split('/').any(|segment| segment == "..");
        match parsed.constant() {
            Some("") => return Err(InvalidFile::Empty),
            Some(text) if text.contains('\0') => return Err(InvalidFile::Nul),
            None if !begins_with_text => return Err(InvalidFile::Variable),
            None if is_climbing => return Err(InvalidFile::Climbing),
            _ => {}
        }
        let mut before = Vec::new();
        if !text.starts_with('/') && !folder.as_os_str().is_empty() {
            before.extend_from_slice(folder.as_os_str().as_encoded_bytes());
            before.push(b'/');
        }
        Ok(Self { folder: before.into(), text: parsed, is_folder: text.ends_with('/') })
    }

    /// Whether it exists. One that may not be looked at does not, nor does one that a value leads out of its folder.
    fn exists(&self, source: &Source<'_>, room: &mut Vec<u8>) -> bool {
        room.clear();
        self.text.append(source, Form::Raw, room);
        let is_constant = self.text.constant().is_some();
        if !is_constant && room.split(|&byte| byte == b'/').any(|segment| segment == b"..") {
            return false;
        }
        room.splice(..0, self.folder.iter().copied());
        // A name with NUL is none to the system.
        let Some(found) = path_of(room).and_then(|path| fs::metadata(path).ok()) else { return false };
        if self.is_folder { found.is_dir() } else { found.is_file() }
    }
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> Option<&Path> {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    Some(Path::new(OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> Option<&Path> {
    std::str::from_utf8(bytes).ok().map(Path::new)
}

/// Why a text is not the path of a file. The error says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidFile {
    /// It is empty.
    Empty,
    /// It has NUL.
    Nul,
    /// It begins with a variable.
    Variable,
    /// It has `..` beside variables.
    Climbing,
    /// A variable is none.
    Name(VariableError),
}

impl From<VariableError> for InvalidFile {
    fn from(error: VariableError) -> Self {
        Self::Name(error)
    }
}

impl fmt::Display for InvalidFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => formatter.write_str("names no file: write a path, as in \"/srv/app/maintenance.html\""),
            Self::Nul => formatter.write_str("has a NUL, which no path has"),
            Self::Variable => {
                formatter.write_str("begins with a variable: write the folder before it, as in \"/srv/cache$uri\"")
            }
            Self::Climbing => {
                formatter.write_str("has `..` beside variables, whose values must not leave the folder: leave it out")
            }
            Self::Name(error) => error.fmt(formatter),
        }
    }
}

impl Error for InvalidFile {}

#[cfg(test)]
mod tests {
    use serow_message::Request;

    use super::*;

    /// Texts, the clean path of a request with `?v=` this value, and whether the condition holds.
    #[test]
    fn files_and_folders_that_exist() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join("secret"), "").unwrap();
        let inside = root.join("in side$");
        fs::create_dir_all(inside.join("folder")).unwrap();
        fs::write(inside.join("page.html"), "").unwrap();
        let absolute = inside.join("page.html").to_string_lossy().replace('$', "$$");
        for (texts, path, value, expected) in [
            (&["page.html"][..], "/", "", true),
            (&[absolute.as_str()], "/", "", true),
            (&["./page.html"], "/", "", true),
            (&["../secret"], "/", "", true),
            (&["none.html"], "/", "", false),
            (&["none.html", "page.html"], "/", "", true),
            (&["!none.html"], "/", "", true),
            (&["!page.html"], "/", "", false),
            (&["page.html", "!none.html"], "/", "", true),
            (&["page.html", "!folder/"], "/", "", false),
            // A folder has a slash at its end, and nothing else has.
            (&["folder"], "/", "", false),
            (&["folder/"], "/", "", true),
            (&["page.html/"], "/", "", false),
            (&[".$uri.html"], "/page", "", true),
            (&[".$uri.html"], "/other", "", false),
            (&[".$uri"], "/page.html/", "", false),
            (&[".$uri/"], "/folder", "", true),
            // Values are only names.
            (&["./$arg_v"], "/", "page.html", true),
            (&["./$arg_v"], "/", "../secret", false),
            (&["./$arg_v"], "/", "folder/../page.html", false),
            (&["./.$arg_v/secret"], "/", ".", false),
            (&["./$arg_v"], "/", "..secret", false),
            (&["./$arg_v"], "/", "", false),
            (&[".$uri"], "/page.html\0", "", false),
            (&["!.$uri"], "/page.html\0", "", true),
        ] {
            let files = FileConditions::parse(texts, &inside, &Scope::default()).unwrap();
            let mut request = Request::default();
            request.target = serow_message::Target::parse(format!("/?v={value}").into(), false).unwrap();
            let source = Source::of(&request, path.as_bytes());
            assert_eq!(files.hold(&source, &mut Vec::new()), expected, "{texts:?} {path:?} {value:?}");
        }
        fs::remove_file(inside.join("page.html")).unwrap();
        let files = FileConditions::parse(&["page.html"], &inside, &Scope::default()).unwrap();
        assert!(!files.hold(&Source::of(&Request::default(), b"/"), &mut Vec::new()));
    }

    #[test]
    fn mistakes_say_what_to_write() {
        for (text, expected) in [
            ("", InvalidFile::Empty),
            ("!", InvalidFile::Empty),
            ("a\0", InvalidFile::Nul),
            ("$uri", InvalidFile::Variable),
            ("/srv/../$arg_v", InvalidFile::Climbing),
        ] {
            let parsed = FileConditions::parse(&["x", text], Path::new("/srv"), &Scope::default());
            assert_eq!(parsed, Err((1, expected)), "{text}");
        }
        let unknown = FileConditions::parse(&["/$none"], Path::new(""), &Scope::default()).unwrap_err();
        assert!(unknown.1.to_string().starts_with("there is no $none"), "{unknown:?}");
    }
}
