//! Groups of settings of [Serow](https://serow.example) that the command line and the settings file share.
//!
//! Each group is one struct, read by clap from options and by serde from the keys of a table, so a setting has one name, one
//! default, one explanation and one set of values. The crate `serow-config` has the other keys of the settings file, and
//! checks them all; the crate `serow-assembly` makes the running parts.
//!
//! | subject | file |
//! | --- | --- |
//! | listeners, TLS, certificates by ACME, versions of HTTP | `listening.rs`, `tls.rs`, `acme.rs`, `http.rs` |
//! | access logs and the error log | `access_log.rs`, `logging.rs` |
//! | the admin endpoint; limits and timeouts | `admin.rs`; `limits.rs`, `timeouts.rs` |
//! | files | `content.rs`, `caching.rs` |
//! | applications | `application.rs` |
//! | requests to other servers | `forwarding.rs`, `upstream.rs`, `balancing.rs`, `health.rs`, `retries.rs`, `sticky.rs` |
#![forbid(unsafe_code)]
#![allow(rustdoc::bare_urls, reason = "explanations of keys are texts of the reference, with URLs as users write them")]

mod access_log;
mod acme;
mod admin;
mod application;
mod balancing;
mod caching;
mod content;
mod forwarding;
mod health;
mod http;
mod limits;
mod listening;
mod logging;
mod retries;
mod sticky;
mod timeouts;
mod tls;
mod upstream;

use clap::Args;

/// The options of an empty command line, and a switch among them.
pub use serow_document::{values::Switch, without_options};

pub use self::{
    access_log::{AccessLogChoice, KeptStatuses, LogDestination, LogFormat, LogTable},
    acme::{AcmeOptions, KeyChoice},
    admin::AdminOptions,
    application::{ApplicationOptions, BindChoice, InterfaceChoice},
    balancing::{BalanceChoice, BalancingOptions},
    caching::CachingOptions,
    content::{ContentOptions, ListingChoice, SymlinksChoice, WriteChoice},
    forwarding::{ForwardedChoice, ForwardingOptions},
    health::{CheckChoice, CheckStartChoice, HealthOptions},
    http::{HttpOptions, VersionsOfHttp},
    limits::LimitOptions,
    listening::ListeningOptions,
    logging::{LevelChoice, LoggingOptions},
    retries::RetryOptions,
    sticky::{StickyChoice, StickyOptions, StickyValueChoice},
    timeouts::TimeoutOptions,
    tls::{CertificateChoice, ClientChoice, TlsOptions, UnknownNameChoice, VersionsChoice},
    upstream::{
        SendProxyChoice, UpstreamConnectionOptions, UpstreamOptions, UpstreamTimeoutOptions, UpstreamTlsOptions,
    },
};

/// The options of a folder.
#[derive(Clone, Debug, Args)]
pub struct FolderOptions {
    /// The files that are served, and how.
    #[command(flatten)]
    pub content: ContentOptions,
    /// How responses and open files are cached.
    #[command(flatten)]
    pub caching: CachingOptions,
}

/// The options of the server as a whole; in a settings file, the keys at the root.
#[derive(Clone, Debug, Args)]
pub struct GeneralOptions {
    /// The listeners.
    #[command(flatten)]
    pub listening: ListeningOptions,
    /// TLS with clients.
    #[command(flatten)]
    pub tls: TlsOptions,
    /// Certificates by ACME.
    #[command(flatten)]
    pub acme: AcmeOptions,
    /// The versions of HTTP.
    #[command(flatten)]
    pub http: HttpOptions,
    /// The access log and the error log.
    #[command(flatten)]
    pub logging: LoggingOptions,
    /// The admin endpoint.
    #[command(flatten)]
    pub admin: AdminOptions,
    /// Limits of connections and requests.
    #[command(flatten)]
    pub limits: LimitOptions,
    /// Timeouts of clients.
    #[command(flatten)]
    pub timeouts: TimeoutOptions,
}
