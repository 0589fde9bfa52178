//! The root of a settings file.

use std::{path::PathBuf, time::Duration};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    options::{AcmeOptions, GeneralOptions, without_options},
    tables::{
        FromTable, TableReading, access::LimitTable, cache::CacheTable, docker::DockerTable, maps::MapTable,
        redis::RedisTable, sites::SiteTable, upstreams::UpstreamTable,
    },
    values::{AccountName, Size, Span, choice},
};

/// The root, as it is written.
#[derive(Debug)]
pub struct RootTable {
    /// The user and the group of the server.
    pub account: AccountTable,
    /// Whether the server is restricted to the files that it needs.
    pub sandbox: SandboxTable,
    /// How a reload replaces the server.
    pub reload: ReloadTable,
    /// The requests of which routes are counted.
    pub metrics: MetricsTable,
    /// Scripts in Lua.
    pub scripts: ScriptsTable,
    /// Keys that are options of the command line, too.
    pub general: GeneralOptions,
    /// `[cache]`.
    pub cache: Option<CacheTable>,
    /// `[[map]]`.
    pub maps: Vec<MapTable>,
    /// `[redis]`.
    pub redis: Option<RedisTable>,
    /// `[docker]`.
    pub docker: Option<DockerTable>,
    /// `[[limit]]`.
    pub limits: Vec<LimitTable>,
    /// `[[upstream]]`.
    pub upstreams: Vec<UpstreamTable>,
    /// `[[site]]`.
    pub sites: Vec<SiteTable>,
}

/// Which files belong to the settings, too.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct IncludeTable {
    /// Files with further `[[site]]`, `[[upstream]]` and `[[map]]`: ["sites/*.toml"]. A * stands for any text in a name.
    ///
    /// The files of a pattern are sorted by name. Their paths are relative to the file that includes them; all other
    /// paths are relative to the folder of the main settings file. A reload reads them again.
    pub include: Vec<String>,
}

/// As whom the server serves.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct AccountTable {
    /// User that the server runs as, after it has opened its sockets and read its keys: a name or a number [default:
    /// the user who starts it]
    ///
    /// Changing it requires root. The user needs read permission for the served files.
    pub user: Option<AccountName>,

    /// Group that the server runs as: a name or a number [default: the groups of the user]
    pub group: Option<AccountName>,
}

/// Which files the server can open.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct SandboxTable {
    /// Whether the server restricts itself with Landlock to the files that it needs, if the kernel supports it.
    ///
    /// auto: yes, unless there are applications or the access log runs a command, since these need files of their
    /// own; serow status shows the result. off: the server may open all files that its user may open.
    pub sandbox: SandboxChoice,
}

impl Default for SandboxTable {
    fn default() -> Self {
        Self { sandbox: SandboxChoice::Auto }
    }
}

/// Whether the server restricts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SandboxChoice {
    /// Where that is possible.
    #[value(help = None)]
    Auto,
    /// Never.
    #[value(help = None)]
    Off,
}

choice!(SandboxChoice, "Sandbox");

/// The metrics of routes.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct MetricsTable {
    /// Count how long the requests of each route take, for metrics.
    ///
    /// GET /metrics on the admin socket then has the histogram serow_request_duration_seconds, with the first host of the
    /// site and the path of the route as labels; both are empty for responses that no app, files or proxy made. Routes
    /// beyond the first 1,000 count there, too.
    pub route_metrics: bool,
}

/// Scripts around all sites, and what all scripts may use.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct ScriptsTable {
    /// Script in Lua that gets all requests before a site is selected, and their responses.
    ///
    /// The path is relative to the folder of the settings file. docs/scripts.md says what scripts can do.
    pub script: Option<PathBuf>,

    /// Limits of each script: { memory = "16M", time = "50ms" } [default: these]
    pub scripts: Option<ScriptLimitsTable>,
}

/// The resources that a script may use.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ScriptLimitsTable {
    /// Memory of a script in each thread, for all its requests [default: 16M]
    pub memory: Option<Size>,

    /// How long the functions of a script may compute for a request; waiting does not count [default: 50ms]
    pub time: Option<Span>,
}

/// How generations follow one another.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct ReloadTable {
    /// How long a generation that was replaced by a reload may complete its requests; then it closes the remaining
    /// connections.
    ///
    /// Large downloads take long on slow connections, and tunnels (WebSocket) may never end.
    pub reload_grace: Span,
}

impl Default for ReloadTable {
    fn default() -> Self {
        Self { reload_grace: Span(Duration::from_secs(3600)) }
    }
}

impl FromTable for AcmeOptions {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        table.settings()
    }
}

impl FromTable for RootTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        // The tables of the included files have been added to those of this one.
        let include: Option<IncludeTable> = table.settings();
        let (account, sandbox, reload) = (table.settings(), table.settings(), table.settings());
        let (listening, tls, http) = (table.settings(), table.settings(), table.settings());
        let acme = table.table("acme", "names").map_or_else(|| Some(without_options()), TableReading::read);
        let cache = table.table("cache", "memory").map(TableReading::read);
        let (logging, admin, metrics) = (table.settings(), table.settings(), table.settings());
        let (limits, timeouts, scripts) = (table.settings(), table.settings(), table.settings());
        let maps: Vec<_> = table.tables("map").into_iter().map(TableReading::read).collect();
        let redis = table.table("redis", "url").map(TableReading::read);
        let docker = table.table("docker", "socket").map(TableReading::read);
        let rate_limits: Vec<_> = table.tables("limit").into_iter().map(TableReading::read).collect();
        let upstreams: Vec<_> = table.tables("upstream").into_iter().map(TableReading::read).collect();
        let sites: Vec<_> = table.tables("site").into_iter().map(TableReading::read).collect();
        let general = GeneralOptions {
            listening: listening?,
            tls: tls?,
            acme: acme?,
            http: http?,
            logging: logging?,
            admin: admin?,
            limits: limits?,
            timeouts: timeouts?,
        };
        include?;
        Some(Self {
            account: account?,
            sandbox: sandbox?,
            reload: reload?,
            metrics: metrics?,
            scripts: scripts?,
            general,
            cache: cache.map_or(Some(None), |read| read.map(Some))?,
            maps: maps.into_iter().collect::<Option<_>>()?,
            redis: redis.map_or(Some(None), |redis| redis.map(Some))?,
            docker: docker.map_or(Some(None), |docker| docker.map(Some))?,
            limits: rate_limits.into_iter().collect::<Option<_>>()?,
            upstreams: upstreams.into_iter().collect::<Option<_>>()?,
            sites: sites.into_iter().collect::<Option<_>>()?,
        })
    }
}
