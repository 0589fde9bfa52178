//! The program that generations are.

use std::{
    env,
    ffi::OsStr,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// This program by the name that it was called: a new version that takes the name's place, or a link that leads
/// elsewhere by then, is what the next generation will be.
pub(super) fn path() -> io::Result<PathBuf> {
    let name = env::args_os().next().unwrap_or_default();
    // A name can be anything: what is found by it has to be this program.
    match find(&name, env::var_os("PATH").as_deref()).filter(|path| is_this_program(path)) {
        Some(path) => std::path::absolute(path),
        None => env::current_exe(),
    }
}

fn is_this_program(path: &Path) -> bool {
    match (fs::metadata(path), fs::metadata("/proc/self/exe")) {
        (Ok(found), Ok(own)) => (found.dev(), found.ino()) == (own.dev(), own.ino()),
        _ => false,
    }
}

/// As a shell finds it.
fn find(name: &OsStr, folders: Option<&OsStr>) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 || path.is_absolute() {
        return path.is_file().then(|| path.to_owned());
    }
    let mut paths = env::split_paths(folders?).map(|folder| folder.join(name));
    paths.find(|path| !name.is_empty() && path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_as_a_shell_finds_it() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().join("serow");
        fs::write(&here, "").unwrap();
        let folders = env::join_paths([Path::new("/nowhere"), folder.path()]).unwrap();
        for (name, expected) in [
            (here.as_os_str(), Some(&here)),
            (OsStr::new("serow"), Some(&here)),
            (OsStr::new("./nothing"), None),
            (OsStr::new("nothing"), None),
            (OsStr::new(""), None),
        ] {
            assert_eq!(find(name, Some(&folders)).as_ref(), expected, "{name:?}");
        }
        assert_eq!(find(OsStr::new("serow"), None), None);
        assert!(!is_this_program(&here) && is_this_program(&env::current_exe().unwrap()));
    }
}
