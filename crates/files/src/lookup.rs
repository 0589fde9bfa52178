//! From a request to a file in the cache, through the file system where the cache does not have it.

use std::os::fd::OwnedFd;

use serow_coding::Permits;
use serow_message::Request;

use crate::{
    cache::{Answer, Cache},
    error::FilesError,
    open_folders,
    request_path::{PathRefused, RequestPath},
    resource::{Form, Making, Resource},
    rewrite::rewritten,
    root::{OpenError, OpenFile, Opened, Root, below},
    settings::Listing,
    site::Site,
    stable_read::ReadError,
};

/// The state that one core keeps for a folder.
#[derive(Debug)]
pub(crate) struct Lookup {
    pub(crate) cache: Cache,
    pub(crate) permits: Permits,
    /// Whether the last path that was looked up has a symbolic link in it that is not followed.
    pub(crate) met_link: bool,
}

/// A file of the cache, and the form of it that a request gets.
#[derive(Clone, Copy)]
pub(crate) struct SelectedFile {
    /// The file's place in the cache.
    pub(crate) place: usize,
    pub(crate) form: Form,
}

/// Why a path does not lead to a file.
pub(crate) enum NoFile {
    /// There is nothing (404).
    NotFound,
    /// A folder without an index: its path and its descriptor.
    Folder(Vec<u8>, OwnedFd),
    /// A folder, requested without the slash at the end: the path with the slash.
    WithoutSlash(Vec<u8>),
    /// The path is malformed (400).
    Malformed,
    /// The server's user must not read it (403).
    Forbidden,
    /// Temporarily: the process is out of descriptors, or the file changes all the time (503).
    Unavailable,
    /// The disk or the file system fails (500).
    Failed,
}

impl Lookup {
    pub(crate) fn new(site: &Site) -> Self {
        let concurrent = site.settings.compression.as_ref().map_or(0, |rule| rule.concurrent);
        Self { cache: Cache::new(site.settings.cache.clone()), permits: Permits::new(concurrent), met_link: false }
    }

    /// Finds the file that a request names, and selects its form: from the cache, else from the file system. A large
    /// file that was rewritten since it was cached is looked up again, since its head would announce the earlier
    /// version.
    #[inline]
    pub(crate) fn find(&mut self, site: &Site, request: &Request) -> Result<SelectedFile, NoFile> {
        let now = (site.clock.milliseconds)();
        let place = match self.cache.fresh(request.target.path_bytes(), now) {
            Some(place) => place,
            None => self.look_up(site, request.target.path(), now)?,
        };
        let file = self.select(site, place, request)?;
        if self.is_current(file) {
            return Ok(file);
        }
        let place = self.look_up(site, request.target.path(), (site.clock.milliseconds)())?;
        self.select(site, place, request)
    }

    /// The place of a page that the settings name: the fallback, or the page for 404. Its key in the cache does not
    /// begin with a slash, so it differs from the key of every request.
    pub(crate) fn find_page(&mut self, site: &Site, page: &RequestPath) -> Option<usize> {
        let now = (site.clock.milliseconds)();
        match self.cache.fresh(page.relative(), now) {
            Some(place) => Some(place),
            None => self.load(site, page.relative(), page, page, now).ok(),
        }
    }

    /// Whether the folder with this path (decoded, with a slash at the end) shows something: its index, or a listing.
    pub(crate) fn has_index(&mut self, site: &Site, folder: &[u8]) -> bool {
        let target = rewritten(&site.settings.rewrite, folder);
        let path = RequestPath::from_decoded(target.as_deref().unwrap_or(folder), site.settings.hidden);
        let Ok(path) = path else { return false };
        let Ok(root) = self.root(site, (site.clock.milliseconds)()) else { return false };
        match resolve(&root, site, &path, true) {
            Ok(Resolved::File(..)) => true,
            Ok(Resolved::Folder(..)) => site.settings.listing != Listing::Off,
            Ok(Resolved::WithoutSlash) | Err(_) => false,
        }
    }

    /// Selects the form that a request gets of the file at a place, and compresses it now if that is possible at once.
    #[inline]
    pub(crate) fn select(&mut self, site: &Site, place: usize, request: &Request) -> Result<SelectedFile, NoFile> {
        let Answer::Found(resource) = self.cache.answer(place) else {
            return Err(NoFile::NotFound);
        };
        let compression = site.settings.compression.as_ref();
        let codings = compression.map_or(&[][..], |rule| &rule.codings);
        let mut form = resource.form_for(request, codings);
        if let (Form::ToCompress(coding), Some(rule)) = (form, compression) {
            form = resource.compress(coding, &rule.levels);
            self.cache.note(place, None);
        }
        Ok(SelectedFile { place, form })
    }

    /// Whether the head of a form announces the version that its body would contain now.
    #[inline]
    fn is_current(&mut self, file: SelectedFile) -> bool {
        match self.cache.answer(file.place) {
            Answer::Found(resource) => resource.representation(file.form).is_current(),
            Answer::Missing => false,
        }
    }

    /// Looks a path up in the file system, whatever the cache holds; returns the place of what it found, which is a
    /// file or [`Answer::Missing`].
    fn look_up(&mut self, site: &Site, encoded: &str, now: u64) -> Result<usize, NoFile> {
        let hidden = site.settings.hidden;
        let requested = RequestPath::parse(encoded, hidden).map_err(|error| match error {
            PathRefused::Malformed => NoFile::Malformed,
            PathRefused::NotFound => NoFile::NotFound,
        })?;
        let rewritten = rewritten(&site.settings.rewrite, &requested.absolute())
            .map(|target| RequestPath::from_decoded(&target, hidden))
            .transpose()
            .map_err(|_| NoFile::NotFound)?;
        self.load(site, encoded.as_bytes(), &requested, rewritten.as_ref().unwrap_or(&requested), now)
    }

