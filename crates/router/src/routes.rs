//! The routes of a site: which takes a request, and what is answered where none does.

use std::collections::HashMap;

use serow_message::{
    Body, KnownHeader, Method, Request, RequestClient, RequestHead, Response, RouteNote, StatusCode, TrustedProxies,
};
use serow_variables::{
    Expression, Source,
    clean_path::{self, NoPath, Room},
};

use crate::{
    conditions::Conditions,
    fixed_response::FixedResponse,
    header_changes::HeaderChanges,
    marked::Marked,
    methods::Methods,
    path_pattern::PathPattern,
    redirect::Redirect,
    rewrite::{RewriteLoop, RewriteTarget},
    rewriting::{Captured, Rewriting},
    route_index::RouteIndex,
    routed_path::RoutedPath,
    site::{Action, Route, Site},
    variable_outcome::VariableOutcome,
};

/// The routes of a site.
#[derive(Debug)]
pub(crate) struct Routes {
    entries: Box<[Entry]>,
    index: RouteIndex,
    headers: HeaderChanges,
    /// All methods that a route names.
    methods: Vec<Method>,
    /// The numbers of the names that routes have.
    names: HashMap<Box<str>, usize>,
    not_found: FixedResponse,
    bad_request: FixedResponse,
    not_implemented: FixedResponse,
    rewritten_too_often: FixedResponse,
    /// The number to note of a request that no route takes.
    number: Option<u32>,
}

/// A route.
#[derive(Debug)]
struct Entry {
    pattern: PathPattern,
    /// The expression that the path must match besides.
    expression: Option<Expression>,
    methods: Methods,
    /// The number of its name among those of the site.
    name: Option<usize>,
    /// Whether only requests that were led here come to it.
    internal: bool,
    /// The path that its handler gets.
    rewriting: Option<Box<Rewriting>>,
    step: RouteStep,
    /// The number of the handler that passes on the route's own response.
    answering: Option<usize>,
}

/// The next step of a request that fits a route.
#[derive(Debug)]
pub(crate) enum RouteStep {
    /// It is taken.
    Take(Outcome),
    /// It goes on with another path.
    GoOn(RewriteTarget),
    /// The same, with variables.
    Rewrite(Box<Rewriting>),
    /// It starts again with another path.
    Restart(Box<Rewriting>),
    /// One of the others, if the request meets conditions.
    If(Box<Conditional>),
    /// One of the others, of which a note is made.
    Marked(Box<Marked>),
}

/// A step for the requests that meet conditions.
#[derive(Debug)]
pub(crate) struct Conditional {
    conditions: Conditions,
    /// Where the captures come from that the conditions look at.
    captured: Captured,
    step: RouteStep,
}

/// The answer to a request that a route takes. The changes of headers are those of site and route together.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The response of the handler with this number.
    Handle { handler: usize, headers: HeaderChanges },
    /// The response of the handler with this number, if it has one.
    Try { handler: usize, headers: HeaderChanges },
    /// Where to go.
    Redirect { redirect: Redirect, headers: HeaderChanges },
    /// Always the same; its headers are changed already.
    /// The response of this number, which the router keeps.
    Respond(usize),
    /// One of the others, with variables.
    Variable(Box<VariableOutcome>),
}

/// A request that a route takes.
#[derive(Debug)]
pub(crate) struct Taken<'routes, 'request> {
    /// The number of the route.
    pub(crate) route: usize,
    /// The pattern that the path fits.
    pub(crate) pattern: &'routes PathPattern,
    /// The answer.
    pub(crate) outcome: &'routes Outcome,
    /// The path that fits.
    pub(crate) path: RoutedPath<'request>,
    /// Where the search for it began, and what it passed.
    pub(crate) start: Start,
}

/// Where the search for a route begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// The first route that is looked at.
    pub(crate) route: usize,
    /// Why those before it have not taken the request.
    pub(crate) missed: Missed,
    /// Whether routes take it that may leave it to others.
    pub(crate) tries: bool,
    /// The name that a route must have, by its number.
    pub(crate) name: Option<usize>,
    /// Whether it is a sample, of which nothing but the path is known.
    pub(crate) is_sample: bool,
    /// Whether internal routes take it.
    pub(crate) is_inside: bool,
    /// How often it has started again.
    pub(crate) restarts: u8,
}

/// Why no route takes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// No path fits (404).
    Path,
    /// A path fits, but not with this method (405).
    Method,
    /// The request has no path that can be (400).
    NoPath,
    /// A tunnel is asked for where there is no handler to make one (501).
    Tunnel,
    /// A route may take the sample, or not.
    Unknown,
    /// This route has started it again once too often (500).
    Loop(usize),
}

