//! Explains in words where the path of a request leads: for the log, and for people who look for a mistake in their settings.

use std::{
    ffi::OsStr,
    fmt,
    os::{fd::AsFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use rustix::{
    fs::{self, FileType, OFlags},
    io::Errno,
};
use serow_message::{LogLimit, Request};

use crate::{
    lookup::{Resolved, resolve},
    request_path::{Hidden, PathRefused, RequestPath},
    rewrite::rewritten,
    root::{OpenError, Root, Symlinks},
    settings::Listing,
    site::Site,
};

/// Where the path of a request leads in a folder. Its text says it, with the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Examined {
    /// To this file.
    File(PathBuf),
    /// To the listing of this folder.
    Listing(PathBuf),
    /// To a redirect, since this is a folder and the path has no slash at the end.
    Folder(PathBuf),
    /// To a file that cannot be opened.
    Unopened(PathBuf),
    /// To nothing.
    Missing(Missing),
}

/// Why a path leads to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// There is no such file.
    NoFile(PathBuf),
    /// The served folder does not exist.
    NoRoot(PathBuf),
    /// This folder has no index file, and is not listed.
    NoIndex(PathBuf),
    /// This is a file, and the path has a slash at the end.
    FileWithSlash(PathBuf),
    /// This is neither a file nor a folder.
    Special(PathBuf),
    /// A name begins with a dot.
    HiddenName,
    /// The file may be source code or a key.
    Withheld(PathBuf),
    /// No file can have the name, or no honest client asks for it.
    ImpossibleName,
    /// This symbolic link is not followed, under this setting.
    Link(PathBuf, Symlinks),
}

/// Which causes of missing files the log of a folder has.
#[derive(Clone, Debug)]
pub(crate) struct MissingLog(Arc<(AtomicU8, LogLimit)>);

impl Default for MissingLog {
    fn default() -> Self {
        Self(Arc::new((AtomicU8::new(0), LogLimit::new(LINES_PER_SECOND))))
    }
}

impl Examined {
    /// Examines an encoded path.
    pub(crate) fn of(site: &Site, encoded: &str) -> Self {
        let hidden = site.settings.hidden;
        let refused = |decoded: Result<RequestPath, PathRefused>| match decoded {
            Ok(_) if hidden == Hidden::Refuse => Self::Missing(Missing::HiddenName),
            _ => Self::Missing(Missing::ImpossibleName),
        };
        let Ok(requested) = RequestPath::parse(encoded, hidden) else {
            return refused(RequestPath::parse(encoded, Hidden::Serve));
        };
        let path = match rewritten(&site.settings.rewrite, &requested.absolute()) {
            None => requested.clone(),
            Some(target) => match RequestPath::from_decoded(&target, hidden) {
                Ok(path) => path,
                Err(_) => return refused(RequestPath::from_decoded(&target, Hidden::Serve)),
            },
        };
        let Ok(root) = Root::open(&site.root, site.settings.symlinks) else {
            return Self::Missing(Missing::NoRoot(site.root.clone()));
        };
        let is_folder = requested.is_folder() || path.is_folder();
        let shown = |location: &[u8]| root.shown(location);
        match resolve(&root, site, &path, is_folder) {
            Ok(Resolved::File(found)) => Self::File(shown(&found.location)),
            Ok(Resolved::Folder(location, _)) if site.settings.listing == Listing::Off => {
                Self::Missing(Missing::NoIndex(shown(&location)))
            }
            Ok(Resolved::Folder(location, _)) => Self::Listing(shown(&location)),
            Ok(Resolved::WithoutSlash) => Self::Folder(shown(path.relative())),
            Err(OpenError::NotFound | OpenError::Link) => Self::Missing(Missing::of(site, &root, &path)),
            Err(_) => Self::Unopened(shown(path.relative())),
        }
    }
}

