//! The name of an added settings file.

use std::{borrow::Borrow, error::Error, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The name of an added settings file: letters, digits, `.`, `-` and `_`, without a dot at the beginning.
///
/// ```
/// use serow_document::added_file_name::AddedFileName;
///
/// assert!("shop.example".parse::<AddedFileName>().is_ok());
/// assert!("../serow.toml".parse::<AddedFileName>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct AddedFileName(Box<str>);

/// Why a text is not the name of an added settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedFileNameError(Box<str>);

impl AddedFileName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the name of a file that stands for containers: users cannot write such files.
    #[must_use]
    pub fn is_of_container(&self) -> bool {
        self.0.starts_with(CONTAINER_PREFIX)
    }
}

impl FromStr for AddedFileName {
    type Err = AddedFileNameError;

    fn from_str(text: &str) -> Result<Self, AddedFileNameError> {
        let name =
            text.strip_prefix(CONTAINER_PREFIX).map(|host| host.strip_prefix('~').unwrap_or(host)).unwrap_or(text);
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        let is_name =
            !name.is_empty() && text.len() <= MAX_LENGTH && !text.starts_with('.') && name.bytes().all(is_letter);
        if is_name { Ok(Self(text.into())) } else { Err(AddedFileNameError(text.into())) }
    }
}

impl TryFrom<String> for AddedFileName {
    type Error = AddedFileNameError;

    fn try_from(text: String) -> Result<Self, AddedFileNameError> {
        text.parse()
    }
}

impl From<AddedFileName> for String {
    fn from(name: AddedFileName) -> Self {
        name.0.into()
    }
}

impl Borrow<str> for AddedFileName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AddedFileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for AddedFileNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} cannot name an added file: use letters, digits, '.', '-' and '_', at most {MAX_LENGTH}, and no dot \
             at its beginning",
            self.0
        )
    }
}

impl Error for AddedFileNameError {}

/// The beginning of the names of files that stand for containers. The name of a host follows, where `~` is a star.
pub const CONTAINER_PREFIX: &str = "docker~";

/// With an ending, it is the name of a file (NAME_MAX is 255 bytes).
const MAX_LENGTH: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_folder() {
        for name in ["shop", "shop.example", "a_b-c", "0", &"a".repeat(100)] {
            let parsed = name.parse::<AddedFileName>().unwrap();
            assert_eq!((parsed.as_str(), parsed.is_of_container()), (name, false));
        }
        for name in ["docker~shop.example", "docker~~.example", "docker~~0123"] {
            let parsed = name.parse::<AddedFileName>().unwrap();
            assert_eq!((parsed.as_str(), parsed.is_of_container()), (name, true));
        }
        for name in [
            "",
            ".",
            "..",
            ".a",
            "a/b",
            "*",
            "a b",
            "ä",
            "a\0",
            "a%2f",
            "a~b",
            "~",
            "docker~",
            "docker~~",
            "docker~a/b",
            "docker~a~b",
            &"a".repeat(101),
        ] {
            assert!(name.parse::<AddedFileName>().is_err(), "{name}");
        }
    }
}