impl From<NoPath> for Missed {
    fn from(_: NoPath) -> Self {
        Self::NoPath
    }
}

impl Routes {
    pub(crate) fn new<H>(site: Site<H>, kept: &mut Kept<H>) -> Self {
        let (headers, number) = (site.headers, site.number);
        let (mut methods, mut names) = (Vec::<Method>::new(), HashMap::<Box<str>, usize>::new());
        let index = RouteIndex::new(&site.routes);
        let mut entries = Vec::with_capacity(site.routes.len());
        for route in site.routes {
            for method in route.methods.named() {
                if !methods.contains(method) {
                    methods.push(method.clone());
                }
            }
            let name = route.name.clone().map(|name| {
                let next = names.len();
                *names.entry(name).or_insert(next)
            });
            entries.push(Entry { name, ..Entry::new(route, &headers, &site.request_headers, kept) });
        }
        let of = |status| FixedResponse::of(status).with_headers(&headers);
        Self {
            entries: entries.into(),
            index,
            methods,
            names,
            not_found: of(StatusCode::NOT_FOUND),
            bad_request: of(StatusCode::BAD_REQUEST),
            not_implemented: of(StatusCode::NOT_IMPLEMENTED),
            rewritten_too_often: of(StatusCode::INTERNAL_SERVER_ERROR),
            headers,
            number,
        }
    }

    /// The number of the handler that passes on what this route answers.
    pub(crate) fn answering(&self, route: usize) -> Option<usize> {
        self.entries.get(route)?.answering
    }

