//! The handler: a request in, the answer of the folder out.

use std::{
    cell::RefCell,
    future::{Future, ready},
    path::{Path, PathBuf},
    sync::Arc,
};

use serow_message::{Body, Handler, Headers, Known, Method, Request, Response, StatusCode};

use crate::{
    absence::missing,
    cache::Answer,
    clock::Clock,
    error::FilesError,
    freshness::Freshness,
    listing,
    location::redirect_target,
    lookup::{Found, Lookup},
    media_type::MediaTypes,
    representation::{Content, put},
    request_path::{Hidden, RequestPath},
    resource::Form,
    root::Root,
    settings::FilesSettings,
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
    shared: Arc<Shared>,
    lookup: RefCell<Lookup>,
}

/// What all clones have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) root: PathBuf,
    pub(crate) settings: FilesSettings,
    pub(crate) media_types: MediaTypes,
    pub(crate) clock: Clock,
    pub(crate) fallback: Option<RequestPath>,
    pub(crate) not_found: Option<RequestPath>,
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
        let path = root.as_ref();
        Root::open(path, settings.symlinks)?;
        let absolute = std::path::absolute(path).map_err(|error| FilesError::Unreadable(path.to_owned(), error))?;
        check(&settings)?;
        let shared = Arc::new(Shared {
            root: absolute,
            media_types: MediaTypes::new(&settings.media_types, &settings.default_media_type),
            clock: Clock::default(),
            fallback: page("fallback", settings.fallback.as_deref())?,
            not_found: page("not_found", settings.not_found.as_deref())?,
            settings,
        });
        Ok(Self::of(shared))
    }

    /// Takes the time from elsewhere than the system's clocks.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        let shared = match Arc::try_unwrap(self.shared) {
            Ok(shared) => Shared { clock, ..shared },
            Err(shared) => Shared {
                root: shared.root.clone(),
                settings: shared.settings.clone(),
                media_types: shared.media_types.clone(),
                clock,
                fallback: shared.fallback.clone(),
                not_found: shared.not_found.clone(),
            },
        };
        Self::of(Arc::new(shared))
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
        let shared = &*self.shared;
        let lookup = &mut *self.lookup.borrow_mut();
        match lookup.find(shared, request) {
            Found::File(place) => file(shared, lookup, place, request),
            other => answer(shared, lookup, other, request),
        }
    }

    fn of(shared: Arc<Shared>) -> Self {
        Self { lookup: RefCell::new(Lookup::new(&shared)), shared }
    }
}

impl Clone for Files {
    /// The clone has the settings in common and an empty cache of its own.
    fn clone(&self) -> Self {
        Self::of(Arc::clone(&self.shared))
    }
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").field("root", &self.shared.root).finish_non_exhaustive()
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
fn file(shared: &Shared, lookup: &mut Lookup, mut place: usize, request: &Request) -> Response {
    let mut form = form_at(lookup, place, request);
    if !is_current(lookup, place, form) {
        match lookup.find_again(shared, request) {
            Found::File(again) => {
                place = again;
                form = form_at(lookup, place, request);
            }
            other => return answer(shared, lookup, other, request),
        }
    }
    send(shared, lookup, place, form, request)
}

/// Which form a request gets of the file at a place, compressed by now if need be.
#[inline]
pub(crate) fn form_at(lookup: &mut Lookup, place: usize, request: &Request) -> Form {
    let Answer::Found(resource) = lookup.cache.answer(place) else {
        return Form::Identity;
    };
    let form = resource.form_for(request);
    if let Form::ToCompress(coding) = form {
        let form = resource.compress(coding);
        lookup.cache.note(place, None);
        return form;
    }
    form
}

#[inline]
fn is_current(lookup: &mut Lookup, place: usize, form: Form) -> bool {
    match lookup.cache.answer(place) {
        Answer::Found(resource) => resource.representation(form).is_current(),
        Answer::Missing => false,
    }
}

#[inline]
pub(crate) fn send(shared: &Shared, lookup: &mut Lookup, place: usize, form: Form, request: &Request) -> Response {
    let Answer::Found(resource) = lookup.cache.answer(place) else {
        return StatusCode::NOT_FOUND.into();
    };
    let mut representation = resource.representation(form);
    let mut permit = None;
    if matches!(representation.content, Content::Compressed { .. }) {
        permit = lookup.permits.take();
        if permit.is_none() {
            representation = resource.representation(Form::Identity);
        }
    }
    representation.respond(request, shared.clock.time_of_day, permit)
}

/// Answers with anything but a file.
fn answer(shared: &Shared, lookup: &mut Lookup, found: Found, request: &Request) -> Response {
    match found {
        Found::File(place) => {
            let form = form_at(lookup, place, request);
            send(shared, lookup, place, form, request)
        }
        Found::Missing => missing(shared, lookup, request),
        Found::Folder(path, folder) if shared.settings.listing => {
            match lookup.root(shared, (shared.clock.milliseconds)()) {
                Some(root) => listing::respond(listing::Listed { root, path, folder }, &shared.settings, request),
                None => missing(shared, lookup, request),
            }
        }
        Found::Folder(..) => missing(shared, lookup, request),
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

/// A path of the settings; hidden names are the owner's to serve.
fn page(setting: &'static str, path: Option<&str>) -> Result<Option<RequestPath>, FilesError> {
    let Some(text) = path else { return Ok(None) };
    match RequestPath::from_decoded(text.as_bytes(), Hidden::Serve) {
        Ok(path) if !path.is_folder() => Ok(Some(path)),
        _ => Err(FilesError::Path { setting, value: text.to_owned() }),
    }
}

/// Whether all text in the settings can stand where it will.
fn check(settings: &FilesSettings) -> Result<(), FilesError> {
    for name in &settings.index {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return Err(FilesError::Path { setting: "index", value: name.clone() });
        }
    }
    let media_types = settings.media_types.iter().map(|(_, value)| ("media_types", value));
    let directives = settings.freshness.iter().filter_map(|rule| match &rule.freshness {
        Freshness::Directives(text) => Some(("freshness", text)),
        _ => None,
    });
    let default = std::iter::once(("default_media_type", &settings.default_media_type));
    for (setting, value) in media_types.chain(directives).chain(default) {
        if Headers::new().append(Known::ContentType, value).is_err() {
            return Err(FilesError::Text { setting, value: value.clone() });
        }
    }
    Ok(())
}
