//! What clients may do with a folder.

/// What clients may do with a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteMode {
    /// PUT and DELETE of files.
    Put,
    /// All of WebDAV, classes 1 and 2.
    #[default]
    Dav,
}
