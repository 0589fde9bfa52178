//! A file without a name: it is gone when nobody has it open, whatever becomes of this program.

use std::{
    collections::hash_map::RandomState,
    fs::{self, File, OpenOptions},
    hash::BuildHasher,
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::{Mode, OFlags};

/// Makes one on the file system of this folder, for this program's user alone.
///
/// # Errors
///
/// The system's.
pub(super) fn make(folder: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) {
        Ok(descriptor) => Ok(File::from(descriptor)),
        Err(error) => match error.into() {
            error if is_refusal_of_kind(&error) => make_and_remove(folder),
            error => Err(error),
        },
    }
}

/// open(2): a file system without unnamed files reports that it does not support them; an old kernel tries to write to
/// the folder.
fn is_refusal_of_kind(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::IsADirectory)
}

/// Makes a file with a name and takes the name away.
fn make_and_remove(folder: &Path) -> io::Result<File> {
    // A name that nobody can guess: in a folder like /tmp others could make files of all names that are to come.
    let path = folder.join(format!(".serow-body-{:016x}", RandomState::new().hash_one(0_u8)));
    // Never one that is there, nor where a link leads.
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Seek, Write},
        os::unix::fs::MetadataExt,
    };

    use super::*;

    #[test]
    fn files_have_no_names() {
        let folder = tempfile::tempdir().unwrap();
        for make in [make, make_and_remove] {
            let mut file = make(folder.path()).unwrap();
            let metadata = file.metadata().unwrap();
            assert_eq!((metadata.nlink(), metadata.mode() & 0o777), (0, 0o600));
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
            file.write_all(b"content").unwrap();
            file.rewind().unwrap();
            let mut content = String::new();
            file.read_to_string(&mut content).unwrap();
            assert_eq!(content, "content");
            assert!(make(&folder.path().join("none")).is_err());
        }
    }
}