impl Missing {
    fn of(site: &Site, root: &Root, path: &RequestPath) -> Self {
        let location = path.relative();
        let shown = root.shown(location);
        let opened = root.open_descriptor(location, OFlags::PATH | OFlags::CLOEXEC);
        match opened.and_then(|opened| fs::fstat(opened.as_fd())) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile if path.is_folder() => Self::FileWithSlash(shown),
                FileType::RegularFile if site.withheld.contains(location) => Self::Withheld(shown),
                // It came meanwhile, or it is the index of a folder that is withheld.
                FileType::RegularFile | FileType::Directory => Self::NoFile(shown),
                _ => Self::Special(shown),
            },
            Err(_) => match refused_link(root, location) {
                Some(link) => Self::Link(link, root.symlinks()),
                None => Self::NoFile(shown),
            },
        }
    }

    fn is_link(&self) -> bool {
        matches!(self, Self::Link(..))
    }
}

/// The first name on a path that is a symbolic link which is not followed.
fn refused_link(root: &Root, location: &[u8]) -> Option<PathBuf> {
    let ends = location.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
    let refused = ends.chain([location.len()]).map(|end| &location[..end]).find_map(|path| {
        let error = root.open_descriptor(path, OFlags::PATH | OFlags::CLOEXEC).err();
        // With O_PATH, a refused link is opened itself where names are followed one by one, and is no folder then.
        let is_refused = matches!(error, Some(Errno::XDEV | Errno::LOOP | Errno::NOTDIR));
        error.map(|_| is_refused.then(|| root.shown(path)))
    });
    let link = refused.flatten()?;
    std::fs::symlink_metadata(&link).is_ok_and(|metadata| metadata.is_symlink()).then_some(link)
}

/// Says why there is nothing for a request: the first time for a folder as a warning, and then for those who want to know
/// everything.
pub(crate) fn log(site: &Site, request: &Request) {
    log_kinds(site, request, MISSING | LINK);
}

/// As [`log`], only of a symbolic link that is not followed: where something else responds to what the folder lacks.
pub(crate) fn log_link(site: &Site, request: &Request) {
    log_kinds(site, request, LINK);
}

#[cold]
fn log_kinds(site: &Site, request: &Request, kinds: u8) {
    let (told, limit) = &*site.missing_log.0;
    let tells_all = tracing::enabled!(tracing::Level::INFO);
    if told.load(Ordering::Relaxed) & kinds == kinds && !tells_all {
        return;
    }
    let Some(left_out) = limit.admit((site.clock.milliseconds)() / 1000) else { return };
    let Examined::Missing(missing) = Examined::of(site, request.target.path()) else { return };
    let kind = if missing.is_link() { LINK } else { MISSING };
    if kind & kinds == 0 {
        return;
    }
    let is_first = told.fetch_or(kind, Ordering::Relaxed) & kind == 0;
    let path = request.target.path().as_bytes();
    let path = path.get(..MAX_SHOWN).unwrap_or(path).escape_ascii();
    let place = match &*site.settings.place {
        "" => String::new(),
        place => format!(" ({place})"),
    };
    let more = match (left_out, is_first && !tells_all) {
        (0, false) => String::new(),
        (0, true) => NEXT.to_owned(),
        (_, _) => format!("; {left_out} like it before"),
    };
    match is_first {
        true => tracing::warn!("{} {path}: {missing}{place}{more}", request.method),
        false => tracing::info!("{} {path}: {missing}{place}{more}", request.method),
    }
}

impl fmt::Display for Examined {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "the file {}", Shown(path)),
            Self::Listing(path) => write!(formatter, "a listing of the folder {}", Shown(path)),
            Self::Folder(path) => write!(formatter, "a redirect to the folder {}, with a slash", Shown(path)),
            Self::Unopened(path) => write!(formatter, "{}, which cannot be opened", Shown(path)),
            Self::Missing(missing) => missing.fmt(formatter),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile(path) => write!(formatter, "no file {}", Shown(path)),
            Self::NoRoot(path) => write!(formatter, "the folder {} cannot be opened", Shown(path)),
            Self::NoIndex(path) => write!(formatter, "the folder {} has no index file, and is not listed", Shown(path)),
            Self::FileWithSlash(path) => write!(formatter, "{} is a file, and the path ends with a slash", Shown(path)),
            Self::Special(path) => write!(formatter, "{} is neither a file nor a folder", Shown(path)),
            Self::HiddenName => {
                formatter.write_str("a hidden file: names that begin with a dot are served with hidden = true")
            }
            Self::Withheld(path) => write!(
                formatter,
                "{} may be source code or a key: sensitive = true sends it, or a `type` for its ending",
                Shown(path)
            ),
            Self::ImpossibleName => formatter.write_str("no file can have this name"),
            Self::Link(path, symlinks) => {
                write!(formatter, "the symbolic link {} ", Shown(path))?;
                formatter.write_str(match symlinks {
                    Symlinks::WithinRoot => "leaves the root: symlinks = \"owner\" or \"all\" follows it",
                    Symlinks::SameOwner => "and its target have different owners: symlinks = \"all\" follows it",
                    Symlinks::Refuse => "is not followed, since symlinks = \"none\"",
                    Symlinks::All => "leads in a circle",
                })
            }
        }
    }
}

