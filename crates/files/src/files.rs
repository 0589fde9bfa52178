//! The handler: from a request to the response.

use std::{
    cell::RefCell,
    future::{Future, ready},
    path::Path,
    sync::Arc,
};

use serow_message::{Body, Handler, KnownHeader, Method, Request, Response, StatusCode};

use crate::{
    clock::Clock,
    error::FilesError,
    examined::{self, Examined},
    folder::Folder,
    listing,
    location::redirect_target,
    lookup::{Lookup, NoFile},
    not_found::not_found,
    representation::put,
    send::send,
    settings::{FilesSettings, Listing},
    site::Site,
};

/// A folder as a [`Handler`]: GET, HEAD and OPTIONS of the files below it.
///
/// ```
/// use serow_files::Files;
/// use serow_message::{Handler, Request};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// std::fs::write(folder.join("index.html"), "Hello!").unwrap();
/// let files = Files::new(folder)?;
/// # let answer = async move {
/// let response = files.call(Request::get("/")).await;
/// assert_eq!(response.status, 200);
/// assert_eq!(response.headers.get("content-type"), Some(&b"text/html; charset=utf-8"[..]));
/// # };
/// # let mut answer = std::pin::pin!(answer);
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # assert!(std::future::Future::poll(answer.as_mut(), &mut context).is_ready());
/// # Ok::<(), serow_files::FilesError>(())
/// ```
///
/// Each clone has a cache of its own, so that cores do not share memory that they write. The cache is at most one
/// second behind the file system.
pub struct Files {
    site: Arc<Site>,
    lookup: RefCell<Lookup>,
}

impl Files {
    /// Serves a folder with [`FilesSettings::default`].
    ///
    /// # Errors
    ///
    /// If the folder does not exist or cannot be opened.
    pub fn new(root: impl AsRef<Path>) -> Result<Self, FilesError> {
        Self::with_settings(root, FilesSettings::default())
    }

    /// Serves a folder with these settings. A relative path is resolved against the current working directory, once.
    ///
    /// # Errors
    ///
    /// If the folder does not exist or cannot be opened, or a setting is invalid.
    pub fn with_settings(root: impl AsRef<Path>, settings: FilesSettings) -> Result<Self, FilesError> {
        Ok(Self::of(Arc::new(Site::new(root.as_ref(), settings)?)))
    }

    /// Replaces the system's clocks, for instance by ones that are read once per round of the event loop.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self::of(Arc::new(Site { clock, ..Arc::unwrap_or_clone(self.site) }))
    }

    /// Responds to a request. It does not wait for the network; it makes system calls on files, as nginx does on its
    /// event loop. Bodies that are large or compressed on the fly are read while they are sent.
    #[inline]
    #[must_use]
    pub fn respond(&self, request: &Request) -> Response {
        if request.method != Method::GET && request.method != Method::HEAD {
            return other_method(&request.method);
        }
        let site = &*self.site;
        let lookup = &mut *self.lookup.borrow_mut();
        let response = match lookup.find(site, request) {
            Ok(file) => send(site, lookup, file, request),
            Err(reason) => without_file(site, lookup, reason, request),
        };
        lookup.cache.settle();
        response
    }

    /// Responds to a request with GET or HEAD for something that is in the folder: a file, a folder with an index, or one
    /// that is listed. For all others there is no response, so that something else can respond: an application behind its
    /// static files.
    #[inline]
    #[must_use]
    pub fn respond_if_found(&self, request: &Request) -> Option<Response> {
        if request.method != Method::GET && request.method != Method::HEAD {
            return None;
        }
        let site = &*self.site;
        let lookup = &mut *self.lookup.borrow_mut();
        let response = match lookup.find(site, request) {
            Ok(file) => Some(send(site, lookup, file, request)),
            Err(NoFile::NotFound) => {
                if std::mem::take(&mut lookup.met_link) {
                    examined::log_link(site, request);
                }
                None
            }
            Err(NoFile::Folder(..)) if site.settings.listing == Listing::Off => None,
            // A folder without an index has nothing to redirect to.
            Err(NoFile::WithoutSlash(path)) if !lookup.has_index(site, &path) => None,
            Err(reason) => Some(without_file(site, lookup, reason, request)),
        };
        lookup.cache.settle();
        response
    }

    /// Responds to a request for something that is not there, with the page for 404.
    #[must_use]
    pub fn respond_missing(&self, request: &Request) -> Response {
        not_found(&self.site, &mut self.lookup.borrow_mut(), request)
    }

    /// Explains in words where the path of a request leads.
    #[must_use]
    pub fn examine(&self, request: &Request) -> Examined {
        Examined::of(&self.site, request.target.path())
    }

    /// The folder itself, for handlers that change what is in it.
    #[must_use]
    pub fn folder(&self) -> Folder {
        Folder { site: Arc::clone(&self.site) }
    }

    fn of(site: Arc<Site>) -> Self {
        Self { lookup: RefCell::new(Lookup::new(&site)), site }
    }
}

impl Clone for Files {
    /// The clone shares the settings and has an empty cache of its own.
    fn clone(&self) -> Self {
        Self::of(Arc::clone(&self.site))
    }
}

impl std::fmt::Debug for Files {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Files").field("root", &self.site.root).finish_non_exhaustive()
    }
}

impl Handler for Files {
    #[inline]
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        ready(self.respond(&request))
    }
}

/// The response where the path does not lead to a file.
fn without_file(site: &Site, lookup: &mut Lookup, reason: NoFile, request: &Request) -> Response {
    match reason {
        NoFile::Folder(path, folder) if site.settings.listing != Listing::Off => {
            match lookup.root(site, (site.clock.milliseconds)()) {
                Ok(root) => listing::respond(listing::Listed { root, path, folder }, &site.settings, request),
                Err(NoFile::Unavailable) => without_file(site, lookup, NoFile::Unavailable, request),
                Err(_) => not_found(site, lookup, request),
            }
        }
        NoFile::NotFound | NoFile::Folder(..) => not_found(site, lookup, request),
        NoFile::WithoutSlash(path) => {
            let mut response = Response::from(StatusCode::MOVED_PERMANENTLY);
            put(&mut response.headers, KnownHeader::Location, redirect_target(&path, request.target.query()));
            response
        }
        NoFile::Malformed => StatusCode::BAD_REQUEST.into(),
        NoFile::Forbidden => StatusCode::FORBIDDEN.into(),
        NoFile::Unavailable => Response::from(StatusCode::SERVICE_UNAVAILABLE).with(KnownHeader::RetryAfter, "1"),
        NoFile::Failed => StatusCode::INTERNAL_SERVER_ERROR.into(),
    }
}

/// The response to OPTIONS and to methods that are not allowed.
#[cold]
fn other_method(method: &Method) -> Response {
    let (status, body) = if *method == Method::OPTIONS {
        (StatusCode::NO_CONTENT, Body::empty())
    } else {
        (StatusCode::METHOD_NOT_ALLOWED, Body::from("405 Method Not Allowed\n"))
    };
    Response::new(status).with(KnownHeader::Allow, "GET, HEAD, OPTIONS").body(body)
}
