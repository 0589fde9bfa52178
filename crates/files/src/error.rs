//! The errors of a folder or its settings before the first request.

use std::{error, fmt, io, path::PathBuf};

use rustix::io::Errno;

/// The error of a folder that cannot be served. Its message is one line that says what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum FilesError {
    /// The path does not exist.
    Missing(PathBuf),
    /// It is not a folder.
    NotAFolder(PathBuf),
    /// The system refuses to open it.
    Unreadable(PathBuf, io::Error),
    /// A path in the settings is invalid.
    Path {
        /// The name of the setting, as in [`FilesSettings`](crate::FilesSettings).
        setting: &'static str,
        /// Its value.
        value: String,
    },
    /// Text in the settings is not valid in a header field.
    Text {
        /// The name of the setting, as in [`FilesSettings`](crate::FilesSettings).
        setting: &'static str,
        /// Its value.
        value: String,
    },
}

impl FilesError {
    /// Whether the process is out of descriptors or memory, which does not concern the folder.
    pub(crate) fn is_exhaustion(&self) -> bool {
        let Self::Unreadable(_, error) = self else { return false };
        let errno = error.raw_os_error().map(Errno::from_raw_os_error);
        matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
    }
}

impl fmt::Display for FilesError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => {
                write!(formatter, "there is no folder {}: create it, or name another one", path.display())
            }
            Self::NotAFolder(path) => {
                write!(formatter, "{} is not a folder: name the folder that contains it", path.display())
            }
            Self::Unreadable(path, error) => {
                write!(
                    formatter,
                    "cannot open the folder {}: {error}; grant the server's user access to it",
                    path.display()
                )
            }
            Self::Path { setting: setting @ "extensions", value } => {
                write!(formatter, "{setting} = {value:?}: give an ending with its dot, as in .html")
            }
            Self::Path { setting, value } => {
                write!(formatter, "{setting} = {value:?}: give the path of a file below the folder, without '..'")
            }
            Self::Text { setting, value } => {
                write!(
                    formatter,
                    "{setting} = {value:?}: leave out control characters, since it becomes a header field"
                )
            }
        }
    }
}

impl error::Error for FilesError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Unreadable(_, error) => Some(error),
            _ => None,
        }
    }
}
