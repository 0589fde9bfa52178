//! A folder for the sockets of processes.

use std::{
    collections::hash_map::RandomState,
    fs::{self, DirBuilder},
    hash::BuildHasher,
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// A folder for temporary files into which nobody else may look; it is gone with all of them when this is dropped.
#[derive(Debug)]
pub struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// A new one, whose name begins like this.
    ///
    /// # Errors
    ///
    /// Those of mkdir(2).
    pub fn new(prefix: &str) -> io::Result<Self> {
        for number in 0..TRIES {
            let random = RandomState::new().hash_one(number);
            let path = std::env::temp_dir().join(format!("{prefix}-{}-{random:x}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                outcome => return outcome.map(|()| Self(path)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // Sockets and files of processes that have ended.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Most names are free.
const TRIES: u64 = 200;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_is_private_and_gone_at_the_end() {
        let folder = PrivateFolder::new("serow").unwrap();
        let path = folder.path().to_owned();
        fs::write(path.join("1.sock"), "").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        drop(folder);
        assert!(!path.exists());
    }
}
