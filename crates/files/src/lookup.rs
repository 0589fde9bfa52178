//! From a path to what lies there: through the cache, or through the file system into the cache.

use std::os::fd::OwnedFd;

use serow_message::Request;

use crate::{
    cache::{Answer, Cache, ROOT_FRESH_FOR},
    compression::Permits,
    request_path::{PathRefused, RequestPath},
    resource::{Making, Resource},
    rewrite::rewritten,
    root::{OpenError, OpenFile, Opened, Root, below},
    site::Site,
    stable_read::Unread,
};

/// What one core keeps of a folder.
#[derive(Debug)]
pub(crate) struct Lookup {
    pub(crate) cache: Cache,
    pub(crate) permits: Permits,
    root: Option<Root>,
    /// When the root was opened, in milliseconds.
    root_opened: u64,
}

/// What a path leads to.
pub(crate) enum Found {
    /// A file, kept at this place of the cache.
    File(usize),
    /// Nothing (404).
    Missing,
    /// A folder without index: where it lies, and its descriptor.
    Folder(Vec<u8>, OwnedFd),
    /// A folder that was asked for without the slash behind it: the path with the slash.
    WithoutSlash(Vec<u8>),
    /// No path at all (400).
    Malformed,
    /// Not to be read by the server's user (403).
    Forbidden,
    /// Not now: no descriptors left, or the file changes all the time (503).
    Unavailable,
    /// The disk or the file system fails (500).
    Failed,
}

impl Lookup {
    pub(crate) fn new(site: &Site) -> Self {
        let concurrent = site.settings.compression.as_ref().map_or(0, |rule| rule.concurrent);
        Self {
            cache: Cache::new(site.settings.cache.clone()),
            permits: Permits::new(concurrent),
            // Opened before the first request: by then the connections may have taken all descriptors.
            root: Root::open(&site.root, site.settings.symlinks).ok(),
            root_opened: 0,
        }
    }

    /// What the path of a request leads to.
    #[inline]
    pub(crate) fn find(&mut self, site: &Site, request: &Request) -> Found {
        let now = (site.clock.milliseconds)();
        match self.cache.fresh(request.target.path_bytes(), now) {
            Some(place) => match self.cache.answer(place) {
                Answer::Found(_) => Found::File(place),
                Answer::Missing => Found::Missing,
            },
            None => self.find_anew(site, request.target.path(), now),
        }
    }

    fn find_anew(&mut self, site: &Site, encoded: &str, now: u64) -> Found {
        let hidden = site.settings.hidden;
        let asked = match RequestPath::parse(encoded, hidden) {
            Ok(path) => path,
            Err(PathRefused::Malformed) => return Found::Malformed,
            Err(PathRefused::Absent) => return Found::Missing,
        };
        let rewritten = rewritten(&site.settings.rewrite, &asked.absolute())
            .map(|target| RequestPath::from_decoded(&target, hidden))
            .transpose();
        match rewritten {
            Ok(target) => self.load(site, encoded.as_bytes(), &asked, target.as_ref().unwrap_or(&asked), now),
            Err(_) => Found::Missing,
        }
    }

    /// What a path of the settings leads to: the fallback, or the page for what is missing. Its key in the cache has no
    /// slash before it, so that no request has the same.
    pub(crate) fn find_page(&mut self, site: &Site, page: &RequestPath) -> Option<usize> {
        let now = (site.clock.milliseconds)();
        let found = match self.cache.fresh(page.relative(), now) {
            Some(place) => match self.cache.answer(place) {
                Answer::Found(_) => Found::File(place),
                Answer::Missing => Found::Missing,
            },
            None => self.load(site, page.relative(), page, page, now),
        };
        match found {
            Found::File(place) => Some(place),
            _ => None,
        }
    }

    /// Compares a file with the file system at once, however lately it was; for one that was rewritten since.
    pub(crate) fn find_again(&mut self, site: &Site, request: &Request) -> Found {
        let now = (site.clock.milliseconds)();
        self.find_anew(site, request.target.path(), now)
    }

