//! Served folders, and whether the user that the server runs as may read them.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, AtFlags, CWD, accessat},
    process::geteuid,
};
use serow::Address;
use serow_config::{
    listeners::{ListenerSettings, Purpose},
    options::{ListingChoice, SymlinksChoice},
    paths,
    tables::{
        handlers::{FilesTable, HandlerTable, MissingChoice},
        php::PhpTable,
        sites::{SiteContent, SiteTable},
    },
};

/// A folder that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedFolder {
    /// The folder.
    pub path: PathBuf,
    /// Whether its files are listed, for which it has to be read, not only entered.
    pub is_listed: bool,
    /// Whether clients may change what is in it.
    pub is_written: bool,
    /// Whether symbolic links may lead out of it.
    pub links_leave: bool,
}

/// A folder that this process, as it is, may not use: all requests below it get 403.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableFolder {
    folder: PathBuf,
    /// The folder itself, or one above it.
    obstacle: PathBuf,
    wanted: Wanted,
    user: u32,
}

/// The permission that a user needs for a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Enter,
    List,
    Write,
}

impl ServedFolder {
    /// Those of a site, where the settings file is in `folder`.
    pub(crate) fn of_site(site: &SiteTable, folder: &Path) -> Vec<Self> {
        match &site.content {
            SiteContent::Files(files) => vec![Self::of_files(files, folder)],
            SiteContent::Php(php) => vec![Self::of_php(php, folder)],
            SiteContent::App(_) | SiteContent::Cgi(_) | SiteContent::Proxy(_) => Vec::new(),
            SiteContent::Routes(routes) => {
                let folders = routes.iter().filter_map(|route| match &route.handler {
                    HandlerTable::Files(files) => Some(Self::of_files(files, folder)),
                    HandlerTable::Php(php) => Some(Self::of_php(php, folder)),
                    _ => None,
                });
                folders.collect()
            }
        }
    }

    fn of_files(table: &FilesTable, folder: &Path) -> Self {
        let is_next = table.settings.missing == MissingChoice::Next;
        let is_listed = !is_next && table.folder.content.listing != ListingChoice::Off;
        let links_leave = matches!(table.folder.content.symlinks, SymlinksChoice::Owner | SymlinksChoice::All);
        let path = paths::resolved(&table.settings.root, folder);
        Self { path, is_listed, is_written: table.is_written(), links_leave }
    }

    fn of_php(table: &PhpTable, folder: &Path) -> Self {
        let links_leave = matches!(table.settings.symlinks, SymlinksChoice::Owner | SymlinksChoice::All);
        let path = paths::resolved(&table.settings.root, folder);
        Self { path, is_listed: false, is_written: false, links_leave }
    }

    /// The obstacle that keeps the effective user of this process from using it; nothing where there is none.
    pub fn unreadable(&self) -> Option<UnreadableFolder> {
        // Where this fails, the folder is gone, which others report.
        let path = std::path::absolute(&self.path).ok()?;
        let mut above: Vec<&Path> = path.ancestors().collect();
        above.reverse();
        let closed = above.into_iter().find(|folder| !may(folder, Access::EXEC_OK));
        let closed = closed.map(|folder| (folder, Wanted::Enter));
        let unlisted = (self.is_listed && !may(&path, Access::READ_OK)).then_some((path.as_path(), Wanted::List));
        let unwritable = (self.is_written && !may(&path, Access::WRITE_OK)).then_some((path.as_path(), Wanted::Write));
        let (obstacle, wanted) = closed.or(unlisted).or(unwritable)?;
        let (folder, obstacle) = (self.path.clone(), obstacle.to_owned());
        Some(UnreadableFolder { folder, obstacle, wanted, user: geteuid().as_raw() })
    }
}

/// A warning about folders that everybody can change who reaches these listeners; nothing if only this machine does.
pub fn open_to_changes(folders: &[ServedFolder], listeners: &[ListenerSettings]) -> Option<String> {
    let folder = folders.iter().find(|folder| folder.is_written)?.path.display();
    let is_local = |listener: &&ListenerSettings| match listener.address {
        Address::Tcp(address) => address.ip().to_canonical().is_loopback(),
        Address::Unix(_) => true,
        Address::Descriptor(_) => false,
    };
    let serves = |listener: &&ListenerSettings| listener.purpose != Purpose::Redirect;
    let open = listeners.iter().filter(serves).find(|listener| !is_local(listener))?;
    Some(format!(
        "`write`: everybody who can connect to {} can change the files in {folder}: listen on 127.0.0.1 behind a proxy that \
         asks for passwords, or require certificates of clients (`tls-client-ca`)",
        open.address
    ))
}

/// Whether the effective user may do this. A missing file is not a matter of permissions.
fn may(path: &Path, access: Access) -> bool {
    use rustix::io::Errno;
    !matches!(accessat(CWD, path, access, AtFlags::EACCESS), Err(Errno::ACCESS | Errno::PERM))
}

impl fmt::Display for UnreadableFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { folder, obstacle, wanted, user } = self;
        let (folder, obstacle) = (folder.display(), obstacle.display());
        match wanted {
            Wanted::Enter => write!(
                f,
                "uid {user} may not enter {obstacle}, so all requests for files in {folder} get 403: allow it, as with \
                 chmod o+x {obstacle}"
            ),
            Wanted::List => write!(
                f,
                "uid {user} may not list {folder}, so requests for the folder itself get 403: allow it, as with chmod o+r \
                 {obstacle}, or write listing = false"
            ),
            Wanted::Write => write!(
                f,
                "uid {user} may not change {folder}, so uploads there get 403: make this user its owner, as with chown \
                 {user} {obstacle}, or write write = \"off\""
            ),
        }
    }
}
