//! A folder of scripts.

use std::{cell::RefCell, fmt, future::ready, pin::Pin, sync::Arc};

use serow_files::{Files, redirect_target};
use serow_gateway::{CgiScript, PathNames, error_page};
use serow_message::{Handler, KnownHeader, Method, Request, Response, StatusCode};
use serow_proxy::Proxy;

use crate::php::{
    known_scripts::KnownScripts,
    script_search::{ScriptSearch, Search},
    settings::PhpSettings,
};

/// A folder of scripts: its files, and the servers that run its scripts.
#[derive(Clone)]
pub struct PhpFolder {
    files: Files,
    servers: Proxy,
    settings: Arc<PhpSettings>,
    known: RefCell<KnownScripts>,
}

impl fmt::Debug for PhpFolder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PhpFolder").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Where a request goes.
#[derive(Debug)]
pub enum Destination {
    /// It is answered here.
    Response(Response),
    /// This script runs.
    Script(CgiScript),
}

impl PhpFolder {
    /// The scripts of this folder run by these servers, which speak FastCGI.
    #[must_use]
    pub fn new(files: Files, servers: Proxy, settings: PhpSettings) -> Self {
        Self { files, servers, settings: Arc::new(settings), known: RefCell::default() }
    }

    /// The servers.
    #[must_use]
    pub fn servers(&self) -> &Proxy {
        &self.servers
    }

    /// The files of the folder.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Passes a request on, which runs this script.
    pub fn run(&self, script: CgiScript, mut request: Request) -> Pin<Box<dyn Future<Output = Response>>> {
        request.extensions.insert(script);
        self.servers.respond(request)
    }

    /// Explains in words where a request goes.
    #[must_use]
    pub fn examine(&self, request: &Request) -> String {
        match self.destination(request) {
            Destination::Script(script) => {
                let filename = String::from_utf8_lossy(&script.filename).into_owned();
                match script.path_info {
                    Some(rest) => {
                        format!("the script {filename} runs, PATH_INFO is {}", String::from_utf8_lossy(&rest))
                    }
                    None => format!("the script {filename} runs"),
                }
            }
            Destination::Response(_) => self.files.examine(request).to_string(),
        }
    }

    /// Where a request goes.
    #[must_use]
    pub fn destination(&self, request: &Request) -> Destination {
        let refuse = |status| Destination::Response(error_page(status, &request.headers));
        let encoded = request.target.path();
        let Ok(names) = PathNames::parse(encoded) else { return refuse(StatusCode::BAD_REQUEST) };
        let folder = self.files.folder();
        if self.settings.hides(&names.path(), folder.path()) {
            return refuse(StatusCode::NOT_FOUND);
        }
        let Ok(root) = folder.open_shared() else { return refuse(StatusCode::SERVICE_UNAVAILABLE) };
        let (settings, known) = (&*self.settings, &self.known);
        let search = ScriptSearch { root: &root, settings, known, now: folder.milliseconds() };
        match search.in_path(&names, encoded) {
            Search::Found(script) => return Destination::Script(script),
            Search::Forbidden => return refuse(StatusCode::NOT_FOUND),
            Search::Nothing => {}
        }
        if names.has_hidden(names.count()) {
            return refuse(StatusCode::NOT_FOUND);
        }
        if let Some(path) = names.joined(names.count())
            && let Some(destination) = self.of_folder_or_file(&search, &names, &path, request)
        {
            return destination;
        }
        match search.front_controller() {
            Some(script) => Destination::Script(script),
            None if names.joined(names.count()).is_some_and(|path| search.is_file(&path)) => {
                // With a method that files do not have, or a slash behind it.
                Destination::Response(self.files.respond(request))
            }
            None => Destination::Response(self.files.respond_missing(request)),
        }
    }

    /// The index of a folder, the redirect to it, or a file.
    fn of_folder_or_file(
        &self,
        search: &ScriptSearch<'_>,
        names: &PathNames,
        path: &[u8],
        request: &Request,
    ) -> Option<Destination> {
        let is_read = request.method == Method::GET || request.method == Method::HEAD;
        if names.is_folder
            && let Some(script) = search.index_of(path)
        {
            return Some(Destination::Script(script));
        }
        // First the files, which are in a cache.
        if let Some(response) = self.files.respond_if_found(request) {
            return Some(Destination::Response(response));
        }
        let is_folder_of_script =
            is_read && !names.is_folder && search.is_folder(path) && search.index_of(path).is_some();
        is_folder_of_script.then(|| Destination::Response(with_slash(path, request)))
    }
}

impl Handler for PhpFolder {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        match self.destination(&request) {
            Destination::Response(response) => Box::pin(ready(response)),
            Destination::Script(script) => self.run(script, request),
        }
    }
}

/// The redirect to a folder that was requested without the slash at its end.
fn with_slash(path: &[u8], request: &Request) -> Response {
    let target = redirect_target(&[b"/", path, b"/"].concat(), request.target.query());
    let mut response = Response::new(StatusCode::MOVED_PERMANENTLY);
    // Encoded, it is a valid value.
    let _ = response.headers.append(KnownHeader::Location, target);
    response
}
