//! The options of the commands, as they are written. What they mean is found out in `settings.rs`.

mod admin;
mod application;
mod balancing;
mod bench;
mod caching;
mod content;
mod forwarding;
mod health;
mod http;
mod limits;
mod listening;
mod logging;
mod proxy;
mod retries;
mod run;
mod settings_file;
mod sticky;
mod stop;
mod supervise;
mod timeouts;
mod tls;
mod upstream;
mod upstream_command;
mod waterfall;

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use clap::{Args, Command, ValueEnum};

use crate::written::{Bare, word};

pub(crate) use self::{
    admin::{AdminArguments, AdminSocketArguments, StatusArguments},
    application::{AppArguments, ApplicationArguments, BindArgument, InterfaceArgument},
    balancing::{BalanceArgument, BalancingArguments},
    bench::{
        BenchArguments, BenchCommand, ConnectionArguments, LoadArguments, ReportArguments, RequestArguments,
        ServerArguments,
    },
    caching::CachingArguments,
    content::{ContentArguments, ListingArgument, SymlinksArgument},
    forwarding::{ForwardedArgument, ForwardingArguments},
    health::{CheckArgument, CheckStartArgument, HealthArguments},
    http::{HttpArguments, VersionsOfHttp},
    limits::LimitArguments,
    listening::ListeningArguments,
    logging::{LevelArgument, LogArgument, LoggingArguments},
    proxy::ProxyArguments,
    retries::RetryArguments,
    run::RunArguments,
    settings_file::{CheckArguments, SettingsFileArguments},
    sticky::{StickyArgument, StickyArguments, StickyValueArgument},
    stop::StopArguments,
    supervise::{SuperviseArguments, SupervisorFiles},
    timeouts::TimeoutArguments,
    tls::{CertificateArgument, ClientArgument, TlsArguments, VersionsArgument},
    upstream::{
        SendProxyArgument, UpstreamArguments, UpstreamConnectionArguments, UpstreamTimeoutArguments,
        UpstreamTlsArguments,
    },
    upstream_command::{ServerChangeArguments, UpstreamCommand, UpstreamCommandArguments, UpstreamListArguments},
    waterfall::WaterfallArguments,
};

/// The options of `serow files`.
#[derive(Debug, Args)]
pub(crate) struct FilesArguments {
    /// The folder to serve.
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) folder: FolderArguments,
    #[command(flatten)]
    pub(crate) general: GeneralArguments,
}

/// What is about a folder.
#[derive(Clone, Debug, Args)]
pub(crate) struct FolderArguments {
    #[command(flatten)]
    pub(crate) content: ContentArguments,
    #[command(flatten)]
    pub(crate) caching: CachingArguments,
}

/// What is about the server as a whole; in a settings file, the keys at the root.
#[derive(Clone, Debug, Args)]
pub(crate) struct GeneralArguments {
    #[command(flatten)]
    pub(crate) listening: ListeningArguments,
    #[command(flatten)]
    pub(crate) tls: TlsArguments,
    #[command(flatten)]
    pub(crate) http: HttpArguments,
    #[command(flatten)]
    pub(crate) logging: LoggingArguments,
    #[command(flatten)]
    pub(crate) admin: AdminArguments,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    #[command(flatten)]
    pub(crate) timeouts: TimeoutArguments,
}

/// The options as they are without a word; settings files have the same defaults.
pub(crate) fn without_options<T: Args + Clone + Any + Send>() -> T {
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

/// Something that is done or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// It is done.
    #[value(help = None)]
    On,
    /// It is not.
    #[value(help = None)]
    Off,
}

word!(Switch, "Switch", Bare::Switches);

impl Switch {
    /// Whether it is done.
    pub(crate) fn is_on(self) -> bool {
        self == Self::On
    }
}
