//! The handler of a server.

use std::{sync::Arc, time::Duration};

use serow::{Handler, Request, Response, StatusCode};
use serow_acme::HttpChallenges;
use serow_bans::Bans;
use serow_files::Files;
use serow_gateway::{TrustedProxies, error_page};
use serow_net::monotonic;
use serow_router::{Routed, Router};

use crate::{
    MaintenanceSwitch, RouteHandler, RoutePolicy, ScriptedSite, SiteScripts, SitesByAddress, chosen_route,
    phases::{Phases, Target},
    policy::Source,
    received_request, refusals,
    serving::TlsPolicy,
    site_response::SiteResponse,
    strict_transport::StrictTransport,
    to_tls::ToTls,
};

/// The handler of all requests of a server.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "each thread has one, and it is not moved")]
pub enum Site {
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
    /// One of these behind scripts.
    Scripted(ScriptedSite),
}

impl Site {
    #[inline]
    pub(crate) fn respond(&self, request: Request) -> SiteResponse {
        match self {
            Self::Single(handler) => handler.respond(request),
            Self::Static { files, handler } => match files.respond_if_found(&request) {
                Some(response) => SiteResponse::Ready(Some(response)),
                None => handler.respond(request),
            },
            Self::ByAddress(sites) => sites.of(request.connection()).respond_by_address(request),
            Self::Scripted(scripted) => scripted.respond(request),
            Self::Routed { router, policies, scripts } => match scripts.of(router, &request) {
                None => routed(router, policies, request),
                Some(of_site) => of_site.respond(router, policies, request),
            },
        }
    }
}

/// The response of the route that takes a request, or of the router itself.
#[inline]
pub(crate) fn routed(router: &Router<RouteHandler>, policies: &SitePolicies, mut request: Request) -> SiteResponse {
    let routed = router.route(&mut request, RouteHandler::attempt);
    respond(routed, request, |request, response| refused(router, policies, request, response))
}

/// The response to a request that no route takes, and the phases of its site.
#[cold]
pub(crate) fn refused(
    router: &Router<RouteHandler>,
    policies: &SitePolicies,
    request: &Request,
    response: Response,
) -> (Response, Option<Arc<Phases>>) {
    (refusals::explained(router, request, response), policies.of(router, request))
}

/// The response to a request that was routed so; `refused` has what becomes of a refusal of the router.
#[inline]
pub(crate) fn respond(
    routed: Routed<'_, RouteHandler>,
    request: Request,
    refused: impl FnOnce(&Request, Response) -> (Response, Option<Arc<Phases>>),
) -> SiteResponse {
    match routed {
        Routed::Handler { handler, headers } => {
            let mut response = handler.respond(request);
            if !headers.is_empty() {
                response.change(headers);
            }
            response
        }
        Routed::Attempt { handler, response } | Routed::Answer { handler: Some(handler), response } => {
            handler.respond_with(request, response)
        }
        Routed::Answer { handler: None, response } => {
            let (response, phases) = refused(&request, response);
            match phases {
                Some(phases) => phases.respond(request, Target::Response(response), Source::Router),
                None => SiteResponse::Ready(Some(response)),
            }
        }
    }
}

impl Site {
    /// As `respond`, to a request whose script may have chosen its route.
    pub(crate) fn respond_as_chosen(&self, request: Request) -> SiteResponse {
        match self {
            Self::ByAddress(sites) => sites.of(request.connection()).respond_as_chosen(request),
            Self::Routed { router, policies, scripts } => match scripts.of(router, &request) {
                None => chosen_route::routed(router, policies, request),
                Some(of_site) => of_site.respond(router, policies, request),
            },
            Self::Single(_) | Self::Static { .. } | Self::Scripted(_) => self.respond(request),
        }
    }

    /// Notes the route of a request that the server has refused, for the log. No script runs for it.
    fn note_route(&self, request: &mut Request) {
        match self {
            Self::Single(_) | Self::Static { .. } => {}
            Self::Routed { router, .. } => {
                router.route(request, |_, _| None);
            }
            Self::ByAddress(sites) => sites.of(request.connection()).note_route(request),
            Self::Scripted(scripted) => scripted.site().note_route(request),
        }
    }

