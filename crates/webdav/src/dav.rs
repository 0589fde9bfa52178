//! The handler: which method does what.

use std::{pin::Pin, sync::Arc};

use serow_files::Files;
use serow_message::{Handler, KnownHeader, Method, Request, Response, StatusCode};

use crate::{
    dav_site::DavSite,
    locking::{lock, unlock},
    methods,
    propfind::propfind,
    proppatch::proppatch,
    put::put,
    refusal::Refusal,
    settings::{WriteMode, WriteSettings},
    structure::{create_folder, delete},
    transfer::{Transfer, transfer},
    writable_folder::WritableFolder,
};

/// A served folder that clients may change, as a [`Handler`]: PUT of new files, PUT and DELETE, or all of WebDAV.
///
/// GET and HEAD are answered by [`Files`]. Its cache has to check files at each request
/// ([`fresh_for`](serow_files::CacheLimits::fresh_for) is 0): otherwise a client that has uploaded a file could get the
/// earlier one for a second.
///
/// Clones share the locks of the folder.
#[derive(Clone, Debug)]
pub struct Dav {
    files: Files,
    shared: Arc<WritableFolder>,
}

impl Dav {
    /// A handler for a folder. `prefix` is what the paths of requests have before the path below the folder, decoded:
    /// empty, or beginning with a slash and without one at the end.
    #[must_use]
    pub fn new(files: Files, settings: impl Into<WriteSettings>, prefix: &[u8]) -> Self {
        Self::in_site(files, settings, prefix, DavSite::default())
    }

    /// The same in a site that has other handlers, too, or is behind a proxy.
    #[must_use]
    pub fn in_site(files: Files, settings: impl Into<WriteSettings>, prefix: &[u8], site: DavSite) -> Self {
        let shared = WritableFolder::new(files.folder(), settings.into(), prefix, site);
        Self { files, shared }
    }

    /// Answers GET and HEAD, which do not wait.
    #[inline]
    #[must_use]
    pub fn respond_at_once(&self, request: &Request) -> Option<Response> {
        if request.method != Method::GET && request.method != Method::HEAD {
            return None;
        }
        if self.shared.needs_count() {
            self.count();
        }
        Some(self.files.respond(request))
    }

    /// Answers a request.
    #[must_use]
    pub fn respond(&self, request: Request) -> Pin<Box<dyn Future<Output = Response>>> {
        match self.respond_at_once(&request) {
            Some(response) => Box::pin(std::future::ready(response)),
            None => Box::pin(change(Arc::clone(&self.shared), request)),
        }
    }
}

impl Dav {
    /// Counts the folder for its quota, so that the first upload need not wait for that.
    #[cold]
    fn count(&self) {
        let shared = Arc::clone(&self.shared);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || drop(shared.quota().map(drop)));
        }
    }
}

impl Handler for Dav {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        self.respond(request)
    }
}

async fn change(shared: Arc<WritableFolder>, request: Request) -> Response {
    let mode = shared.mode;
    let is_dav = mode == WriteMode::Dav;
    let outcome = match request.method.as_str() {
        "OPTIONS" => Ok(options(mode)),
        "PUT" => put(shared, request).await,
        "DELETE" if mode != WriteMode::Form => delete(shared, request).await,
        "MKCOL" if is_dav => create_folder(shared, request).await,
        "COPY" if is_dav => transfer(shared, request, Transfer::Copy).await,
        "MOVE" if is_dav => transfer(shared, request, Transfer::Move).await,
        "PROPFIND" if is_dav => propfind(shared, request).await,
        "PROPPATCH" if is_dav => proppatch(shared, request).await,
        "LOCK" if is_dav => lock(shared, request).await,
        "UNLOCK" if is_dav => unlock(shared, request).await,
        _ => Err(Refusal::method(allowed(mode), "")),
    };
    outcome.unwrap_or_else(Response::from)
}

fn options(mode: WriteMode) -> Response {
    let response = Response::new(StatusCode::OK).with(KnownHeader::Allow, allowed(mode));
    if mode != WriteMode::Dav {
        return response;
    }
    // RFC 4918 §10.1 and §18. Windows looks for the second field.
    response.with("dav", "1, 2").with("ms-author-via", "DAV")
}

fn allowed(mode: WriteMode) -> &'static str {
    match mode {
        WriteMode::Form => methods::FORM,
        WriteMode::Put => methods::PUT_ONLY,
        WriteMode::Dav => methods::ALL,
    }
}
