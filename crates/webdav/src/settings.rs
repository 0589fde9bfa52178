//! Permissions of clients in a folder, and its quota.

/// Permissions of clients in a folder, and its quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteSettings {
    /// The methods that clients may use.
    pub mode: WriteMode,
    /// How many bytes the files of the folder may have together; default: as many as the disk takes.
    pub quota: Option<u64>,
}

/// The methods that clients may use in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteMode {
    /// PUT of new files, by the form of the listing.
    Form,
    /// PUT and DELETE of files.
    Put,
    /// All of WebDAV, classes 1 and 2.
    #[default]
    Dav,
}

impl From<WriteMode> for WriteSettings {
    /// Without a quota.
    fn from(mode: WriteMode) -> Self {
        Self { mode, quota: None }
    }
}
