//! The options of the commands, as they are written. What they mean is found out in `settings.rs`.

mod admin;
mod bench;
mod caching;
mod content;
mod http;
mod limits;
mod listening;
mod logging;
mod supervise;
mod timeouts;
mod tls;
mod waterfall;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(crate) use self::{
    admin::{AdminArguments, StatusArguments},
    bench::{
        BenchArguments, BenchCommand, ConnectionArguments, LoadArguments, ReportArguments, RequestArguments,
        ServerArguments,
    },
    caching::CachingArguments,
    content::{ContentArguments, ListingArgument, SymlinksArgument},
    http::{HttpArguments, VersionsOfHttp},
    limits::LimitArguments,
    listening::ListeningArguments,
    logging::{LevelArgument, LogArgument, LogFormatArgument, LoggingArguments},
    supervise::{SuperviseArguments, SupervisorFiles},
    timeouts::TimeoutArguments,
    tls::{CertificateArgument, ClientArgument, TlsArguments, VersionsArgument},
    waterfall::WaterfallArguments,
};

/// The options of `serow files`.
#[derive(Debug, Args)]
pub(crate) struct FilesArguments {
    /// The folder to serve.
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
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
    pub(crate) content: ContentArguments,
    #[command(flatten)]
    pub(crate) caching: CachingArguments,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    #[command(flatten)]
    pub(crate) timeouts: TimeoutArguments,
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

impl Switch {
    /// Whether it is done.
    pub(crate) fn is_on(self) -> bool {
        self == Self::On
    }
}