    /// The path that the handler of this route gets in place of this one.
    pub(crate) fn rewritten(
        &self,
        route: usize,
        path: &RoutedPath<'_>,
        pattern: &PathPattern,
        request: &Request,
        client: &RequestClient<'_>,
    ) -> Result<Option<RoutedPath<'static>>, Missed> {
        let rewriting = self.entries.get(route).and_then(|entry| entry.rewriting.as_ref());
        Ok(rewriting.map(|rewriting| rewriting.path(path, pattern, request, client)).transpose()?)
    }

    /// The number of this name, if a route has it.
    pub(crate) fn number_of(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// The first route that fits, behind those that only rewrite the path.
    pub(crate) fn find<'request>(
        &self,
        asked: &'request [u8],
        request: &Request,
        client: &RequestClient<'_>,
        mut start: Start,
    ) -> Result<Taken<'_, 'request>, Missed> {
        let (mut path, mut missed) = (RoutedPath::Asked(asked), start.missed);
        let mut candidates = self.index.candidates(asked, start.route, start.is_sample);
        while let Some(route) = candidates.next() {
            let Some(entry) = self.entries.get(route) else { break };
            let Entry { pattern, expression, methods, name, step, .. } = entry;
            if entry.internal && !start.is_inside {
                continue;
            }
            if !entry.matches(path.as_bytes(), start.is_sample) {
                continue;
            }
            if start.name.is_some() && start.name != *name {
                continue;
            }
            if !methods.allow(&request.method) {
                missed = Missed::Method;
                continue;
            }
            // Whether the paths that a sample stands for match is unknown.
            if start.is_sample && expression.is_some() {
                return Err(Missed::Unknown);
            }
            path = match step {
                // A fixed 200 would make a tunnel of the connection (RFC 9110 §9.3.6).
                RouteStep::Take(Outcome::Respond(_)) if request.method == Method::CONNECT => {
                    return Err(Missed::Tunnel);
                }
                RouteStep::Take(Outcome::Try { .. }) if !start.tries => continue,
                RouteStep::GoOn(target) => go_on(target, path, pattern)?,
                RouteStep::Take(Outcome::Variable(_))
                | RouteStep::Rewrite(_)
                | RouteStep::Restart(_)
                | RouteStep::If(_)
                | RouteStep::Marked(_) => match follow(step, path, pattern, request, client, start)? {
                    Followed::Taken(outcome, path) => return Ok(Taken { route, pattern, outcome, path, start }),
                    Followed::Next(next) => next,
                    Followed::First(first) => {
                        (start, missed) = (start.again(route)?, Missed::Path);
                        candidates = self.index.candidates(first.as_bytes(), 0, start.is_sample);
                        path = first;
                        continue;
                    }
                },
                RouteStep::Take(outcome) => return Ok(Taken { route, pattern, outcome, path, start }),
            };
            if step.rewrites() {
                candidates = self.index.candidates(path.as_bytes(), route + 1, start.is_sample);
            }
        }
        Err(missed)
    }

    /// The answer to a request that no route takes, if it must have this name.
    #[cold]
    pub(crate) fn refuse(
        &self,
        missed: Missed,
        name: Option<usize>,
        request: &Request,
        client: &RequestClient<'_>,
    ) -> Response {
        if let (Some(number), Some(note)) = (self.number, request.extensions.get::<RouteNote>()) {
            note.set(number);
        }
        match missed {
            Missed::Path | Missed::Unknown => self.refusal(&self.not_found, request, client),
            Missed::Method => self.refuse_method(name, request, client),
            Missed::NoPath => self.refusal(&self.bad_request, request, client),
            Missed::Tunnel => self.refusal(&self.not_implemented, request, client),
            Missed::Loop(route) => {
                let mut response = self.refusal(&self.rewritten_too_often, request, client);
                let route = self.entries.get(route).map(Entry::shown).unwrap_or_default();
                response.extensions.insert(RewriteLoop { route });
                response
            }
        }
    }

    fn refusal(&self, refusal: &FixedResponse, request: &Request, client: &RequestClient<'_>) -> Response {
        let mut response = refusal.response();
        if self.headers.has_variables() {
            self.headers_of(request, client).apply(response.status, &mut response.headers);
        }
        response
    }

    /// The changes of headers for a request that no route takes.
    fn headers_of(&self, request: &Request, client: &RequestClient<'_>) -> HeaderChanges {
        let mut room = Room::new();
        let path = clean_path::of_routed(&request.target, &mut room);
        self.headers.filled(&Source { client: Some(client), ..Source::of(request, path) })
    }

    /// RFC 9110 §15.5.6: a 405 says in Allow with which methods a route would take the request. There may be none, if a
    /// rewrite leads away; then it is a 404.
    fn refuse_method(&self, name: Option<usize>, request: &Request, client: &RequestClient<'_>) -> Response {
        let mut room = Room::new();
        let Ok(path) = clean_path::of(&request.target, &mut room) else {
            return self.refusal(&self.bad_request, request, client);
        };
        let start = Start { tries: false, name, ..Start::default() };
        let (target, headers) = (request.target.clone(), request.headers.clone());
        let head = RequestHead { method: Method::GET, target, headers, version: request.version };
        let mut with_method = Request::new(head, Body::empty(), request.connection().clone());
        let is_allowed = |method: &&Method| {
            with_method.method = (*method).clone();
            self.find(path, &with_method, client, start).is_ok()
        };
        let allowed: Vec<&str> = self.methods.iter().filter(is_allowed).map(Method::as_str).collect();
        if allowed.is_empty() {
            return self.refusal(&self.not_found, request, client);
        }
        let refusal = Response::plain_status(StatusCode::METHOD_NOT_ALLOWED);
        let mut response = refusal.with(KnownHeader::Allow, allowed.join(", "));
        self.headers_of(request, client).apply(response.status, &mut response.headers);
        response
    }

    /// The first rewrite that starts a request again and again for sure.
    pub(crate) fn endless_restart(&self) -> Option<usize> {
        let (request, nobody) = (Request::default(), TrustedProxies::default());
        let client = RequestClient::new(&nobody);
        let start = Start { is_sample: true, is_inside: true, ..Start::default() };
        let restarts = self.entries.iter().filter(|entry| matches!(entry.step, RouteStep::Restart(_)));
        restarts.flat_map(|entry| entry.pattern.samples()).find_map(|path| {
            match self.find(&path, &request, &client, start) {
                Err(Missed::Loop(route)) => Some(route),
                _ => None,
            }
        })
    }

    /// The first redirect that never comes to anything else.
    pub(crate) fn endless_redirect(&self) -> Option<usize> {
        self.entries.iter().position(|entry| match entry.step.unmarked() {
            RouteStep::Take(outcome @ Outcome::Redirect { .. }) => self.is_endless(&entry.pattern, outcome),
            _ => false,
        })
    }

    /// Whether a browser that follows this redirect gives up. It is tried with paths whose stars stand for a text that
    /// no route names, so it holds for nearly all paths of a pattern.
    fn is_endless(&self, pattern: &PathPattern, outcome: &Outcome) -> bool {
        pattern.samples().any(|path| self.is_endless_from(path, outcome))
    }

    fn is_endless_from(&self, mut path: Vec<u8>, outcome: &Outcome) -> bool {
        let (request, nobody) = (Request::default(), TrustedProxies::default());
        let client = RequestClient::new(&nobody);
        let start = Start { tries: false, is_sample: true, ..Start::default() };
        for hop in 0..MAX_REDIRECTS {
            let Ok(taken) = self.find(&path, &request, &client, start) else { return false };
            let Outcome::Redirect { redirect, .. } = taken.outcome else { return false };
            if hop == 0 && !std::ptr::eq(taken.outcome, outcome) {
                return false;
            }
            let reached = taken.path.as_bytes();
            match redirect.next_path(reached, &taken.pattern.captures(reached)) {
                // No browser asks for it.
                Some(next) if next.len() > MAX_SAMPLE_LENGTH => return true,
                Some(next) => path = next,
                None => return false,
            }
        }
        true
    }
}

