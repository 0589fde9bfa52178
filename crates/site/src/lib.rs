//! What the requests of a server reach, and serving it.
//!
//! [`serve`] is the only place where the server's code is compiled for a handler: the commands of the program share one
//! copy of it, which this crate optimises for speed, whatever the crates that read options and settings are optimised
//! for.
//!
//! | subject | file |
//! | --- | --- |
//! | folder, application or proxy; one of them, or sites with routes | `route_handler.rs`, `site_handler.rs` |
//! | sites with addresses of their own | `sites_by_address.rs` |
//! | what a site or a route does around its handler: compression, error pages, CORS, security headers, limits of bodies, bandwidth | `policy.rs`, `policy/` |
//! | routes that only responses lead to: X-Accel-Redirect, X-Sendfile | `internal_routes.rs`, `internal_redirects.rs` |
//! | the future of a response | `site_response.rs` |
//! | stored responses, and requests that share one that is arriving | `cache.rs`, `cache/` |
//! | copies of requests for another upstream | `mirror.rs`, `mirror/` |
//! | scripts around routes, sites and the whole server | `scripts.rs`, `site_scripts.rs`, `per_thread.rs` |
//! | maintenance | `maintenance.rs` |
//! | around it: redirects to TLS, HSTS | `to_tls.rs`, `strict_transport.rs` |
//! | serving until the server is stopped | `serving.rs` |
#![forbid(unsafe_code)]

mod cache;
mod chosen_route;
mod internal_redirects;
mod internal_routes;
mod maintenance;
mod mirror;
mod per_thread;
mod policy;
mod route_handler;
mod scripts;
mod serving;
mod site_handler;
mod site_response;
mod site_scripts;
mod sites_by_address;
mod strict_transport;
mod to_tls;

pub use self::{
    cache::{
        CacheBypass, CacheFolder, CacheReport, CacheSettings, CacheStore, CacheWriter, ContentsLine, ContentsOrder,
        DiskCounts, FolderError, IgnoredQuery, PurgingClients, ResponseCache, RouteCache, StatusField, prepare_folder,
    },
    internal_routes::{InternalRoot, InternalRoutes},
    maintenance::{Maintenance, MaintenanceSwitch},
    mirror::{Mirror, MirrorReport, MirrorSettings},
    policy::{
        BasicUsers, ClientCertificates, ClientRequests, Compression, Cors, ErrorPage, ErrorPages, ForwardAuth,
        ForwardAuthSettings, Guard, IdentityChecks, LoginCheck, Rate, RateLimit, RateLimitCounts, RefusedAddresses,
        RoutePolicy, Satisfy, TokenPlace, Tokens,
    },
    route_handler::{Cached, Following, Mirrored, RouteHandler, Scripted, Surrounded},
    scripts::{ScriptedSite, Scripts},
    serving::{TlsPolicy, serve},
    site_handler::{Site, SitePolicies},
    site_scripts::SiteScripts,
    sites_by_address::SitesByAddress,
    to_tls::Redirected,
};
