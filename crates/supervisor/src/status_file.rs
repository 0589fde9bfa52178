//! The status file of a running supervisor: a line `GENERATION:PID` for each worker; and the start that failed last.

use std::{
    ffi::OsString,
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    process,
};

/// The status file, and the file beside it with the suffix `.failure`, which contains `GENERATION:STATUS` of the start
/// that failed last. They are replaced atomically, so that no reader sees a part, and removed at the end.
#[derive(Debug)]
pub(crate) struct StatusFile {
    path: PathBuf,
    written: bool,
}

impl StatusFile {
    /// A status file at this path, which is not written yet.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        Ok(Self { path: std::path::absolute(path)?, written: false })
    }

    /// Writes the current workers.
    pub(crate) fn write(&mut self, workers: &[(u64, u32)]) -> io::Result<()> {
        let lines: String = workers.iter().map(|(generation, pid)| format!("{generation}:{pid}\n")).collect();
        self.written = true;
        replace(&self.path, &lines)
    }

    /// Records a failed start, with this status of wait(2).
    pub(crate) fn write_failure(&mut self, generation: u64, status: i32) -> io::Result<()> {
        self.written = true;
        replace(&failure_path(&self.path), &format!("{generation}:{status}\n"))
    }

    /// Removes the record of the failed start.
    pub(crate) fn clear_failure(&self) {
        let _ = fs::remove_file(failure_path(&self.path));
    }
}

impl Drop for StatusFile {
    fn drop(&mut self) {
        if self.written {
            self.clear_failure();
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The running generations in a status file.
pub(crate) fn read_generations(path: &Path) -> io::Result<Vec<u64>> {
    let text = fs::read_to_string(path)?;
    Ok(text.lines().filter_map(|line| line.split_once(':')?.0.parse().ok()).collect())
}

/// The start that failed last, and with which status.
pub(crate) fn read_failure(path: &Path) -> io::Result<Option<(u64, i32)>> {
    match fs::read_to_string(failure_path(path)) {
        Ok(text) => Ok(text
            .trim_end()
            .split_once(':')
            .and_then(|(generation, status)| Some((generation.parse().ok()?, status.parse().ok()?)))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn failure_path(path: &Path) -> PathBuf {
    with_ending(path, ".failure")
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let beside = with_ending(path, &format!(".{}", process::id()));
    fs::write(&beside, text).and_then(|()| fs::rename(&beside, path)).inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_read_back_and_removed_on_drop() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("status");
        let mut file = StatusFile::new(&path).unwrap();
        file.write(&[(10, 7), (9, 8)]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "10:7\n9:8\n");
        assert_eq!(read_generations(&path).unwrap(), [10, 9]);
        assert_eq!(read_failure(&path).unwrap(), None);
        file.write_failure(11, 256).unwrap();
        assert_eq!(read_failure(&path).unwrap(), Some((11, 256)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