/// The handlers and fixed responses that routes name by their number. Each clone of a router has its own.
#[derive(Debug)]
pub(crate) struct Kept<H> {
    pub(crate) handlers: Vec<H>,
    /// Those that are always the same.
    pub(crate) responses: Vec<FixedResponse>,
}

impl<H> Default for Kept<H> {
    fn default() -> Self {
        Self { handlers: Vec::new(), responses: Vec::new() }
    }
}

impl<H: Clone> Clone for Kept<H> {
    fn clone(&self) -> Self {
        let responses = self.responses.iter().map(FixedResponse::detached).collect();
        Self { handlers: self.handlers.clone(), responses }
    }
}

/// The outcome of a request at a route.
enum Followed<'routes, 'request> {
    /// The route takes it, with this path.
    Taken(&'routes Outcome, RoutedPath<'request>),
    /// It goes on with this path.
    Next(RoutedPath<'request>),
    /// It starts again with this path.
    First(RoutedPath<'request>),
}

/// Follows a step, also one with conditions or variables. It is a function of its own so that requests without these
/// pay nothing for them.
#[inline(never)]
fn follow<'routes, 'request>(
    step: &'routes RouteStep,
    path: RoutedPath<'request>,
    pattern: &PathPattern,
    request: &Request,
    client: &RequestClient<'_>,
    start: Start,
) -> Result<Followed<'routes, 'request>, Missed> {
    match step {
        RouteStep::If(_) | RouteStep::Rewrite(_) if start.is_sample => Err(Missed::Unknown),
        RouteStep::If(conditional) => match conditional.is_for(&path, pattern, request, client) {
            true => follow(&conditional.step, path, pattern, request, client, start),
            false => Ok(Followed::Next(path)),
        },
        RouteStep::Marked(marked) => {
            let followed = follow(&marked.step, path, pattern, request, client, start)?;
            if let Followed::Taken(_, path) = &followed {
                marked.note(path, pattern, request);
            }
            Ok(followed)
        }
        RouteStep::Restart(rewriting) if start.is_sample && !rewriting.target.follows_path() => Err(Missed::Unknown),
        RouteStep::Restart(rewriting) => Ok(Followed::First(rewriting.path(&path, pattern, request, client)?)),
        RouteStep::Rewrite(rewriting) => Ok(Followed::Next(rewriting.path(&path, pattern, request, client)?)),
        RouteStep::GoOn(target) => go_on(target, path, pattern).map(Followed::Next),
        RouteStep::Take(outcome) => {
            let is_taken = match outcome {
                Outcome::Respond(_) if request.method == Method::CONNECT => return Err(Missed::Tunnel),
                Outcome::Try { .. } => start.tries,
                Outcome::Variable(variable) => variable.is_for(request, start)?,
                _ => true,
            };
            Ok(if is_taken { Followed::Taken(outcome, path) } else { Followed::Next(path) })
        }
    }
}

/// The path that a rewrite without variables makes.
fn go_on<'request>(
    target: &RewriteTarget,
    path: RoutedPath<'request>,
    pattern: &PathPattern,
) -> Result<RoutedPath<'request>, Missed> {
    let made = target.fill(&pattern.captures(path.as_bytes()));
    Ok(path.replaced(clean_path::of_decoded(&made)?))
}

impl RouteStep {
    /// Whether a request goes on with another path.
    fn rewrites(&self) -> bool {
        match self {
            Self::GoOn(_) | Self::Rewrite(_) => true,
            Self::If(conditional) => conditional.step.rewrites(),
            Self::Take(_) | Self::Marked(_) | Self::Restart(_) => false,
        }
    }

    /// The step itself, where a note is made of it.
    fn unmarked(&self) -> &Self {
        match self {
            Self::Marked(marked) => &marked.step,
            step => step,
        }
    }
}

