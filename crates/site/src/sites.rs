//! The sites that a server serves.

use serow::Request;
use serow_files::Files;
use serow_router::Router;

use crate::{
    RouteHandler, ScriptedSites, SitePolicies, SiteScripts, SitesByAddress, SitesByHost, chosen_route,
    routed_response::routed, site_response::SiteResponse,
};

/// All that a server serves: the handler of its requests. One site with hosts and routes is a [`serow_router::Site`].
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "each thread has one, and it is not moved")]
pub enum Sites {
    /// One folder, application or proxy.
    Single(RouteHandler),
    /// A folder, and a handler for requests for which the folder has no file.
    Static {
        /// The folder.
        files: Files,
        /// The handler for the others.
        handler: RouteHandler,
    },
    /// Sites with routes.
    Routed {
        /// The sites.
        router: Router<RouteHandler>,
        /// The policies of the sites, for responses that the router makes.
        policies: SitePolicies,
        /// The scripts of the sites.
        scripts: SiteScripts,
    },
    /// Sites with routes, some of which have addresses of their own.
    ByAddress(SitesByAddress),
    /// Sites with routes, some of which are exchanged while the others stay.
    ByHost(SitesByHost),
    /// One of these behind scripts.
    Scripted(ScriptedSites),
}

impl Sites {
    #[inline]
    pub(crate) fn respond(&self, request: Request) -> SiteResponse {
        match self {
            Self::Single(handler) => handler.respond(request),
            Self::Static { files, handler } => match files.respond_if_found(&request) {
                Some(response) => SiteResponse::Ready(Some(response)),
                None => handler.respond(request),
            },
            Self::ByAddress(sites) => sites.of(request.connection()).respond_by_address(request),
            Self::ByHost(sites) => sites.with_sites_of(request, Self::respond_by_address),
            Self::Scripted(scripted) => scripted.respond(request),
            Self::Routed { router, policies, scripts } => match scripts.of(router, &request) {
                None => routed(router, policies, request),
                Some(of_site) => of_site.respond(router, policies, request),
            },
        }
    }

    /// As `respond`, to a request whose script may have chosen its route.
    pub(crate) fn respond_as_chosen(&self, request: Request) -> SiteResponse {
        match self {
            Self::ByAddress(sites) => sites.of(request.connection()).respond_as_chosen(request),
            Self::ByHost(sites) => sites.with_sites_of(request, Self::respond_as_chosen),
            Self::Routed { router, policies, scripts } => match scripts.of(router, &request) {
                None => chosen_route::routed(router, policies, request),
                Some(of_site) => of_site.respond(router, policies, request),
            },
            Self::Single(_) | Self::Static { .. } | Self::Scripted(_) => self.respond(request),
        }
    }

    /// Notes the route of a request that the server has refused, for the log. No script runs for it.
    pub(crate) fn note_route(&self, request: &mut Request) {
        match self {
            Self::Single(_) | Self::Static { .. } => {}
            Self::Routed { router, .. } => {
                router.route(request, |_, _| None);
            }
            Self::ByAddress(sites) => sites.of(request.connection()).note_route(request),
            Self::ByHost(sites) => sites.note_route(request),
            Self::Scripted(scripted) => scripted.sites().note_route(request),
        }
    }

    /// As `respond`, apart from it, so that the others stay as short as they are.
    #[inline(never)]
    fn respond_by_address(&self, request: Request) -> SiteResponse {
        self.respond(request)
    }
}
