//! A served folder, for handlers that change what is in it.

use std::{borrow::Borrow, fs::File, path::Path, sync::Arc, time::SystemTime};

use serow_message::FileVersion;

use crate::{
    error::FilesError,
    open_folders,
    representation::validators_of,
    request_path::Hidden,
    root::{Root, Symlinks},
    site::Site,
    stable_read::read_whole,
    validator::{EntityTag, MAX_HASHED},
};

/// A served folder: where it is, and what responses say of its files. Clones are handles to the same folder, and threads
/// can share them.
#[derive(Clone, Debug)]
pub struct Folder {
    pub(crate) site: Arc<Site>,
}

impl Folder {
    /// The absolute path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.site.root
    }

    /// Opens it for reading, with the symbolic links that responses follow.
    ///
    /// # Errors
    ///
    /// If it is gone, or the process has no descriptors left.
    pub fn open(&self) -> Result<Root, FilesError> {
        Root::open(&self.site.root, self.site.settings.symlinks)
    }

    /// The same, for a moment: the folder that another request has just opened, if there is one.
    ///
    /// # Errors
    ///
    /// As for [`Self::open`].
    pub fn open_shared(&self) -> Result<Root, FilesError> {
        open_folders::root(&self.site.root, self.site.settings.symlinks, (self.site.clock.milliseconds)())
    }

    /// The time of its clock, in milliseconds.
    #[must_use]
    pub fn milliseconds(&self) -> u64 {
        (self.site.clock.milliseconds)()
    }

    /// Opens it for changes: no symbolic link below it is followed.
    ///
    /// # Errors
    ///
    /// As for [`Self::open`].
    pub fn open_strictly(&self) -> Result<Root, FilesError> {
        Root::open(&self.site.root, Symlinks::Refuse)
    }

    /// Which names are served.
    #[must_use]
    pub fn hidden(&self) -> Hidden {
        self.site.settings.hidden
    }

    /// Whether a file of this name takes the place of the listing of its folder.
    #[must_use]
    pub fn is_index(&self, name: &[u8]) -> bool {
        self.site.settings.index.iter().any(|index| index.as_bytes() == name)
    }

    /// The Content-Type of the file at a path.
    #[must_use]
    pub fn media_type(&self, path: &[u8]) -> String {
        self.site.media_types.of(path).value
    }

    /// The entity tag and the modification date in the response to a GET of a file of this version, uncompressed. `open`
    /// opens the file to read it, where its times do not say which version it is; without it, there is no tag then.
    #[must_use]
    pub fn validators<F: Borrow<File>>(
        &self,
        version: &FileVersion,
        open: impl FnOnce() -> Option<F>,
    ) -> (Option<EntityTag>, Option<SystemTime>) {
        let mut is_known = true;
        let read = || {
            let file = open();
            let whole = file.and_then(|file| read_whole(file.borrow(), MAX_HASHED, self.site.clock.time_of_day).ok());
            is_known = whole.is_some();
            whole.map(|whole| whole.body)
        };
        let validators = validators_of(version, (self.site.clock.time_of_day)(), read);
        (Some(validators.tag).filter(|_| is_known), validators.modified)
    }
}
