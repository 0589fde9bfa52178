//! Which handler answers a request: sites by host, routes by path.
//!
//! ```
//! use serow_message::{Handler, Request, Response};
//! use serow_router::{Action, FixedResponse, Redirect, Route, Router, Site};
//!
//! async fn page(request: Request) -> Response {
//!     Response::text(format!("This is {}\n", request.target.path()))
//! }
//!
//! let router = Router::new(vec![
//!     Site {
//!         hosts: vec!["example.com".parse()?, "*.example.com".parse()?],
//!         ..Site::new(vec![
//!             Route::new("/healthz".parse()?, Action::Respond(FixedResponse::new(204)?)),
//!             Route::new("/old/*".parse()?, Action::Redirect(Redirect::new("/new/*", 301)?)),
//!             Route::new("/icon/*".parse()?, Action::Rewrite("/static/*.png".parse()?)),
//!             Route::new("/*".parse()?, Action::Handle(page)),
//!         ])
//!     },
//! ])?;
//! # let answer = async move {
//! let mut request = Request::get("/old/news?page=2");
//! request.headers.append("host", "www.example.com").unwrap();
//! let response = router.call(request).await;
//! assert_eq!(response.status, 301);
//! assert_eq!(response.headers.get_str("location"), Some("/new/news?page=2"));
//! # };
//! # let mut answer = std::pin::pin!(answer);
//! # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
//! # assert!(std::future::Future::poll(answer.as_mut(), &mut context).is_ready());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Life of a request
//!
//! | step | file |
//! | --- | --- |
//! | the host selects the site; without one, the response is 421 (RFC 9110 §15.5.20) | `site_index.rs`, `host_name.rs` |
//! | sites that others replace one by one are found in a table | `host_table.rs` |
//! | the path is cleaned; an invalid path gets 400 | the crate `serow-variables` |
//! | an index leaves out routes whose paths cannot match | `route_index.rs` |
//! | the first route that matches handles it; if none matches, the response is 404, or 405 with Allow if only the method does not match | `routes.rs` |
//! | a route can have conditions: fields, cookies, arguments, networks, files; a request that does not meet them continues with the next routes | `conditions.rs`, `file_conditions.rs` |
//! | a rewrite continues with another path, and may start again with the first route | `rewrite.rs`, `rewriting.rs`, `routed_path.rs` |
//! | a handler that cannot answer, such as a folder without the file, leaves the request to the next routes | `router.rs`, `table.rs` |
//! | a redirect, a fixed response or a handler responds | `redirect.rs`, `fixed_response.rs`, `router.rs` |
//! | the headers of site and route are set, in the response and in the request for the handler | `header_changes.rs`, `header_rule.rs` |
//! | a note is made of the route, for the access log | `marked.rs` |
//! | where one of these names variables, their values are filled in | `variable_outcome.rs` |
//!
//! # Hosts
//!
//! A site that names the host exactly takes precedence over one that matches it with `*`; among those, the longest
//! name wins. A site without hosts handles all other hosts. A lookup costs the same for ten sites as for a thousand.
//!
//! # Paths
//!
//! Routes see the path as nginx's locations do: decoded once (an encoded slash becomes a slash), repeated slashes
//! merged, `.` and `..` resolved. So `/admin/*` also matches `/%61dmin/x`, `//admin/x` and `/x/../admin/x`, and no other
//! spelling of a path bypasses a route. A path that climbs above the root, contains NUL or has invalid percent-encoding
//! gets 400. Case matters, and `/admin/*` does not match `/admin`. The query is not a part of the path.
//!
//! A handler gets the target as it came, unless it was rewritten: so it must not take `..` or `%2F` for more than the
//! router did, which `serow-files` refuses. `OPTIONS *` is routed as `/`; CONNECT to another server is answered with
//! 501.
//!
//! # Costs
//!
//! Routes are tried in their order, without those that cannot match: of many routes, an index finds the few whose literal
//! parts the path contains, in paths as in expressions. A lookup costs nearly the same for ten routes as for 100,000,
//! unless many routes have the same path, or expressions without any literal, such as `^/[0-9]+$`.
//!
//! Routing does not allocate for a request that is neither rewritten nor redirected,
//! except for a path that must be cleaned and has more than 512 bytes, for a 405, for headers that are set in the
//! response of a handler, and for variables. Conditions do not allocate.
#![forbid(unsafe_code)]

mod conditions;
mod conflicts;
mod error;
mod file_conditions;
mod fixed_response;
mod header_changes;
mod header_rule;
mod host_name;
mod host_pattern;
mod host_patterns;
mod host_table;
mod marked;
mod methods;
mod networks;
mod path_pattern;
#[cfg(test)]
mod random_routes;
mod redirect;
mod response_rewriting;
mod rewrite;
mod rewriting;
mod route_index;
mod route_paths;
mod routed_path;
mod router;
mod routes;
mod site;
mod site_index;
mod table;
mod url;
mod variable_outcome;

pub use self::{
    conditions::Conditions,
    error::RouterError,
    file_conditions::{FileConditions, InvalidFile},
    fixed_response::{FixedResponse, InvalidResponse},
    header_changes::{ChangeProblem, HeaderChanges, InvalidChange},
    header_rule::{HeaderOperation, HeaderRule, RuleSubject},
    host_pattern::{HostPattern, InvalidHost},
    host_patterns::HostPatterns,
    host_table::HostTable,
    methods::{InvalidMethod, Methods},
    networks::Networks,
    path_pattern::{InvalidPath, PathPattern},
    redirect::{InvalidRedirect, Redirect},
    response_rewriting::{
        CookieFlags, FilledRewriting, InvalidFlag, NamePattern, ResponseRewriting, RewritePattern, RewriteRule,
        ends_with_host,
    },
    rewrite::{InvalidRewrite, RewriteLoop, RewriteTarget},
    route_paths::{RoutePaths, UndecidedPaths},
    router::{Routed, Router},
    site::{Action, Route, RouteMark, Site},
    site_index::check_hosts,
    table::HostsElsewhere,
};