/// A path, a part of which a client has chosen, as it is shown.
struct Shown<'a>(&'a Path);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = OsStr::as_bytes(self.0.as_os_str());
        let shown = String::from_utf8_lossy(path.get(..MAX_SHOWN).unwrap_or(path));
        for character in shown.chars() {
            match character.is_control() {
                true => write!(formatter, "{}", character.escape_default())?,
                false => write!(formatter, "{character}")?,
            }
        }
        formatter.write_str(if path.len() > MAX_SHOWN { "…" } else { "" })
    }
}

/// Where the log has the next requests.
const NEXT: &str = "; log-level = \"info\" logs the next ones of this folder, too";

/// Kinds of causes in the log.
const MISSING: u8 = 1;
const LINK: u8 = 2;

/// Enough to see the causes; each line costs disk space and readers' time.
const LINES_PER_SECOND: u32 = 10;

/// Bytes of a path: a client chooses it, and not how long the lines of the log are.
const MAX_SHOWN: usize = 300;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{FilesSettings, Rewrite};

    #[test]
    fn paths_are_explained_with_the_file_and_the_cause() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("public");
        std::fs::create_dir_all(root.join("empty")).unwrap();
        std::fs::create_dir_all(place.path().join("shared")).unwrap();
        std::fs::write(place.path().join("shared/u.txt"), "").unwrap();
        for name in ["a.css", "index.php", ".env"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        symlink("../shared", root.join("system")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        let rewrite = vec![Rewrite::new("/old/*", "/new/*")];
        let site =
            |symlinks| Site::new(&root, FilesSettings { symlinks, rewrite: rewrite.clone(), ..Default::default() });
        let within = site(Symlinks::WithinRoot).unwrap();
        for (path, expected) in [
            ("/a.css", "the file ROOT/a.css"),
            ("/b.css", "no file ROOT/b.css"),
            ("/static/a.css", "no file ROOT/static/a.css"),
            ("/old/a.css", "no file ROOT/new/a.css"),
            ("/a.css/", "ROOT/a.css is a file, and the path ends with a slash"),
            ("/empty", "a redirect to the folder ROOT/empty, with a slash"),
            ("/empty/", "the folder ROOT/empty has no index file, and is not listed"),
            ("/.env", "a hidden file: names that begin with a dot are served with hidden = true"),
            ("/a%2fb", "no file can have this name"),
            ("/socket", "ROOT/socket is neither a file nor a folder"),
            ("/dangling", "no file ROOT/dangling"),
            (
                "/index.php",
                "ROOT/index.php may be source code or a key: sensitive = true sends it, or a `type` for its ending",
            ),
            (
                "/system/u.txt",
                "the symbolic link ROOT/system leaves the root: symlinks = \"owner\" or \"all\" follows it",
            ),
            ("/a%0ab", "no file ROOT/a\\nb"),
        ] {
            let said = Examined::of(&within, path).to_string().replace(root.to_str().unwrap(), "ROOT");
            assert_eq!(said, expected, "{path}");
        }
        let none = Examined::of(&site(Symlinks::Refuse).unwrap(), "/system/u.txt").to_string();
        assert!(none.ends_with("public/system is not followed, since symlinks = \"none\""), "{none}");
        for symlinks in [Symlinks::SameOwner, Symlinks::All] {
            let found = Examined::of(&site(symlinks).unwrap(), "/system/u.txt");
            assert_eq!(found, Examined::File(root.join("system/u.txt")));
        }
    }
}
