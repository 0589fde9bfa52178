//! The folder with added settings files: a file appears in it whole, and is there after a power failure.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use serow_config::{AddedFileName, AddedFiles};

/// The folder with added settings files.
#[derive(Debug)]
pub(super) struct AddedFolder {
    path: PathBuf,
    /// `fsync` of the folder; another one in tests.
    pub(super) sync: fn(&File) -> io::Result<()>,
}

impl AddedFolder {
    /// The folder with this path, which is created with the first file.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, sync: File::sync_all }
    }

    /// The texts of the files in it; removes what changes that were not acknowledged have left.
    ///
    /// # Errors
    ///
    /// The folder or a file in it cannot be read.
    pub(super) fn read(&self) -> io::Result<AddedFiles> {
        let mut files = AddedFiles::new();
        let entries = match fs::read_dir(&self.path) {
            // Of another user, for whom this one has not added anything: HOME may be that of whoever called sudo.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
                return Ok(files);
            }
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
                let _ = fs::remove_file(&path);
            }
            let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(SUFFIX)?.parse().ok());
            if let Some(name) = name {
                files.insert(name, fs::read_to_string(&path).map_err(|error| named(&path, &error))?);
            }
        }
        Ok(files)
    }

    /// Writes the text of a proposal under another name than that of the file.
    pub(super) fn write(&self, name: &AddedFileName, number: usize, text: &str) -> io::Result<()> {
        let path = self.temporary(name, number);
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        let written = created.and_then(|()| options.open(&path)).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| named(&path, &error)).inspect_err(|_| drop(fs::remove_file(&path)))
    }

    /// The folder itself, for [`Self::sync`].
    pub(super) fn open(&self) -> io::Result<File> {
        File::open(&self.path).map_err(|error| named(&self.path, &error))
    }

    /// Gives the text of a proposal the name of the file. It has it after a power failure when [`Self::sync`] has succeeded.
    pub(super) fn put_in_place(&self, name: &AddedFileName, number: usize) -> io::Result<()> {
        let path = self.file(name);
        fs::rename(self.temporary(name, number), &path).map_err(|error| named(&path, &error))
    }

    /// Removes a file, if it is there, with the next [`Self::sync`].
    pub(super) fn remove(&self, name: &AddedFileName) -> io::Result<()> {
        let path = self.file(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(named(&path, &error)),
            _ => Ok(()),
        }
    }

    /// Removes the text of a proposal.
    pub(super) fn remove_temporary(&self, name: &AddedFileName, number: usize) {
        let _ = fs::remove_file(self.temporary(name, number));
    }

    /// Makes the names of all files durable.
    pub(super) fn sync(&self, opened: &File) -> io::Result<()> {
        (self.sync)(opened).map_err(|error| named(&self.path, &error))
    }

    fn file(&self, name: &AddedFileName) -> PathBuf {
        self.path.join(format!("{name}{SUFFIX}"))
    }

    /// A file that is written and not in place yet: no name of an added file begins with a dot.
    fn temporary(&self, name: &AddedFileName, number: usize) -> PathBuf {
        self.path.join(format!(".{name}.{number}"))
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

const SUFFIX: &str = ".toml";
