//! The parts of a router, as they are written: sites, their routes, and the actions of routes.

use crate::{
    conditions::Conditions, fixed_response::FixedResponse, header_changes::HeaderChanges, host_pattern::HostPattern,
    methods::Methods, path_pattern::PathPattern, redirect::Redirect, rewrite::RewriteTarget,
};

/// A web site: the routes of some hosts.
///
/// ```
/// use serow_message::{Request, Response};
/// use serow_router::{Action, HeaderChanges, Route, Site};
///
/// async fn hello(_: Request) -> Response {
///     Response::text("Hello!")
/// }
///
/// let site = Site {
///     hosts: vec!["example.com".parse()?, "*.example.com".parse()?],
///     headers: HeaderChanges::new([("X-Frame-Options", "DENY")])?,
///     ..Site::new(vec![Route::new("/*".parse()?, Action::Handle(hello))])
/// };
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Site<H> {
    /// The hosts it answers for. None: all that no other site has.
    pub hosts: Vec<HostPattern>,
    /// Changes to the header of every response, those for missing paths included.
    pub headers: HeaderChanges,
    /// Changes to the header of every request that a handler gets.
    pub request_headers: HeaderChanges,
    /// The routes, of which the first that fits a request takes it; none: 404.
    pub routes: Vec<Route<H>>,
    /// The number to note in the [`RouteNote`] of a request that no route takes.
    ///
    /// [`RouteNote`]: serow_message::RouteNote
    pub number: Option<u32>,
}

impl<H> Site<H> {
    /// A site for all hosts that no other site has.
    #[must_use]
    pub fn new(routes: Vec<Route<H>>) -> Self {
        let (headers, request_headers) = Default::default();
        Self { hosts: Vec::new(), headers, request_headers, routes, number: None }
    }
}

/// A route: some paths, and the action for them.
#[derive(Clone, Debug)]
pub struct Route<H> {
    /// Which paths.
    pub path: PathPattern,
    /// Which methods.
    pub methods: Methods,
    /// Conditions that a request must meet besides. One that does not goes on to the routes behind this one.
    pub conditions: Conditions,
    /// Changes to the header of every response of this route; they take precedence over the site's changes to the same
    /// field. None for [`Action::Rewrite`], which makes no response.
    pub headers: HeaderChanges,
    /// Changes to the header of the requests that the handler gets, after those of the site. None for [`Action::Try`],
    /// since the routes behind it may get the request as well.
    pub request_headers: HeaderChanges,
    /// By which scripts choose it: see [`Router::route_named`](crate::Router::route_named). Several may have the same.
    pub name: Option<Box<str>>,
    /// The note of a request that the route takes; none for [`Action::Rewrite`], which takes no requests.
    pub mark: Option<RouteMark>,
    /// Whether only requests that [`Action::Restart`] has led here, or [`Router::route_inside`](crate::Router::route_inside),
    /// come to it.
    pub internal: bool,
    /// The path that the handler of [`Action::Handle`] or [`Action::Try`] gets in place of that of the request; routes
    /// behind an attempt get the request as it was.
    pub rewrite: Option<RewriteTarget>,
    /// The action.
    pub action: Action<H>,
    /// The handler that passes on what [`Action::Redirect`] or [`Action::Respond`] answers; nothing for other actions, and
    /// where the answer is the response. See [`Routed::Answer`](crate::Routed::Answer).
    pub answering: Option<H>,
}

/// The note of a route in the [`RouteNote`](serow_message::RouteNote) of a request that it takes, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteMark {
    /// Its number.
    pub number: u32,
    /// Whether the texts that its stars or groups match are noted as well.
    pub has_captures: bool,
}

impl<H> Route<H> {
    /// A route for all methods and without other conditions, which changes no header.
    #[must_use]
    pub fn new(path: PathPattern, action: Action<H>) -> Self {
        let (methods, conditions, headers, request_headers) = Default::default();
        let (name, mark, rewrite, answering) = (None, None, None, None);
        Self {
            path,
            methods,
            conditions,
            headers,
            request_headers,
            name,
            mark,
            internal: false,
            rewrite,
            action,
            answering,
        }
    }
}

/// The action of a route for a request.
#[derive(Clone, Debug)]
pub enum Action<H> {
    /// A handler answers it.
    Handle(H),
    /// A handler answers it if it can, as a folder does that has the file; otherwise it goes on to the routes behind this
    /// one. Only requests with GET and HEAD. See [`Router::route`](crate::Router::route).
    Try(H),
    /// The client is sent elsewhere.
    Redirect(Redirect),
    /// The answer is always the same.
    Respond(FixedResponse),
    /// It goes on with another path to the routes behind this one, so there are no loops. Its query is kept, unless the
    /// target has one.
    Rewrite(RewriteTarget),
    /// It goes on with another path to all routes of the site, from the first one on, internal ones included: at most
    /// ten times, then the answer is 500 with a [`RewriteLoop`](crate::RewriteLoop).
    Restart(RewriteTarget),
}