impl Conditional {
    fn new(conditions: Conditions, captured: Captured, step: RouteStep) -> Self {
        let captured = if conditions.have_captures() { captured } else { Captured::Nothing };
        Self { conditions, captured, step }
    }

    /// Whether a request with this path meets the conditions.
    fn is_for(
        &self,
        path: &RoutedPath<'_>,
        pattern: &PathPattern,
        request: &Request,
        client: &RequestClient<'_>,
    ) -> bool {
        let captures = self.captured.captures(path.as_bytes(), pattern);
        self.conditions.hold(&Source { captures: &captures, ..path.source(request, client) })
    }
}

impl Default for Start {
    /// At the first route.
    fn default() -> Self {
        Self {
            route: 0,
            missed: Missed::Path,
            tries: true,
            name: None,
            is_sample: false,
            is_inside: false,
            restarts: 0,
        }
    }
}

impl Start {
    /// The next search of a request that this route starts again: among all routes, whatever name they have.
    fn again(self, route: usize) -> Result<Self, Missed> {
        if self.restarts == MAX_RESTARTS {
            return Err(Missed::Loop(route));
        }
        Ok(Self { name: None, is_inside: true, restarts: self.restarts + 1, ..self })
    }
}

impl Entry {
    /// A route of a site that changes these headers of responses and of requests.
    fn new<H>(route: Route<H>, of_site: &HeaderChanges, of_requests: &HeaderChanges, kept: &mut Kept<H>) -> Self {
        let headers = of_site.overridden_by(&route.headers);
        let request_headers = of_requests.followed_by(&route.request_headers);
        let mut number = |handler| {
            kept.handlers.push(handler);
            kept.handlers.len() - 1
        };
        let answering = route.answering.map(&mut number);
        let Route { path: pattern, methods, mut conditions, mark, internal, rewrite, .. } = route;
        let expression = conditions.path.take();
        let captured = Captured::of(expression.as_ref());
        let rewriting = rewrite.map(|target| Box::new(Rewriting { target, captured: captured.clone() }));
        let take = |outcome: Outcome| RouteStep::Take(VariableOutcome::of(outcome, &request_headers, &captured));
        let step = match route.action {
            Action::Handle(handler) => take(Outcome::Handle { handler: number(handler), headers }),
            Action::Try(handler) => take(Outcome::Try { handler: number(handler), headers }),
            Action::Redirect(redirect) => take(Outcome::Redirect { redirect, headers }),
            Action::Respond(response) => match headers.has_variables() || response.has_variables() {
                false => {
                    kept.responses.push(response.with_headers(&headers));
                    RouteStep::Take(Outcome::Respond(kept.responses.len() - 1))
                }
                true => RouteStep::Take(VariableOutcome::of_response(response, headers, captured.clone())),
            },
            Action::Rewrite(target) if target.has_variables() => {
                RouteStep::Rewrite(Box::new(Rewriting { target, captured: captured.clone() }))
            }
            Action::Rewrite(target) => RouteStep::GoOn(target),
            Action::Restart(target) => RouteStep::Restart(Box::new(Rewriting { target, captured: captured.clone() })),
        };
        let step = match (mark, step) {
            (Some(mark), step @ RouteStep::Take(_)) => {
                RouteStep::Marked(Box::new(Marked::new(mark, step, captured.clone())))
            }
            (_, step) => step,
        };
        let step = match conditions.is_empty() {
            true => step,
            false => RouteStep::If(Box::new(Conditional::new(conditions, captured, step))),
        };
        Self { pattern, expression, methods, name: None, internal, rewriting, step, answering }
    }

    /// How messages name it.
    fn shown(&self) -> String {
        self.expression.as_ref().map_or_else(|| self.pattern.to_string(), |expression| expression.as_str().to_owned())
    }

    /// Whether a path matches; that of a sample need not match an expression.
    #[inline]
    fn matches(&self, path: &[u8], is_sample: bool) -> bool {
        self.pattern.matches(path)
            && (is_sample || self.expression.as_ref().is_none_or(|expression| expression.matches(path)))
    }
}

/// As many as nginx's rewrites start a request again.
const MAX_RESTARTS: u8 = 10;

/// How many redirects in a row browsers follow (WHATWG Fetch §4.4).
const MAX_REDIRECTS: usize = 20;

/// Longer than servers take; keeps a destination that names the path several times from growing without end.
const MAX_SAMPLE_LENGTH: usize = 64 * 1024;

#[cfg(test)]
mod tests;
