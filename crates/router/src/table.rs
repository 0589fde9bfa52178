//! What the sites mean: which route takes a request, and what comes of it.

use serow_message::{
    InvalidTarget, Known, Method, Request, Response, StatusCode, Target, TargetForm, percent::encode_path,
};

use crate::{
    clean_path::{self, NoPath, Room},
    contradictions,
    error::RouterError,
    fixed_response::FixedResponse,
    header_changes::HeaderChanges,
    methods::Methods,
    path_pattern::PathPattern,
    redirect::Redirect,
    rewrite::RewriteTarget,
    site::{Action, Route, Site},
    site_index::SiteIndex,
};

/// All sites, as all clones of a router share them.
#[derive(Debug)]
pub(crate) struct Table {
    index: SiteIndex,
    sites: Vec<Routes>,
    misdirected: FixedResponse,
    not_implemented: FixedResponse,
}

/// What a request comes to.
#[derive(Debug)]
pub(crate) enum Decision {
    /// To this answer.
    Answer(Response),
    /// To the handler of this number, whose response gets these changes.
    Handle { handler: usize, headers: HeaderChanges },
}

impl Table {
    /// The table, and the handlers of its routes, in their order.
    pub(crate) fn new<H>(sites: Vec<Site<H>>) -> Result<(Self, Vec<H>), RouterError> {
        let index = SiteIndex::new(&sites)?;
        for (number, site) in sites.iter().enumerate() {
            contradictions::check(number, &site.routes)?;
        }
        let mut handlers = Vec::new();
        let sites: Vec<Routes> = sites.into_iter().map(|site| Routes::new(site, &mut handlers)).collect();
        for (site, routes) in sites.iter().enumerate() {
            if let Some(route) = routes.loops() {
                return Err(RouterError::Loop { site, route });
            }
        }
        let misdirected = FixedResponse::of(StatusCode::MISDIRECTED_REQUEST);
        let not_implemented = FixedResponse::of(StatusCode::NOT_IMPLEMENTED);
        Ok((Self { index, sites, misdirected, not_implemented }, handlers))
    }

    /// Decides what a request comes to, and gives it the path that rewrites made.
    pub(crate) fn decide(&self, request: &mut Request) -> Decision {
        // CONNECT names no path, but another server: this is no proxy.
        if request.target.form() == TargetForm::Authority {
            return Decision::Answer(self.not_implemented.response());
        }
        let Some(routes) = self.index.find(request.host()).and_then(|site| self.sites.get(site)) else {
            return Decision::Answer(self.misdirected.response());
        };
        let mut room = Room::new();
        let asked = clean_path::of(&request.target, &mut room);
        let taken = asked.map_err(Missed::from).and_then(|path| routes.find(path, &request.method));
        let Taken { route, path } = match taken {
            Ok(taken) => taken,
            Err(missed) => return Decision::Answer(routes.refuse(missed, request)),
        };
        match &route.outcome {
            Outcome::Handle { handler, headers } => {
                if let Path::Rewritten(path) = &path {
                    match rewritten(&request.target, path) {
                        Ok(target) => request.target = target,
                        Err(InvalidTarget) => return Decision::Answer(routes.refuse(Missed::NoPath, request)),
                    }
                }
                Decision::Handle { handler: *handler, headers: headers.clone() }
            }
            // A response of success would make a tunnel of the connection (RFC 9110 §9.3.6).
            Outcome::Respond(_) if request.method == Method::CONNECT => {
                Decision::Answer(self.not_implemented.response())
            }
            Outcome::Respond(response) => Decision::Answer(response.response()),
            Outcome::Redirect { redirect, headers } => {
                let captures = route.path.captures(path.as_bytes());
                let mut response = redirect.response(request, path.as_bytes(), &captures);
                headers.apply(&mut response.headers);
                Decision::Answer(response)
            }
            Outcome::Rewrite(_) => Decision::Answer(routes.refuse(Missed::Path, request)),
        }
    }
}

/// The target of a request with the path that rewrites made.
fn rewritten(target: &Target, path: &[u8]) -> Result<Target, InvalidTarget> {
    let mut encoded = Vec::with_capacity(path.len() + 16);
    encode_path(path, &mut encoded);
    target.with_path(&encoded)
}

/// The routes of a site, and what it answers where none takes a request.
#[derive(Debug)]
struct Routes {
    routes: Vec<Entry>,
    headers: HeaderChanges,
    /// All methods that a route names.
    methods: Vec<Method>,
    not_found: FixedResponse,
    bad_request: FixedResponse,
}

/// A route.
#[derive(Debug)]
struct Entry {
    path: PathPattern,
    methods: Methods,
    outcome: Outcome,
}

