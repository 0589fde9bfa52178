//! The handler of a server.

use std::time::Duration;

use serow::{Handler, Request, Response, StatusCode};
use serow_acme::HttpChallenges;
use serow_gateway::{TrustedProxies, error_page};
use serow_limits::Bans;
use serow_message::ClientField;
use serow_net::monotonic;

use crate::{
    LiveSites, MaintenanceSwitch,
    live_sites::SitesOfThread,
    received_request,
    site_response::SiteResponse,
    strict_transport::StrictTransport,
    to_tls::{TlsPolicy, ToTls},
};

/// All sites, with the parts around them that are the same for each: TLS, bans, maintenance.
#[derive(Clone)]
pub(crate) struct SiteHandler {
    sites: SitesOfThread,
    to_tls: ToTls,
    /// How long browsers use TLS only (HSTS).
    strict_transport: Option<Duration>,
    challenges: Option<HttpChallenges>,
    admission: ClientAdmission,
}

/// Which clients are served at the moment, and who says which client a request is from.
#[derive(Clone, Default)]
pub struct ClientAdmission {
    /// Whether there is maintenance.
    pub maintenance: MaintenanceSwitch,
    /// Clients that are refused. Their new connections are refused before; these are requests of connections that are
    /// open, or that trusted proxies pass on.
    pub bans: Bans,
    /// Proxies that may name the client and its scheme.
    pub trusted: TrustedProxies,
    /// The field in which they name the client.
    pub client_field: ClientField,
}

impl ClientAdmission {
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
    pub(crate) fn new(sites: &LiveSites, policy: TlsPolicy, port: u16, admission: ClientAdmission) -> Self {
        let TlsPolicy { strict_transport, redirected, challenges } = policy;
        let sites = sites.for_thread();
        Self { sites, to_tls: ToTls { redirected, port }, strict_transport, challenges, admission }
    }

    #[inline]
    fn respond(&self, mut request: Request) -> SiteResponse {
        // Before anything that a client has written removes it.
        self.admission.client_field.settle(&self.admission.trusted, &mut request);
        received_request::admit(&mut request);
        if let Some(challenges) = &self.challenges
            && let Some(text) = challenges.answer(request.target.path())
        {
            return SiteResponse::Ready(Some(Response::text(text)));
        }
        let ClientAdmission { maintenance, bans, trusted, .. } = &self.admission;
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
        let Some(time) = self.strict_transport else { return self.sites.respond(request) };
        let header = StrictTransport::new(time, trusted.client_scheme(&request.headers, request.connection()));
        let mut response = self.sites.respond(request);
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
        self.admission.client_field.settle(&self.admission.trusted, request);
        self.sites.note_route(request);
    }
}
