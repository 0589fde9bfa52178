//! What a router is made of, as it is written: sites, their routes, and what a route does.

use crate::{
    conditions::Conditions, fixed_response::FixedResponse, header_changes::HeaderChanges, host_pattern::HostPattern,
    methods::Methods, path_pattern::PathPattern, redirect::Redirect, rewrite::RewriteTarget,
};

/// A web site: what is answered under some hosts.
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
    /// What is changed in the header of every response, those for missing paths included.
    pub headers: HeaderChanges,
    /// What is changed in the header of every request that a handler gets.
    pub request_headers: HeaderChanges,
    /// What is done with which path. The first that fits counts; none: 404.
    pub routes: Vec<Route<H>>,
    /// What is noted in the [`RouteNote`] of a request that no route takes.
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

/// What is done with some paths.
#[derive(Clone, Debug)]
pub struct Route<H> {
    /// Which paths.
    pub path: PathPattern,
    /// Which methods.
    pub methods: Methods,
    /// What else a request must be. One that is not goes on to the routes behind this one.
    pub conditions: Conditions,
    /// What is changed in the header of every response of this route; it goes before what the site says of the same
    /// field. Nothing for [`Action::Rewrite`], which makes no response.
    pub headers: HeaderChanges,
    /// What is changed in the header of the requests that the handler gets, after what the site changes. Nothing for
    /// [`Action::Try`], since the routes behind it may get the request as well.
    pub request_headers: HeaderChanges,
    /// By which scripts choose it: see [`Router::route_named`](crate::Router::route_named). Several may have the same.
    pub name: Option<Box<str>>,
    /// What is noted of a request that the route takes; nothing for [`Action::Rewrite`], which takes none.
    pub mark: Option<RouteMark>,
    /// What is done.
    pub action: Action<H>,
    /// The handler that passes on what [`Action::Redirect`] or [`Action::Respond`] answers; nothing for other actions, and
    /// where the answer is the response. See [`Routed::Answer`](crate::Routed::Answer).
    pub answering: Option<H>,
}

/// What a route notes in the [`RouteNote`](serow_message::RouteNote) of a request that it takes, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteMark {
    /// Its number.
    pub number: u32,
    /// Whether what its stars or groups match is noted as well.
    pub has_captures: bool,
}

impl<H> Route<H> {
    /// A route for all methods and without other conditions, which changes no header.
    #[must_use]
    pub fn new(path: PathPattern, action: Action<H>) -> Self {
        let (methods, conditions, headers, request_headers) = Default::default();
        let (name, mark, answering) = (None, None, None);
        Self { path, methods, conditions, headers, request_headers, name, mark, action, answering }
    }
}

/// What is done with a request.
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
}
