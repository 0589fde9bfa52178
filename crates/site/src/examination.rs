//! Explains in words what would become of a request: for people who look for a mistake in their settings. It starts nothing,
//! and asks no application and no other server.

use std::{cell::RefCell, net::IpAddr};

use serow::{Request, Response};
use serow_guards::{Guard, Satisfy};
use serow_message::Peer;
use serow_router::{Routed, Router};

use crate::{
    Content, RouteHandler, Sites,
    phases::Phases,
    received_request,
    refusals::{listed, name_of, no_site},
};

/// The action of a part of the server on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The part, as in `route`.
    pub subject: &'static str,
    /// The action.
    pub text: String,
}

impl Sites {
    /// Examines a request, in the order of its way. Sites with an address of their own are found by the port to
    /// which the client has connected.
    #[must_use]
    pub fn examine(&self, mut request: Request) -> Vec<Finding> {
        received_request::admit(&mut request);
        let mut findings = Findings::default();
        self.examine_into(request, &mut findings);
        findings.0
    }

    fn examine_into(&self, request: Request, findings: &mut Findings) {
        match self {
            Self::Single(handler) => findings.of_handler(handler, &request),
            Self::Static { files, handler } => match files.respond_if_found(&request) {
                Some(_) => findings.add("content", files.examine(&request).to_string()),
                None => findings.of_handler(handler, &request),
            },
            Self::ByAddress(sites) => sites.of(request.connection()).examine_into(request, findings),
            Self::ByHost(sites) => sites.with_sites_of(request, |sites, request| sites.examine_into(request, findings)),
            Self::Scripted(scripted) => {
                findings.add("script", "that of the root gets the request first, and is not run here");
                scripted.sites().examine_into(request, findings);
            }
            Self::Routed { router, scripts, .. } => {
                let has_script = scripts.of(router, &request).is_some();
                findings.routed(router, has_script, request);
            }
        }
    }
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, subject: &'static str, text: impl Into<String>) {
        self.0.push(Finding { subject, text: text.into() });
    }

    fn routed(&mut self, router: &Router<RouteHandler>, has_script: bool, mut request: Request) {
        match router.site_of(&request) {
            None => self.add("site", format!("{}; hosts are {}", no_site(&request), listed(router))),
            Some(site) => self.add("site", name_of(router, site).trim_start_matches("site ").to_owned()),
        }
        if has_script {
            self.add("script", "that of the site gets the request first, and is not run here");
        }
        let asked = request.target.path().to_owned();
        let passed = RefCell::new(Vec::new());
        let routed = router.route(&mut request, |handler, request| {
            let found = handler.attempt(request);
            if let (None, Content::Files(files)) = (&found, handler.content()) {
                passed.borrow_mut().push(format!(
                    "{} leaves it to the next: {}",
                    handler.place(),
                    files.examine(request)
                ));
            }
            found
        });
        passed.into_inner().into_iter().for_each(|text| self.add("route", text));
        if request.target.path() != asked {
            self.add("rewrite", format!("the path is {} from here on", request.target.path()));
        }
        match routed {
            Routed::Handler { handler, .. } => self.of_handler(handler, &request),
            Routed::Attempt { handler, response } => {
                self.of_route(handler, &request);
                self.of_content(handler.content(), &request, Some(&response));
            }
            Routed::Answer { handler: Some(handler), response } => {
                self.of_route(handler, &request);
                self.of_content(handler.content(), &request, Some(&response));
            }
            Routed::Answer { handler: None, response } => {
                let status = response.status.as_u16();
                match status {
                    404 => self.add("route", "none matches"),
                    405 => self.add("route", "none matches with this method"),
                    _ => {}
                }
                self.add("content", format!("the status {status}"));
            }
        }
    }

    fn of_handler(&mut self, handler: &RouteHandler, request: &Request) {
        self.of_route(handler, request);
        self.of_content(handler.content(), request, None);
    }

    fn of_route(&mut self, handler: &RouteHandler, request: &Request) {
        if !handler.place().is_empty() {
            self.add("route", handler.place());
        }
        match handler.phases() {
            Some(phases) => self.of_phases(phases, request),
            None => self.add("access", "for all"),
        }
    }

    fn of_phases(&mut self, phases: &Phases, request: &Request) {
        if let Some(limit) = phases.policy.max_body {
            self.add("body", format!("at most {limit} bytes; longer ones get 413"));
        }
        match &phases.policy.guard {
            Some(guard) if !guard.is_empty() => self.of_guard(guard, request),
            _ => self.add("access", "for all"),
        }
        if phases.policy.cors.is_some() {
            self.add("preflight", "as `cors` says");
        }
        if !phases.scripts.is_empty() {
            self.add("script", "that of the route gets the request, and is not run here");
        }
        if phases.mirror.is_some() {
            self.add("mirror", "a copy may be sent to another upstream");
        }
        if phases.cache.is_some() {
            self.add("cache", "a stored response is sent if there is a fresh one");
        }
        if phases.internal.is_some() {
            self.add("internal", "the response may lead to an internal route");
        }
    }

    fn of_guard(&mut self, guard: &Guard, request: &Request) {
        let client = guard.trust.client_address(&request.headers, request.connection());
        let mut access = Vec::new();
        if let Some(rules) = &guard.addresses {
            let client = client.map_or_else(|| "a client without an address".to_owned(), |client| client.to_string());
            let is_allowed = rules.allow(client.parse::<IpAddr>().ok());
            access.push(format!("{client} is {} by its address", if is_allowed { "allowed" } else { "refused (403)" }));
        }
        if !guard.methods.named().is_empty() {
            let is_allowed = guard.methods.allow(&request.method);
            let outcome = if is_allowed { "allowed" } else { "refused (405)" };
            access.push(format!("{} is {outcome}", request.method));
        }
        if guard.requests.is_some() {
            access.push("requests of a client at the same time are limited (429)".to_owned());
        }
        if !guard.limits.is_empty() {
            access.push("requests are limited in number (429)".to_owned());
        }
        self.add("access", if access.is_empty() { "for all".to_owned() } else { access.join("; ") });
        let checks = &guard.identity;
        let named = [
            ("a certificate", checks.client_certificates.is_some()),
            ("a password (basic)", checks.basic.is_some()),
            ("a token (jwt)", checks.tokens.is_some()),
            ("forward-auth", checks.forward_auth.is_some()),
            ("a login", checks.login.as_ref().is_some_and(|login| login.is_required)),
        ];
        let named: Vec<_> = named.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect();
        if !named.is_empty() {
            let instead = match guard.satisfy {
                Satisfy::Any if guard.addresses.is_some() => ", or an allowed address",
                _ => "",
            };
            self.add("identity", format!("{} is needed{instead} (401)", named.join(", or ")));
        }
    }

    fn of_content(&mut self, content: &Content, request: &Request, response: Option<&Response>) {
        let text = match (content, response) {
            (Content::Files(files), _) => files.examine(request).to_string(),
            (Content::Dav(_), _) => "a folder that clients may change".to_owned(),
            (Content::App(_), _) => "the application answers".to_owned(),
            (Content::Cgi(programs), _) => programs.examine(request),
            (Content::Php(folder), _) => folder.examine(request),
            (Content::Proxy(proxy), _) => format!("the upstream {} answers", proxy.upstream().settings().name),
            (Content::Answer, None) => "the answer of the route".to_owned(),
            (Content::Answer, Some(response)) => match response.headers.get_str("location") {
                Some(location) => format!("the status {}, to {location}", response.status.as_u16()),
                None => format!("the status {}", response.status.as_u16()),
            },
        };
        self.add("content", text);
    }
}

/// The connection of a client on this machine to this port.
#[must_use]
pub fn connection_to(local: std::net::SocketAddr, scheme: serow::Scheme) -> serow::Connection {
    let peer = Peer::Tcp(std::net::SocketAddr::from(([127, 0, 0, 1], 0)));
    serow::Connection::new(peer, Some(local), scheme)
}