/// What comes of a request that a route takes; the headers are those of site and route together.
#[derive(Debug)]
enum Outcome {
    Handle { handler: usize, headers: HeaderChanges },
    Redirect { redirect: Redirect, headers: HeaderChanges },
    Respond(FixedResponse),
    Rewrite(RewriteTarget),
}

/// The route that takes a request, and the path it takes it with.
#[derive(Debug)]
struct Taken<'table, 'request> {
    route: &'table Entry,
    path: Path<'request>,
}

/// The path of a request at a route.
#[derive(Debug)]
enum Path<'request> {
    Asked(&'request [u8]),
    Rewritten(Vec<u8>),
}

impl Path<'_> {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Asked(path) => path,
            Self::Rewritten(path) => path,
        }
    }
}

/// Why no route takes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missed {
    /// No path fits.
    Path,
    /// A path fits, but not with this method.
    Method,
    /// The request has no path that can be.
    NoPath,
}

impl From<NoPath> for Missed {
    fn from(NoPath: NoPath) -> Self {
        Self::NoPath
    }
}

impl Routes {
    fn new<H>(site: Site<H>, handlers: &mut Vec<H>) -> Self {
        let headers = site.headers;
        let mut methods: Vec<Method> = Vec::new();
        let mut routes = Vec::with_capacity(site.routes.len());
        for route in site.routes {
            for method in route.methods.named() {
                if !methods.contains(method) {
                    methods.push(method.clone());
                }
            }
            routes.push(Entry::new(route, &headers, handlers));
        }
        let of = |status| FixedResponse::of(status).with_headers(&headers);
        let (not_found, bad_request) = (of(StatusCode::NOT_FOUND), of(StatusCode::BAD_REQUEST));
        Self { routes, methods, not_found, bad_request, headers }
    }

    /// The first route that fits, behind those that only rewrite the path.
    fn find<'request>(&self, asked: &'request [u8], method: &Method) -> Result<Taken<'_, 'request>, Missed> {
        let (mut path, mut missed) = (Path::Asked(asked), Missed::Path);
        for route in &self.routes {
            if !route.path.matches(path.as_bytes()) {
                continue;
            }
            if !route.methods.allow(method) {
                missed = Missed::Method;
                continue;
            }
            let Outcome::Rewrite(target) = &route.outcome else { return Ok(Taken { route, path }) };
            let made = target.fill(&route.path.captures(path.as_bytes()));
            path = Path::Rewritten(clean_path::of_decoded(&made)?);
        }
        Err(missed)
    }

    /// The answer to a request that no route takes.
    #[cold]
    fn refuse(&self, missed: Missed, request: &Request) -> Response {
        match missed {
            Missed::NoPath => return self.bad_request.response(),
            Missed::Path => return self.not_found.response(),
            Missed::Method => {}
        }
        let mut room = Room::new();
        let Ok(path) = clean_path::of(&request.target, &mut room) else { return self.bad_request.response() };
        let is_allowed = |method: &&Method| self.find(path, method).is_ok();
        let allowed: Vec<&str> = self.methods.iter().filter(is_allowed).map(Method::as_str).collect();
        if allowed.is_empty() {
            return self.not_found.response();
        }
        let mut response =
            Response::plain_status(StatusCode::METHOD_NOT_ALLOWED).with(Known::Allow, allowed.join(", "));
        self.headers.apply(&mut response.headers);
        response
    }

    /// The first redirect that leads to itself: a browser would follow it until it gives up.
    fn loops(&self) -> Option<usize> {
        self.routes.iter().position(|route| {
            let Outcome::Redirect { redirect, .. } = &route.outcome else { return false };
            let target = redirect.fixed_path().and_then(|path| Target::parse(path.to_owned().into(), false).ok());
            let mut room = Room::new();
            let path = target.as_ref().and_then(|target| clean_path::of(target, &mut room).ok());
            let taken = path.and_then(|path| self.find(path, &Method::GET).ok());
            taken.is_some_and(|taken| std::ptr::eq(taken.route, route))
        })
    }
}

impl Entry {
    fn new<H>(route: Route<H>, site: &HeaderChanges, handlers: &mut Vec<H>) -> Self {
        let headers = site.overridden_by(&route.headers);
        let outcome = match route.action {
            Action::Handle(handler) => {
                handlers.push(handler);
                Outcome::Handle { handler: handlers.len() - 1, headers }
            }
            Action::Redirect(redirect) => Outcome::Redirect { redirect, headers },
            Action::Respond(response) => Outcome::Respond(response.with_headers(&headers)),
            Action::Rewrite(target) => Outcome::Rewrite(target),
        };
        Self { path: route.path, methods: route.methods, outcome }
    }
}