    /// Looks into the file system, and keeps what was found under `key`.
    fn load(&mut self, site: &Site, key: &[u8], asked: &RequestPath, path: &RequestPath, now: u64) -> Found {
        let Some(root) = self.root(site, now) else {
            self.cache.forget(key);
            return Found::Missing;
        };
        let is_folder = asked.is_folder() || path.is_folder();
        let mut resolved = resolve(&root, &site.settings.index, path, is_folder);
        if matches!(resolved, Err(OpenError::Exhausted)) {
            self.cache.close_files();
            resolved = resolve(&root, &site.settings.index, path, is_folder);
        }
        let found = match resolved {
            Ok(Resolved::File(place, file)) => return self.keep_file(site, &root, key, asked, (place, file), now),
            Ok(Resolved::Folder(place, folder)) => Found::Folder(place, folder),
            Ok(Resolved::WithoutSlash) => {
                let mut target = asked.absolute();
                target.push(b'/');
                Found::WithoutSlash(target)
            }
            Err(OpenError::Absent) => {
                self.cache.keep(key, Answer::Missing, now);
                return Found::Missing;
            }
            Err(OpenError::Forbidden) => Found::Forbidden,
            Err(OpenError::Exhausted) => Found::Unavailable,
            Err(OpenError::Failed) => Found::Failed,
        };
        self.cache.forget(key);
        found
    }

    fn keep_file(
        &mut self,
        site: &Site,
        root: &Root,
        key: &[u8],
        asked: &RequestPath,
        (place, file): (Vec<u8>, OpenFile),
        now: u64,
    ) -> Found {
        let making = Making {
            settings: &site.settings,
            media_types: &site.media_types,
            root,
            time_of_day: site.clock.time_of_day,
        };
        let asked = asked.absolute();
        let mut earlier = None;
        if let Some(kept) = self.cache.place(key)
            && let Answer::Found(resource) = self.cache.answer(kept)
        {
            if resource.renew(making, &asked, &place, &file) {
                self.cache.note(kept, Some(now));
                return Found::File(kept);
            }
            earlier = Some(&**resource);
        }
        match Resource::new(making, &asked, place, file, earlier) {
            Ok(resource) => Found::File(self.cache.keep(key, Answer::Found(Box::new(resource)), now)),
            Err(error) => {
                self.cache.forget(key);
                match error {
                    Unread::Unsteady | Unread::TooLarge => Found::Unavailable,
                    Unread::Failed => Found::Failed,
                }
            }
        }
    }

    /// The root, opened anew if it is not very fresh; nothing if it is gone.
    pub(crate) fn root(&mut self, site: &Site, now: u64) -> Option<Root> {
        if self.root.is_none() || now.wrapping_sub(self.root_opened) >= ROOT_FRESH_FOR {
            match Root::open(&site.root, site.settings.symlinks) {
                Ok(root) => self.root = Some(root),
                // The folder is not gone: what was open stands for it until there are descriptors again.
                Err(error) if error.is_exhaustion() => self.cache.close_files(),
                Err(_) => self.root = None,
            }
            self.root_opened = now;
        }
        self.root.clone()
    }
}

enum Resolved {
    File(Vec<u8>, OpenFile),
    Folder(Vec<u8>, OwnedFd),
    WithoutSlash,
}

/// Opens what lies at a path, or the index of a folder. `is_folder`: the client asked for a folder, or a rule led to one.
fn resolve(root: &Root, index: &[String], path: &RequestPath, is_folder: bool) -> Result<Resolved, OpenError> {
    let place = path.relative().to_vec();
    match root.open_below(&place)? {
        // A file is no folder, whatever the slash behind it says.
        Opened::File(_) if path.is_folder() => Err(OpenError::Absent),
        Opened::File(file) => Ok(Resolved::File(place, file)),
        Opened::Folder(_) if !is_folder => Ok(Resolved::WithoutSlash),
        Opened::Folder(folder) => {
            for name in index {
                let inner = below(&place, name.as_bytes());
                match root.open_below(&inner) {
                    Ok(Opened::File(file)) => return Ok(Resolved::File(inner, file)),
                    Ok(Opened::Folder(_)) | Err(OpenError::Absent) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(Resolved::Folder(place, folder))
        }
    }
}
