//! The folders in which a path may lead to something else later.

use std::{
    collections::BTreeSet,
    fmt, fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf, absolute},
};

use serow_net::sandbox::{AllowedPath, FileAccess};

/// Why it is not known what to allow.
#[derive(Debug)]
pub(crate) enum PlaceError {
    /// A file in the root of the file system, which could only be replaced where everything is allowed.
    InRoot(PathBuf),
    /// It cannot be looked at, perhaps by this user only: root is nobody on some file systems (NFS, FUSE).
    Unreachable(PathBuf, io::Error),
}

/// The folders to allow so that a path can be opened now, and after it was replaced: the one that it is in, and for
/// each symbolic link on the way, the one where its target is, as in releases/1 behind current, and live/a.pem behind
/// archive/a1.pem.
pub(super) fn places_of(path: &Path, access: FileAccess) -> Result<Vec<AllowedPath>, PlaceError> {
    let (mut places, mut links) = (BTreeSet::new(), BTreeSet::new());
    let path = absolute(path).unwrap_or_else(|_| path.to_owned());
    add_around(&path, &mut places)?;
    add_targets(&path, &mut places, &mut links)?;
    Ok(places.into_iter().map(|path| AllowedPath { path, access }).collect())
}

/// Adds the places where the links on the way to a path lead, except for those links that were followed before.
fn add_targets(
    path: &Path,
    places: &mut BTreeSet<PathBuf>,
    followed: &mut BTreeSet<PathBuf>,
) -> Result<(), PlaceError> {
    let mut above: Vec<&Path> = path.ancestors().collect();
    above.reverse();
    for step in above {
        if let (Ok(target), Some(folder)) = (fs::read_link(step), step.parent())
            && followed.len() < MAX_LINKS
            && followed.insert(step.to_owned())
        {
            let target = folder.join(target);
            add_around(&target, places)?;
            add_targets(&target, places, followed)?;
        }
    }
    Ok(())
}

/// Adds the folder that something is in. Of the root of the file system and of those of devices and processes, only the
/// thing itself.
fn add_around(path: &Path, places: &mut BTreeSet<PathBuf>) -> Result<(), PlaceError> {
    match existing(path.parent().unwrap_or(path))? {
        Some(folder) if folder == Path::new("/") => match existing(path)? {
            Some(found) if found.is_dir() => drop(places.insert(found)),
            _ => return Err(PlaceError::InRoot(path.to_owned())),
        },
        Some(folder) if is_of_kernel(&folder) => {
            places.extend(existing(path)?.filter(|found| !found.starts_with("/proc")));
        }
        Some(folder) => drop(places.insert(folder)),
        // The code that opens the file reports that it does not exist.
        None => {}
    }
    Ok(())
}

/// Whether a folder has devices or processes in it, and not files of users: /dev/shm is an ordinary file system.
fn is_of_kernel(folder: &Path) -> bool {
    folder.starts_with("/dev") && !folder.starts_with("/dev/shm") || folder.starts_with("/proc")
}

/// Where a path leads, if there is something.
pub(super) fn existing(path: &Path) -> Result<Option<PathBuf>, PlaceError> {
    match path.canonicalize() {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(PlaceError::Unreachable(path.to_owned(), error)),
    }
}

/// As many links as Linux follows on a path (path_resolution(7)).
const MAX_LINKS: usize = 40;

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InRoot(path) => write!(f, "{} is in the root of the file system", path.display()),
            Self::Unreachable(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn paths_of(path: &Path) -> Vec<PathBuf> {
        let places = places_of(path, FileAccess::Read).unwrap();
        places.into_iter().map(|place| place.path).collect()
    }

    #[test]
    fn the_folder_around_and_the_folders_of_link_targets_are_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        for name in ["releases/1/public", "live/site", "archive/site", "certificates/1"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("archive/site/1.pem"), "").unwrap();
        fs::write(folder.join("certificates/1/a.pem"), "").unwrap();
        symlink("releases/1", folder.join("current")).unwrap();
        symlink("../../archive/site/1.pem", folder.join("live/site/a.pem")).unwrap();
        symlink(folder.join("certificates/1"), folder.join("live/other")).unwrap();
        for (path, expected) in [
            ("releases/1/public", &["releases/1"][..]),
            ("current", &["", "releases"]),
            ("current/public", &["releases", "releases/1"]),
            ("live/site/a.pem", &["archive/site", "live/site"]),
            ("live/other/a.pem", &["certificates", "certificates/1"]),
            ("live/site/../../current/public", &["releases", "releases/1"]),
            ("missing/a.pem", &[]),
        ] {
            let expected: Vec<_> =
                expected.iter().map(|name| folder.join(name).components().collect::<PathBuf>()).collect();
            assert_eq!(paths_of(&folder.join(path)), expected, "{path}");
        }
    }

    #[test]
    fn links_in_a_circle_end() {
        let folder = tempfile::tempdir().unwrap();
        symlink("b", folder.path().join("a")).unwrap();
        symlink("a", folder.path().join("b")).unwrap();
        assert_eq!(paths_of(&folder.path().join("a")), [folder.path().canonicalize().unwrap()]);
    }

    #[test]
    fn a_folder_in_the_root_is_allowed_alone_and_a_file_there_cannot_be() {
        assert_eq!(paths_of(Path::new("/etc")), [Path::new("/etc")]);
        let file = Path::new("/serow-no-such-file.pem");
        assert!(matches!(places_of(file, FileAccess::Read), Err(PlaceError::InRoot(path)) if path == file));
    }

    #[test]
    fn of_devices_and_processes_only_what_is_named_is_allowed() {
        assert_eq!(paths_of(Path::new("/dev/null")), [Path::new("/dev/null")]);
        let standard_output = paths_of(Path::new("/dev/stdout"));
        let is_all = |path: &PathBuf| path == Path::new("/dev") || path.starts_with("/proc");
        assert!(!standard_output.iter().any(is_all), "{standard_output:?}");
    }
}