    /// Opens a path, and keeps what it finds under `key`.
    fn load(
        &mut self,
        site: &Site,
        key: &[u8],
        requested: &RequestPath,
        path: &RequestPath,
        now: u64,
    ) -> Result<usize, NoFile> {
        let root = self.root(site, now).inspect_err(|_| self.cache.forget(key))?;
        let is_folder = requested.is_folder() || path.is_folder();
        let mut resolved = resolve(&root, site, path, is_folder);
        if matches!(resolved, Err(OpenError::Exhausted)) {
            self.cache.close_files();
            resolved = resolve(&root, site, path, is_folder);
        }
        let reason = match resolved {
            Ok(Resolved::File(found)) => return self.keep_file(site, &root, key, requested, found, now),
            Err(missing @ (OpenError::NotFound | OpenError::Link)) => {
                self.met_link = missing == OpenError::Link;
                return Ok(self.cache.keep(key, Answer::Missing, now));
            }
            Ok(Resolved::Folder(location, folder)) => NoFile::Folder(location, folder),
            Ok(Resolved::WithoutSlash) => {
                let mut target = requested.absolute();
                target.push(b'/');
                NoFile::WithoutSlash(target)
            }
            Err(OpenError::Forbidden) => NoFile::Forbidden,
            Err(OpenError::Exhausted) => NoFile::Unavailable,
            Err(OpenError::Failed) => NoFile::Failed,
        };
        self.cache.forget(key);
        Err(reason)
    }

    fn keep_file(
        &mut self,
        site: &Site,
        root: &Root,
        key: &[u8],
        requested: &RequestPath,
        found: ResolvedFile,
        now: u64,
    ) -> Result<usize, NoFile> {
        let making = Making {
            settings: &site.settings,
            media_types: &site.media_types,
            root,
            time_of_day: site.clock.time_of_day,
        };
        let requested = requested.absolute();
        let mut earlier = None;
        if let Some(kept) = self.cache.place(key)
            && let Answer::Found(resource) = self.cache.answer(kept)
        {
            if resource.renew(making, &requested, &found.location, &found.file) {
                self.cache.note(kept, Some(now));
                return Ok(kept);
            }
            earlier = Some(&**resource);
        }
        match Resource::new(making, &requested, found.location, found.file, earlier) {
            Ok(resource) => Ok(self.cache.keep(key, Answer::Found(Box::new(resource)), now)),
            Err(error) => {
                self.cache.forget(key);
                Err(match error {
                    ReadError::Unstable | ReadError::TooLarge => NoFile::Unavailable,
                    ReadError::Failed => NoFile::Failed,
                })
            }
        }
    }

    /// The root, opened again if it was not opened very recently.
    pub(crate) fn root(&mut self, site: &Site, now: u64) -> Result<Root, NoFile> {
        let open = || open_folders::root(&site.root, site.settings.symlinks, now);
        let mut opened = open();
        if opened.as_ref().is_err_and(FilesError::is_exhaustion) {
            self.cache.close_files();
            opened = open();
        }
        opened.map_err(|error| if error.is_exhaustion() { NoFile::Unavailable } else { NoFile::NotFound })
    }
}

/// The end of a path.
pub(crate) enum Resolved {
    /// A file.
    File(ResolvedFile),
    /// A folder without an index.
    Folder(Vec<u8>, OwnedFd),
    /// A folder that was not asked for as one.
    WithoutSlash,
}

/// A file at the end of a path.
pub(crate) struct ResolvedFile {
    /// Its path below the root.
    pub(crate) location: Vec<u8>,
    pub(crate) file: OpenFile,
}

/// Opens the file at a path, or the index of a folder. `is_folder`: the client requested a folder, or a rule leads to
/// one.
pub(crate) fn resolve(root: &Root, site: &Site, path: &RequestPath, is_folder: bool) -> Result<Resolved, OpenError> {
    let location = path.relative().to_vec();
    let opened = root.open_below(&location);
    if opened.as_ref().map_or_else(|error| error.is_missing(), |opened| matches!(opened, Opened::Folder(_)))
        && !path.is_folder()
        && let Some(found) = with_extension(root, site, &location)?
    {
        return Ok(found);
    }
    match opened? {
        // A file is not a folder, in spite of the slash at the end.
        Opened::File(_) if path.is_folder() || site.withheld.contains(&location) => Err(OpenError::NotFound),
        Opened::File(file) => Ok(Resolved::File(ResolvedFile { location, file })),
        Opened::Folder(_) if !is_folder => Ok(Resolved::WithoutSlash),
        Opened::Folder(folder) => {
            for name in site.settings.index.iter().filter(|name| !site.withheld.contains(name.as_bytes())) {
                let inner = below(&location, name.as_bytes());
                match root.open_below(&inner) {
                    Ok(Opened::File(file)) => return Ok(Resolved::File(ResolvedFile { location: inner, file })),
                    Ok(Opened::Folder(_)) | Err(OpenError::NotFound | OpenError::Link) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(Resolved::Folder(location, folder))
        }
    }
}

/// The file whose name has an ending of the settings besides, where the path itself names no file.
fn with_extension(root: &Root, site: &Site, location: &[u8]) -> Result<Option<Resolved>, OpenError> {
    // The root itself has no name.
    let endings = site.settings.extensions.iter().filter(|_| !location.is_empty());
    for ending in endings {
        let longer = [location, ending.as_bytes()].concat();
        match root.open_below(&longer) {
            Ok(Opened::File(file)) if !site.withheld.contains(&longer) => {
                return Ok(Some(Resolved::File(ResolvedFile { location: longer, file })));
            }
            Ok(_) | Err(OpenError::NotFound | OpenError::Link) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}
