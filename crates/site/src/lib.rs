//! The handlers that the requests of a server reach, and the start of a server with them.
//!
//! [`start`] is the only place where the server's code is compiled for a handler: the commands of the program share one
//! copy of it, which this crate optimises for speed, whatever the crates that read options and settings are optimised
//! for.
//!
//! | subject | file |
//! | --- | --- |
//! | the request as it was received, and as all parts see it | `received_request.rs` |
//! | the handler of a server; its sites, and the policies of sites | `site_handler.rs`, `sites.rs`, `site_policies.rs` |
//! | sites that are replaced while the server serves | `live_sites.rs` |
//! | one route; the response to a request that was routed | `route_handler.rs`, `routed_response.rs`, `chosen_route.rs` |
//! | folder, application or proxy | `content.rs`, `application.rs` |
//! | the phases of a request, in their order | `phases.rs` |
//! | sites with addresses of their own; sites that are exchanged one by one | `sites_by_address.rs`, `sites_by_host.rs` |
//! | what the log says where no site or route takes a request | `refusals.rs` |
//! | what would become of a request, in words | `examination.rs` |
//! | what a site or a route does around its handler: compression, error pages, CORS, security headers, limits of bodies, bandwidth | `policy.rs`, `policy/` |
//! | routes that only responses lead to: X-Accel-Redirect, X-Sendfile | `internal_routes.rs`, `internal_redirects.rs` |
//! | error pages that routes make | `error_routes.rs` |
//! | the future of a response | `site_response.rs` |
//! | stored responses, and requests that share one that is arriving | `cache.rs`, `cache/` |
//! | copies of requests for another upstream | `mirror.rs`, `mirror/` |
//! | scripts around routes, sites and the whole server | `scripts.rs`, `site_scripts.rs`, `per_thread.rs` |
//! | maintenance | `maintenance.rs` |
//! | the routes in metrics | `counted_route.rs` |
//! | around it: redirects to TLS, HSTS | `to_tls.rs`, `strict_transport.rs` |
//! | serving until the server is stopped | `serving.rs` |
#![forbid(unsafe_code)]

mod application;
mod cache;
mod chosen_route;
mod content;
mod counted_route;
mod error_routes;
mod examination;
mod internal_redirects;
mod internal_routes;
mod live_sites;
mod maintenance;
mod mirror;
mod per_thread;
mod phases;
mod policy;
mod received_request;
mod refusals;
mod route_handler;
mod routed_response;
mod scripts;
mod serving;
mod site_handler;
mod site_policies;
mod site_response;
mod site_scripts;
mod sites;
mod sites_by_address;
mod sites_by_host;
mod strict_transport;
mod to_tls;

pub use self::{
    application::Application,
    cache::{
        CacheBypass, CacheFolder, CacheReport, CacheSettings, CacheStore, CacheWriter, ContentsLine, ContentsOrder,
        DiskCounts, FolderError, IgnoredQuery, PurgingClients, ResponseCache, RouteCache, StatusField, prepare_folder,
    },
    content::Content,
    counted_route::CountedRoute,
    error_routes::{PageStatus, PageTarget, RoutedPage},
    examination::{Finding, connection_to},
    internal_routes::{InternalRoot, InternalRoutes},
    live_sites::LiveSites,
    maintenance::{Maintenance, MaintenanceSwitch},
    mirror::{Mirror, MirrorReport, MirrorSettings},
    phases::PhaseSettings,
    policy::{Compression, Cors, ErrorPage, ErrorPages, Page, Rate, RoutePolicy},
    route_handler::RouteHandler,
    scripts::{ScriptedSites, Scripts},
    serving::{handler, start},
    site_handler::ClientAdmission,
    site_policies::SitePolicies,
    site_scripts::SiteScripts,
    sites::Sites,
    sites_by_address::SitesByAddress,
    sites_by_host::{SiteOfHosts, SitesByHost},
    to_tls::{Redirected, TlsPolicy},
};
