//! State that all clones of a handler share: the folder, its locks, and how request paths lead into it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::UNIX_EPOCH,
};

use serow_files::{Clock, Folder, Hidden, PathRefused, RequestPath};

use crate::{
    dav_site::DavSite,
    destination::{DestinationError, local_path},
    disk::Disk,
    locks::{Change, LockTable},
    member::Kind,
    new_name::{check_changed, check_new},
    quota::{Quota, Reservation},
    refusal::Refusal,
    settings::{WriteMode, WriteSettings},
};
use serow_message::StatusCode;

/// A folder that clients may change.
#[derive(Debug)]
pub(crate) struct WritableFolder {
    pub(crate) folder: Folder,
    pub(crate) mode: WriteMode,
    pub(crate) site: DavSite,
    /// The start of request paths, before the path below the folder, without a slash at the end.
    prefix: Vec<u8>,
    locks: Mutex<LockTable>,
    pub(crate) disk: Disk,
    quota: Option<Arc<Quota>>,
}

/// The resource that a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    /// The path below the folder, without a slash at either end.
    pub(crate) path: Vec<u8>,
    /// Whether the path of the request ended with a slash.
    pub(crate) is_folder: bool,
}

impl WritableFolder {
    pub(crate) fn new(folder: Folder, settings: WriteSettings, prefix: &[u8], site: DavSite) -> Arc<Self> {
        let WriteSettings { mode, quota } = settings;
        let (locks, disk) = (Mutex::default(), Disk::default());
        let quota = quota.map(|limit| Arc::new(Quota::new(limit)));
        Arc::new(Self { folder, mode, site, prefix: prefix.to_vec(), locks, disk, quota })
    }

    /// The quota, for which the folder is counted if it was not yet. That takes time: not on the thread of connections.
    ///
    /// # Errors
    ///
    /// The folder cannot be opened.
    pub(crate) fn quota(&self) -> Result<Option<&Arc<Quota>>, Refusal> {
        if let Some(quota) = &self.quota {
            quota.count(|| Ok(self.folder.open_strictly()?))?;
        }
        Ok(self.quota.as_ref())
    }

    /// Whether there is a quota for which the folder has to be counted; true once.
    pub(crate) fn needs_count(&self) -> bool {
        self.quota.as_ref().is_some_and(|quota| quota.needs_count())
    }

    /// Room for what is being written, of nothing yet.
    ///
    /// # Errors
    ///
    /// As for [`Self::quota`].
    pub(crate) fn reservation(&self) -> Result<Reservation, Refusal> {
        Ok(Reservation::new(self.quota()?.cloned()))
    }

    /// Finds out what a percent-encoded path is about.
    ///
    /// # Errors
    ///
    /// A path that cannot be, or is hidden.
    pub(crate) fn locate(&self, encoded: &str) -> Result<Located, Refusal> {
        let refused = |refused| match refused {
            PathRefused::Malformed => Refusal::bad_request("the path is not valid"),
            PathRefused::NotFound => Refusal::forbidden("such names are not served"),
        };
        let absolute = RequestPath::parse(encoded, Hidden::Serve).map_err(refused)?.absolute();
        let below = absolute.strip_prefix(self.prefix.as_slice()).filter(|below| below.starts_with(b"/"));
        let path = RequestPath::from_decoded(below.ok_or_else(Refusal::not_found)?, self.folder.hidden());
        let path = path.map_err(refused)?;
        Ok(Located { path: path.relative().to_vec(), is_folder: path.is_folder() })
    }

    /// The same of what is to be changed.
    ///
    /// # Errors
    ///
    /// As for [`Self::locate`], or clients may not change it.
    pub(crate) fn locate_changed(&self, encoded: &str) -> Result<Located, Refusal> {
        let located = self.locate(encoded)?;
        check_changed(&located.path)?;
        Ok(located)
    }

    /// The same of what may be new.
    ///
    /// # Errors
    ///
    /// As for [`Self::locate`], or clients may not give that name.
    pub(crate) fn locate_new(&self, encoded: &str) -> Result<Located, Refusal> {
        let located = self.locate(encoded)?;
        check_new(&located.path, self.mode)?;
        Ok(located)
    }

    /// The path of requests for what is at a path below the folder, not encoded.
    pub(crate) fn request_path(&self, path: &[u8], is_folder: bool) -> Vec<u8> {
        let end: &[u8] = if is_folder && !path.is_empty() { b"/" } else { b"" };
        [&self.prefix, b"/".as_slice(), path, end].concat()
    }

    /// Whether other handlers of the site may be for a part of the folder.
    pub(crate) fn is_shared_with_others(&self) -> bool {
        self.site.scope.is_some()
    }

    /// Whether requests for a path below the folder come to this handler.
    pub(crate) fn is_own(&self, path: &[u8], is_folder: bool) -> bool {
        self.site.scope.as_ref().is_none_or(|scope| scope.receives(&self.request_path(path, is_folder)))
    }

    /// Whether this handler may create, replace or remove something at a path below the folder.
    ///
    /// # Errors
    ///
    /// Another handler may get requests for it, or no client may change it.
    pub(crate) fn permit_path(&self, path: &[u8], kind: Kind) -> Result<(), Refusal> {
        check_changed(path)?;
        let Some(scope) = &self.site.scope else { return Ok(()) };
        // The served folder itself is never created, replaced or removed.
        let is_taken = |is_folder| !path.is_empty() && scope.is_taken(&self.request_path(path, is_folder));
        let is_own = match kind {
            Kind::File | Kind::Special => self.is_own(path, false),
            // RFC 4918 §5.2: a folder has a path without a slash as well, and a file there would be gone.
            Kind::Folder => self.is_own(path, true) && !is_taken(false),
            // It may lead to a folder.
            Kind::Link => self.is_own(path, false) && !is_taken(true),
        };
        if is_own { Ok(()) } else { Err(Refusal::of_another_route()) }
    }

    /// The locks, without those that have ended. While they are held, no other request of this process can be about to change something.
    pub(crate) fn locks(&self) -> MutexGuard<'_, LockTable> {
        // No code panics while it changes them.
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.expire(seconds_since_1970());
        locks
    }

    /// Whether locks permit a change to a client with these tokens.
    ///
    /// # Errors
    ///
    /// The lock that forbids it (423).
    pub(crate) fn permit(&self, locks: &mut LockTable, change: &Change<'_>, tokens: &[&str]) -> Result<(), Refusal> {
        match locks.obstacle(change, tokens, seconds_since_1970()) {
            None => Ok(()),
            Some(path) => {
                let path = self.request_path(&path, false);
                Err(Refusal::of_condition(StatusCode::LOCKED, "lock-token-submitted", Some(path)))
            }
        }
    }
}

/// The path of a URL in a request, if this server has one of these hosts.
///
/// # Errors
///
/// As for [`local_path`].
pub(crate) fn path_at(url: &str, hosts: &[String]) -> Result<String, DestinationError> {
    let mut hosts = hosts.iter();
    let first = local_path(url, hosts.next().map(String::as_str));
    hosts.fold(first, |found, host| match found {
        Err(DestinationError::OtherHost) => local_path(url, Some(host)),
        found => found,
    })
}

/// The time for locks, which outlives this process.
pub(crate) fn seconds_since_1970() -> u64 {
    let now = Clock::default().time_of_day;
    now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
