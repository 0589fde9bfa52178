//! The file with the supervisor's process id. The supervisor holds a lock on it while it runs (flock(2)).

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process,
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use crate::SupervisorError;

/// The file of this process; dropping it removes the file.
#[derive(Debug)]
pub(crate) struct PidFile {
    path: PathBuf,
    _locked: File,
}

impl PidFile {
    /// Writes the process id into the file at this path, which no other supervisor may hold.
    pub(crate) fn create(path: &Path) -> Result<Self, SupervisorError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        loop {
            let failed = |error: io::Error| SupervisorError::File("--pid-file", path.clone(), error);
            let mut file =
                File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Err(SupervisorError::Running(path.clone(), first_line(&mut file))),
                Err(errno) => return Err(failed(errno.into())),
            }
            // The previous supervisor may have removed it meanwhile: then another file, or none, is at the path.
            if is_at(&file, &path) {
                file.set_len(0).and_then(|()| writeln!(file, "{}", process::id())).map_err(failed)?;
                return Ok(Self { path, _locked: file });
            }
        }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The pid file of a running supervisor, and its process id.
pub(crate) fn open(path: &Path) -> Result<(File, i32), SupervisorError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => SupervisorError::NotRunning(path.to_owned()),
        _ => SupervisorError::File("--pid-file", path.to_owned(), error),
    };
    let mut file = File::options().read(true).write(true).open(path).map_err(failed)?;
    // A process id that nobody keeps may be that of any other process by now.
    if !is_held(&file) {
        return Err(SupervisorError::NotRunning(path.to_owned()));
    }
    match first_line(&mut file).parse() {
        Ok(pid) if pid > 0 => Ok((file, pid)),
        _ => Err(SupervisorError::NoProcess(path.to_owned())),
    }
}

/// Whether a running supervisor holds the file.
pub(crate) fn is_held(file: &File) -> bool {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            let _ = flock(file, FlockOperation::Unlock);
            false
        }
        Err(_) => true,
    }
}

/// Waits until no supervisor holds the file.
pub(crate) fn wait(file: &File) -> io::Result<()> {
    loop {
        match flock(file, FlockOperation::LockExclusive) {
            Err(Errno::INTR) => {}
            outcome => return outcome.map_err(io::Error::from),
        }
    }
}

fn first_line(file: &mut File) -> String {
    let mut text = String::new();
    // Half a line is as good as none.
    let _ = file.take(64).read_to_string(&mut text);
    text.lines().next().unwrap_or_default().trim().to_owned()
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(found)) => (held.dev(), held.ino()) == (found.dev(), found.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pid");
        assert!(matches!(open(&path), Err(SupervisorError::NotRunning(_))));
        fs::write(&path, "1\n").unwrap();
        assert!(matches!(open(&path), Err(SupervisorError::NotRunning(_))), "nobody holds it");
        let file = PidFile::create(&path).unwrap();
        let own = process::id();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{own}\n"));
        assert_eq!(open(&path).unwrap().1.unsigned_abs(), own);
        let refused = PidFile::create(&path).unwrap_err().to_string();
        assert!(refused.contains(&format!("another supervisor is running, process {own};")), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{own}\n"));
        drop(file);
        assert!(!path.exists());
    }
}
