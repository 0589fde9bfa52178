//! Symbolic links that are followed if the link and its target have the same owner, as with `disable_symlinks
//! if_not_owner` of nginx.
//!
//! A path is walked name by name, and whatever is compared is open: a link is opened itself (`O_PATH`), its owner and its
//! target are those of that descriptor, and the owner of the target is that of the descriptor that is served. So nothing
//! can be put into the place of what was compared.

use std::os::fd::OwnedFd;

use rustix::{
    fs::{self, FileType, Mode, OFlags},
    io::{Errno, Result, retry_on_intr},
};

use crate::root::FOLDER_FLAGS;

/// Opens a path below a folder. It has no empty name, no `.` and no `..`, except for `.` alone; targets of links may.
pub(crate) fn open(root: &OwnedFd, path: &[u8], flags: OFlags) -> Result<OwnedFd> {
    let mut walk = Walk { folder: None, steps: Vec::new(), followed: 0 };
    walk.push(path);
    walk.run(root, flags)
}

/// A path that is being walked.
struct Walk {
    /// Where it has arrived; nothing for the root.
    folder: Option<OwnedFd>,
    /// The way that is left, the next step last.
    steps: Vec<Step>,
    /// How many links were followed.
    followed: usize,
}

enum Step {
    /// To this name in the folder.
    Name(Vec<u8>),
    /// Nowhere: what was reached must have this owner, since a link of this owner led to it.
    Owner(u32),
}

impl Walk {
    fn push(&mut self, path: &[u8]) {
        let names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
        self.steps.extend(names.rev().map(|name| Step::Name(name.to_vec())));
    }

    fn run(mut self, root: &OwnedFd, flags: OFlags) -> Result<OwnedFd> {
        while let Some(step) = self.steps.pop() {
            let folder = self.folder.as_ref().unwrap_or(root);
            match step {
                Step::Owner(owner) => check_owner(folder, owner)?,
                Step::Name(name) => {
                    let found = open_itself(folder, &name, OFlags::PATH | OFlags::CLOEXEC)?;
                    let stat = fs::fstat(&found)?;
                    match FileType::from_raw_mode(stat.st_mode) {
                        FileType::Symlink => self.follow(&found, stat.st_uid)?,
                        // A link may lead to a device, and to open one can have effects.
                        FileType::RegularFile | FileType::Directory if self.is_last() => {
                            return self.finish(root, &name, flags);
                        }
                        FileType::Directory => self.folder = Some(found),
                        FileType::RegularFile => return Err(Errno::NOTDIR),
                        _ => return Err(Errno::NXIO),
                    }
                }
            }
        }
        // A link to `/` ends here: it has no name to open.
        open_itself(self.folder.as_ref().unwrap_or(root), b".", flags)
    }

    /// Goes on to the target of a link with this owner.
    fn follow(&mut self, link: &OwnedFd, owner: u32) -> Result<()> {
        self.followed += 1;
        if self.followed > MAX_LINKS {
            return Err(Errno::LOOP);
        }
        let target = fs::readlinkat(link, "", Vec::new())?;
        let target = target.as_bytes();
        self.steps.push(Step::Owner(owner));
        if target.starts_with(b"/") {
            self.folder = Some(fs::open("/", FOLDER_FLAGS, Mode::empty())?);
        }
        self.push(target);
        Ok(())
    }

    /// Whether no name is left.
    fn is_last(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, Step::Owner(_)))
    }

    /// Opens the last name, which is not a link.
    fn finish(self, root: &OwnedFd, name: &[u8], flags: OFlags) -> Result<OwnedFd> {
        let found = open_itself(self.folder.as_ref().unwrap_or(root), name, flags)?;
        let mut owners = self.steps.iter().filter_map(|step| match step {
            Step::Owner(owner) => Some(*owner),
            Step::Name(_) => None,
        });
        owners.try_for_each(|owner| check_owner(&found, owner))?;
        // With O_PATH, a link that took its place meanwhile was opened itself.
        match FileType::from_raw_mode(fs::fstat(&found)?.st_mode) {
            FileType::Symlink => Err(Errno::LOOP),
            _ => Ok(found),
        }
    }
}

/// Opens a name, and not what it links to.
fn open_itself(folder: &OwnedFd, name: &[u8], flags: OFlags) -> Result<OwnedFd> {
    retry_on_intr(|| fs::openat(folder, name, flags | OFlags::NOFOLLOW, Mode::empty()))
}

fn check_owner(found: &OwnedFd, owner: u32) -> Result<()> {
    if fs::fstat(found)?.st_uid == owner { Ok(()) } else { Err(Errno::LOOP) }
}

/// As many links as Linux follows on a path (path_resolution(7)).
const MAX_LINKS: usize = 40;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, lchown, symlink};

    use super::*;

    /// Only root can give files to others.
    #[test]
    fn links_to_what_another_owns_are_not_followed() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(place.path().join("shared/system")).unwrap();
        for name in ["mine", "shared/system/a"] {
            std::fs::write(place.path().join(name), name).unwrap();
            chown(place.path().join(name), Some(7), None).unwrap();
        }
        chown(place.path().join("shared/system"), Some(7), None).unwrap();
        std::fs::write(place.path().join("theirs"), "theirs").unwrap();
        for (target, link, owner) in [
            ("../mine", "own", 7),
            ("../mine", "foreign", 8),
            ("../theirs", "stolen", 7),
            ("own", "own-chain", 7),
            ("foreign", "chain-to-foreign", 7),
            ("own", "foreign-chain", 8),
            ("../shared/system", "system", 7),
            ("../shared/system", "system-of-others", 8),
            ("../shared", "shared", 7),
            ("/", "everything", 7),
        ] {
            symlink(target, root.join(link)).unwrap();
            lchown(root.join(link), Some(owner), None).unwrap();
        }
        let folder = fs::open(&root, FOLDER_FLAGS, Mode::empty()).unwrap();
        for (path, expected) in [
            ("own", Ok(())),
            ("foreign", Err(Errno::LOOP)),
            ("stolen", Err(Errno::LOOP)),
            ("own-chain", Ok(())),
            ("chain-to-foreign", Err(Errno::LOOP)),
            ("foreign-chain", Err(Errno::LOOP)),
            ("system", Ok(())),
            ("system/a", Ok(())),
            ("system-of-others/a", Err(Errno::LOOP)),
            ("shared/system/a", Err(Errno::LOOP)),
            ("everything", Err(Errno::LOOP)),
            ("everything/etc/passwd", Err(Errno::LOOP)),
        ] {
            for flags in [OFlags::RDONLY | OFlags::CLOEXEC, OFlags::PATH | OFlags::CLOEXEC] {
                assert_eq!(open(&folder, path.as_bytes(), flags).map(drop), expected, "{path} {flags:?}");
            }
        }
    }
}
