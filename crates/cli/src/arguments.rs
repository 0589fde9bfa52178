//! The options of the commands, as clap reads them. Those that a settings file can have too are in
//! [`serow_config::options`].

mod acme;
mod admin;
mod app;
mod ban;
#[cfg(feature = "bench")]
mod bench;
mod cache;
mod completions;
mod config;
mod files;
mod fleet;
mod import;
mod init;
mod maintenance;
mod man;
mod password;
mod proxy;
mod purge;
mod reload;
mod route;
mod run;
mod settings_file;
mod stop;
mod supervise;
mod upstream_command;
#[cfg(feature = "bench")]
mod waterfall;

pub(crate) use self::{
    acme::{AcmeArguments, AcmeCommand, CertificateNameArguments, RenewArguments},
    admin::{AdminClientArguments, ServerStatusArguments, StatusArguments},
    app::AppArguments,
    ban::{BanAddArguments, BanArguments, BanListArguments, BanRemoveArguments, BanSubcommand},
    cache::{CacheArguments, CacheOrderChoice},
    completions::{CompleteArguments, CompletionsArguments, Shell},
    config::{
        ConfigArguments, ConfigDeleteArguments, ConfigGetArguments, ConfigListArguments, ConfigPutArguments,
        ConfigSubcommand,
    },
    files::FilesArguments,
    fleet::FleetArguments,
    import::ImportArguments,
    init::InitArguments,
    maintenance::{MaintenanceArguments, MaintenanceOffArguments, MaintenanceOnArguments, MaintenanceSubcommand},
    man::ManArguments,
    password::PasswordArguments,
    proxy::ProxyArguments,
    purge::PurgeArguments,
    reload::ReloadArguments,
    route::{RouteAddArguments, RouteArguments, RouteListArguments, RouteRemoveArguments, RouteSubcommand},
    run::RunArguments,
    settings_file::{CheckArguments, DEFAULT_SETTINGS_FILE, SettingsFileArguments},
    stop::StopArguments,
    supervise::{SuperviseArguments, SupervisorFiles},
    upstream_command::{ServerChangeArguments, UpstreamCommand, UpstreamCommandArguments, UpstreamListArguments},
};
#[cfg(feature = "bench")]
pub(crate) use self::{
    bench::{
        BenchArguments, BenchCommand, ConnectionArguments, LoadArguments, ReportArguments, RequestArguments,
        ServerArguments,
    },
    waterfall::WaterfallArguments,
};
