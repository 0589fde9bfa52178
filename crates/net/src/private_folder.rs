//! Folders with secrets, or with files that the server trusts.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

use rustix::process::geteuid;

/// Another user who owns a folder, or the symbolic link that leads to it: whoever does can put other files there, whatever
/// the mode is. Root may, and this user may: that of the process, unless another one is named.
///
/// # Errors
///
/// If there is nothing at this path, or it cannot be looked at.
pub fn foreign_owner(path: &Path, user: Option<u32>) -> io::Result<Option<u32>> {
    let user = user.unwrap_or_else(|| geteuid().as_raw());
    let owners = [fs::symlink_metadata(path)?.uid(), fs::metadata(path)?.uid()];
    Ok(owners.into_iter().find(|owner| *owner != user && *owner != ROOT))
}

const ROOT: u32 = 0;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    #[test]
    fn folders_and_links_of_other_users_are_found() {
        if !geteuid().is_root() {
            return eprintln!("SKIPPED: only root can give folders to other users");
        }
        let above = tempfile::tempdir().unwrap();
        let (folder, link) = (above.path().join("folder"), above.path().join("link"));
        fs::create_dir(&folder).unwrap();
        symlink(&folder, &link).unwrap();
        for (of_folder, of_link, user, through_folder, through_link) in [
            (0, 0, None, None, None),
            (0, 0, Some(7), None, None),
            (7, 0, Some(7), None, None),
            (7, 7, None, Some(7), Some(7)),
            (7, 0, None, Some(7), Some(7)),
            (0, 7, None, None, Some(7)),
            (7, 8, Some(7), None, Some(8)),
        ] {
            lchown(&folder, Some(of_folder), None).unwrap();
            lchown(&link, Some(of_link), None).unwrap();
            let case = format!("{of_folder} {of_link} {user:?}");
            assert_eq!(foreign_owner(&folder, user).unwrap(), through_folder, "{case}");
            assert_eq!(foreign_owner(&link, user).unwrap(), through_link, "{case}");
        }
        assert!(foreign_owner(&above.path().join("missing"), None).is_err());
    }
}
