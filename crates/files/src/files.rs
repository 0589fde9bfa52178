//! The handler: a request in, the answer of the folder out.

use std::{
    cell::RefCell,
    future::{Future, ready},
    path::Path,
    sync::Arc,
};

use serow_message::{Body, Handler, Known, Method, Request, Response, StatusCode};

use crate::{
    clock::Clock,
    error::FilesError,
    listing,
    location::redirect_target,
    lookup::{Found, Lookup},
    not_found::missing,
    representation::put,
    send::{form_at, is_current, send},
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
/// Each clone has a cache of its own, so that each core serves from memory it shares with nobody. What is cached is never
/// more than a second behind the file system.
pub struct Files {
    site: Arc<Site>,
    lookup: RefCell<Lookup>,
}

impl Files {
    /// Serves a folder as [`FilesSettings::default`] says.
    ///
    /// # Errors
    ///
    /// If there is no such folder, or it cannot be opened.
    pub fn new(root: impl AsRef<Path>) -> Result<Self, FilesError> {
        Self::with_settings(root, FilesSettings::default())
    }

    /// Serves a folder as the settings say. A relative path counts from the working directory of this moment.
    ///
    /// # Errors
    ///
    /// If there is no such folder, it cannot be opened, or a setting cannot be.
    pub fn with_settings(root: impl AsRef<Path>, settings: FilesSettings) -> Result<Self, FilesError> {
        Ok(Self::of(Arc::new(Site::new(root.as_ref(), settings)?)))
    }

    /// Takes the time from elsewhere than the system's clocks.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self::of(Arc::new(Site { clock, ..Arc::unwrap_or_clone(self.site) }))
    }

    /// Answers a request. It never waits: the system calls are those on a file system whose pages are in memory, as
    /// nginx makes them on its event loop. Bodies that are large or compressed on the way are read while they are
    /// sent.
    #[inline]
    #[must_use]
    pub fn respond(&self, request: &Request) -> Response {
        if request.method != Method::GET && request.method != Method::HEAD {
            return without_reading(&request.method);
        }
        let site = &*self.site;
        let lookup = &mut *self.lookup.borrow_mut();
        match lookup.find(site, request) {
            Found::File(place) => file(site, lookup, place, request),
            other => answer(site, lookup, other, request),
        }
    }

    fn of(site: Arc<Site>) -> Self {
        Self { lookup: RefCell::new(Lookup::new(&site)), site }
    }
}

impl Clone for Files {
    /// The clone has the settings in common and an empty cache of its own.
    fn clone(&self) -> Self {
        Self::of(Arc::clone(&self.site))
    }
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").field("root", &self.site.root).finish_non_exhaustive()
    }
}

impl Handler for Files {
    #[inline]
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        ready(self.respond(&request))
    }
}

/// Answers with the file at a place of the cache.
#[inline]
fn file(site: &Site, lookup: &mut Lookup, mut place: usize, request: &Request) -> Response {
    let mut form = form_at(site, lookup, place, request);
    if !is_current(lookup, place, form) {
        match lookup.find_again(site, request) {
            Found::File(again) => {
                place = again;
                form = form_at(site, lookup, place, request);
            }
            other => return answer(site, lookup, other, request),
        }
    }
    send(site, lookup, place, form, request)
}

/// Answers with anything but a file.
fn answer(site: &Site, lookup: &mut Lookup, found: Found, request: &Request) -> Response {
    match found {
        Found::File(place) => {
            let form = form_at(site, lookup, place, request);
            send(site, lookup, place, form, request)
        }
        Found::Missing => missing(site, lookup, request),
        Found::Folder(path, folder) if site.settings.listing != Listing::Off => {
            match lookup.root(site, (site.clock.milliseconds)()) {
                Some(root) => listing::respond(listing::Listed { root, path, folder }, &site.settings, request),
                None => missing(site, lookup, request),
            }
        }
        Found::Folder(..) => missing(site, lookup, request),
        Found::WithoutSlash(path) => {
            let mut response = Response::from(StatusCode::MOVED_PERMANENTLY);
            put(&mut response.headers, Known::Location, redirect_target(&path, request.target.query()));
            response
        }
        Found::Malformed => StatusCode::BAD_REQUEST.into(),
        Found::Forbidden => StatusCode::FORBIDDEN.into(),
        Found::Unavailable => Response::from(StatusCode::SERVICE_UNAVAILABLE).with(Known::RetryAfter, "1"),
        Found::Failed => StatusCode::INTERNAL_SERVER_ERROR.into(),
    }
}

/// Answers methods that read no file.
#[cold]
fn without_reading(method: &Method) -> Response {
    let (status, body) = if *method == Method::OPTIONS {
        (StatusCode::NO_CONTENT, Body::empty())
    } else {
        (StatusCode::METHOD_NOT_ALLOWED, Body::from("405 Method Not Allowed\n"))
    };
    Response::new(status).with(Known::Allow, "GET, HEAD, OPTIONS").body(body)
}
