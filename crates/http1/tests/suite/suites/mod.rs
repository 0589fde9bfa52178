//! Cases of other projects, unpacked while the test runs; this repository does not contain them.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A folder with what an archive holds, removed at the end.
pub(crate) struct Suite {
    folder: PathBuf,
}

impl Suite {
    /// Unpacks `NAME.tar.xz` from the folder that `SEROW_SUITES` names, else from `../shared/suites` beside the
    /// repository. Where it is not there, says so and gives `None`.
    pub(crate) fn unpack(name: &str) -> Option<Self> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/suites");
        let from = env::var_os("SEROW_SUITES").map_or(beside, PathBuf::from);
        let archive = from.join(name).with_extension("tar.xz");
        if !archive.exists() {
            let remedy = format!("{} is not there; SEROW_SUITES names its folder", archive.display());
            serow_requirements::skip(name, &remedy);
            return None;
        }
        if !serow_requirements::are_met(&["program:xz"]) {
            return None;
        }
        let folder = env::temp_dir().join(format!("serow-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder to unpack into");
        let status = Command::new("tar").arg("-xJf").arg(&archive).arg("-C").arg(&folder).status();
        assert!(status.is_ok_and(|status| status.success()), "tar and xz are needed to unpack {}", archive.display());
        Some(Self { folder })
    }

    /// All files below this folder of the archive, by name, in order.
    pub(crate) fn files(&self, below: &str) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        let root = self.folder.join(below);
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder of the archive") {
                let path = entry.expect("an entry of a folder").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&root).expect("a path below the folder").display().to_string();
                    files.push((name, fs::read(&path).expect("a file of the archive")));
                }
            }
        }
        files.sort();
        files
    }
}

impl Drop for Suite {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
