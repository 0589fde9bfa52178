//! Groups of settings that the command line and the settings file share. Each group is one struct, read by clap from
//! options and by serde from the keys of a table, so a setting has one name, one default, one explanation and one set
//! of values. `settings.rs` finds out what they mean.

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

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use clap::{Args, Command, ValueEnum};

use crate::values::{Unquoted, choice};

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

/// The options of an empty command line; settings files have the same defaults.
pub fn without_options<T: Args + Clone + Any + Send>() -> T {
    // Reading them takes long beside what a file with thousands of sites does with them.
    static READ: Mutex<BTreeMap<TypeId, Box<dyn Any + Send>>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let known = read.get(&TypeId::of::<T>()).and_then(|options| options.downcast_ref::<T>());
    known.cloned().unwrap_or_else(|| {
        let command = T::augment_args(Command::new("serow").no_binary_name(true));
        let matches = command.try_get_matches_from([""; 0]);
        let options = matches.and_then(|matches| T::from_arg_matches(&matches)).expect("every option can be left out");
        read.insert(TypeId::of::<T>(), Box::new(options.clone()));
        options
    })
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// It is done.
    #[value(help = None)]
    On,
    /// It is not.
    #[value(help = None)]
    Off,
}

choice!(Switch, "Switch", Unquoted::Switches);

impl Switch {
    /// Whether it is done.
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}