    /// As `respond`, apart from it, so that the others stay as short as they are.
    #[inline(never)]
    fn respond_by_address(&self, request: Request) -> SiteResponse {
        self.respond(request)
    }
}

/// The policies of sites, for the refusals of the router: a missing path, a method that no route takes. The answers of
/// routes pass the phases of these.
#[derive(Clone, Default)]
pub struct SitePolicies {
    /// By the number of the site; none where no site has one.
    by_site: Option<Arc<[Arc<Phases>]>>,
}

impl SitePolicies {
    /// Those of all sites, in their order.
    #[must_use]
    pub fn new(policies: Vec<Arc<RoutePolicy>>) -> Self {
        let phases = policies.into_iter().map(|policy| Arc::new(Phases::of_site(policy)));
        Self::of_phases(phases.collect())
    }

    /// Those of some sites, in this order.
    #[must_use]
    pub fn of_some(&self, numbers: &[usize]) -> Self {
        let all = self.by_site.as_deref().unwrap_or_default();
        Self::of_phases(numbers.iter().filter_map(|number| all.get(*number).cloned()).collect())
    }

    fn of_phases(phases: Vec<Arc<Phases>>) -> Self {
        let has_any = phases.iter().any(|phases| !phases.policy.is_empty());
        Self { by_site: has_any.then(|| phases.into()) }
    }

    /// Those of the site that a request is for.
    pub(crate) fn of(&self, router: &Router<RouteHandler>, request: &Request) -> Option<Arc<Phases>> {
        self.by_site.as_ref()?.get(router.site_of(request)?).cloned()
    }
}

/// A site, with what TLS needs around it.
#[derive(Clone)]
pub(crate) struct SiteHandler {
    site: Site,
    to_tls: ToTls,
    /// How long browsers use TLS only (HSTS).
    strict_transport: Option<Duration>,
    challenges: Option<HttpChallenges>,
    admission: Admission,
}

/// Which clients are served at the moment, and who says which client a request is from.
#[derive(Clone, Default)]
pub struct Admission {
    /// Whether there is maintenance.
    pub maintenance: MaintenanceSwitch,
    /// Clients that are refused. Their new connections are refused before; these are requests of connections that are
    /// open, or that trusted proxies pass on.
    pub bans: Bans,
    /// Proxies that may name the client and its scheme.
    pub trusted: TrustedProxies,
}

impl Admission {
    #[cold]
    fn refusal_of_banned(&self, request: &Request) -> Option<Response> {
        let client = self.trusted.client_address(&request.headers, request.connection())?;
        if !self.bans.is_banned(client, monotonic()) {
            return None;
        }
        self.bans.note_request();
        Some(error_page(StatusCode::FORBIDDEN, &request.headers))
    }
}

impl SiteHandler {
    /// Redirects lead to this port.
    pub(crate) fn new(site: Site, policy: TlsPolicy, port: u16, admission: Admission) -> Self {
        let TlsPolicy { strict_transport, redirected, challenges } = policy;
        Self { site, to_tls: ToTls { redirected, port }, strict_transport, challenges, admission }
    }

    #[inline]
    fn respond(&self, mut request: Request) -> SiteResponse {
        received_request::admit(&mut request);
        if let Some(challenges) = &self.challenges
            && let Some(text) = challenges.answer(request.target.path())
        {
            return SiteResponse::Ready(Some(Response::text(text)));
        }
        let Admission { maintenance, bans, trusted } = &self.admission;
        if !bans.is_empty()
            && let Some(refusal) = self.admission.refusal_of_banned(&request)
        {
            return SiteResponse::Ready(Some(refusal));
        }
        if let Some(response) = maintenance.response(&request, trusted) {
            return SiteResponse::Ready(Some(response));
        }
        if let Some(redirect) = self.to_tls.redirect(&request, trusted) {
            return SiteResponse::Ready(Some(redirect));
        }
        let Some(time) = self.strict_transport else { return self.site.respond(request) };
        let header = StrictTransport::new(time, trusted.client_scheme(&request.headers, request.connection()));
        let mut response = self.site.respond(request);
        response.add(header);
        response
    }
}

impl Handler for SiteHandler {
    #[inline]
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        self.respond(request)
    }

    #[cold]
    fn note_refused(&self, request: &mut Request) {
        self.site.note_route(request);
    }
}
