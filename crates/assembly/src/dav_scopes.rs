//! Which paths belong to the folders that clients may change, beside the other routes of a site.

use std::sync::{Arc, OnceLock};

use serow_config::{
    options::WriteChoice,
    tables::{handlers::HandlerTable, sites::RouteTable},
};
use serow_document::{Place, Problem, Problems};
use serow_router::{Route, RoutePaths, UndecidedPaths};
use serow_webdav::PathScope;

/// The paths of a route; none before they are known.
#[derive(Debug, Default)]
pub(crate) struct DavScope(OnceLock<RoutePaths>);

impl PathScope for DavScope {
    fn receives(&self, path: &[u8]) -> bool {
        self.0.get().is_some_and(|paths| paths.receive(path))
    }

    fn is_taken(&self, path: &[u8]) -> bool {
        self.0.get().is_none_or(|paths| paths.are_taken(path))
    }
}

/// The paths of all routes of a site whose folders clients may change. They are known when the router's routes are.
pub(crate) struct DavScopes {
    routes: Vec<ScopedRoute>,
}

struct ScopedRoute {
    scope: Option<Arc<DavScope>>,
    /// Whether its requests reach other paths than their own.
    is_dav: bool,
    place: Place,
}

impl DavScopes {
    pub(crate) fn of(routes: &[RouteTable]) -> Self {
        let scoped = |route: &RouteTable| {
            let write = match &route.handler {
                HandlerTable::Files(files) => files.folder.content.write,
                _ => WriteChoice::Off,
            };
            let (scope, is_dav) = (write.is_on().then(Arc::default), write == WriteChoice::Dav);
            ScopedRoute { scope, is_dav, place: route.place.clone() }
        };
        Self { routes: routes.iter().map(scoped).collect() }
    }

    /// That of each route.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<&Arc<DavScope>>> {
        self.routes.iter().map(|route| route.scope.as_ref())
    }

    /// Says which paths they are; notes where WebDAV cannot know it. Without routes, something else is wrong.
    pub(crate) fn settle<H>(&self, routes: Option<&[Route<H>]>, problems: &Problems) {
        let Some(routes) = routes else { return };
        for (number, route) in self.routes.iter().enumerate() {
            let Some(scope) = &route.scope else { continue };
            match RoutePaths::of(routes, number) {
                Ok(paths) => drop(scope.0.set(paths)),
                // Then no other path is reached than that of the request.
                Err(_) if !route.is_dav => {}
                Err(undecided) => problems.add(self.problem(undecided)),
            }
        }
    }

    fn problem(&self, undecided: UndecidedPaths) -> Problem {
        let (culprit, key, text) = match undecided {
            UndecidedPaths::Variable(culprit) => (
                culprit,
                "when",
                "a variable here depends on the path, so the folder with write = \"dav\" in this site cannot know which \
                 paths are its own: select them by `path` or `path-regex`",
            ),
            UndecidedPaths::Rewrite(culprit) => (
                culprit,
                "rewrite",
                "the folder with write = \"dav\" behind this route gets further paths, in the field Destination, which no \
                 route rewrites: put this route behind it, or use `root` and `strip-prefix` there",
            ),
        };
        let place = self.routes.get(culprit).map(|route| route.place.key(key));
        Problem::of_key(place.unwrap_or_default(), text)
    }
}
