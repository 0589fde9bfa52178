//! The files that a restricted process can open.

use std::path::Path;

use serow_net::sandbox::{AllowedPath, FileAccess};

/// The files that a restricted process can open, until it ends.
#[derive(Debug)]
pub(crate) struct Granted(Vec<AllowedPath>);

impl Granted {
    /// Those that are there at the moment: the restriction has no rule for others.
    pub(super) fn of(mut paths: Vec<AllowedPath>) -> Self {
        paths.retain(|allowed| allowed.path.exists());
        Self(paths)
    }

    /// The first path that is there and that the process cannot open so.
    pub(super) fn first_missing<'a>(&self, needed: &'a [AllowedPath]) -> Option<&'a Path> {
        let missing = needed.iter().find(|needed| !self.has(needed) && needed.path.exists())?;
        Some(&missing.path)
    }

    fn has(&self, needed: &AllowedPath) -> bool {
        let covers = |granted: &AllowedPath| {
            let is_enough = granted.access == needed.access || granted.access == FileAccess::Change;
            is_enough && needed.path.starts_with(&granted.path)
        };
        self.0.iter().any(covers)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_path_is_granted_below_one_with_the_same_access_or_more() {
        let folder = tempfile::tempdir().unwrap();
        let allowed = |path: &str, access| AllowedPath { path: folder.path().join(path), access };
        for path in ["read/below", "written/below", "changed/below", "other"] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        let granted = Granted::of(vec![
            allowed("read", FileAccess::Read),
            allowed("written", FileAccess::Write),
            allowed("changed", FileAccess::Change),
            allowed("later", FileAccess::Read),
        ]);
        for (path, access, expected) in [
            ("read", FileAccess::Read, true),
            ("read/below", FileAccess::Read, true),
            ("read/below", FileAccess::Write, false),
            ("written/below", FileAccess::Write, true),
            // It lists no folders.
            ("written/below", FileAccess::Read, false),
            ("changed/below", FileAccess::Read, true),
            ("changed/below", FileAccess::Write, true),
            ("changed/below", FileAccess::Change, true),
            ("other", FileAccess::Read, false),
            // Nothing can be opened where nothing is.
            ("missing", FileAccess::Read, true),
        ] {
            let needed = [allowed(path, access)];
            assert_eq!(granted.first_missing(&needed).is_none(), expected, "{path} {access:?}");
        }
        fs::create_dir(folder.path().join("later")).unwrap();
        assert!(granted.first_missing(&[allowed("later", FileAccess::Read)]).is_some());
    }
}
