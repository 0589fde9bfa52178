//! A generation: a process with a whole server.

use std::{
    mem,
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
};

use serde_json::Value;
use serow::{BoundServer, RunningServer};
use serow_access_log::{AccessLogs, ClientRules, CountingLog, LogMakers, WorkerLog};
use serow_acme::{CertificateManager, PreparedManager, RunningManager};
use serow_admin::{CountedRoutes, FleetBan, MaintenanceCommand, ServerCommand, Sources};
use serow_assembly::{Configuration, Encryption, ServerSettings};
use serow_net::process::forbid_tracing;
use serow_processes::Workers;
use serow_proxy::{BackgroundTasks, SpoolSpace};
use serow_site::{Application, CacheWriter, ClientAdmission, LiveSites, MaintenanceSwitch};
use serow_supervisor::master::{AdminPlace, GenerationSetup, GenerationTerms, Parent, SharedState};

use super::{
    access_threads::AccessThreads,
    ban_storage::BanStorage,
    container_watch::{ContainerWatch, PreparedWatch},
    fleet_commands::{self, JournalFolder, PreparedCommands},
    live_settings::{LiveSettings, SharedParts},
    orders::ServerOrders,
    rights::{Opened, Privileged, Sandboxed},
    warnings::Warnings,
};
use crate::{
    announcement,
    application_host::application_host,
    cache_folder,
    command_error::{CommandError, exit_code},
    descriptors, error_log,
    sandbox::SandboxState,
};

/// Serves what the settings say that the master hands over, until it says otherwise.
pub(super) fn run(file: &Path) -> ExitCode {
    let (parent, setup) = match Parent::meet() {
        Ok(met) => met,
        Err(error) => {
            let line = format!("--generation is for 'serow run' itself, which starts such processes ({error})");
            return exit_code(Err(CommandError::Usage(line)));
        }
    };
    match ServerGeneration::prepare(file, setup, &parent) {
        Ok(generation) => generation.serve(parent),
        Err(reason) => {
            parent.fail(&reason);
            ExitCode::FAILURE
        }
    }
}

/// Everything that can fail has been done.
struct ServerGeneration {
    configuration: Configuration,
    /// Where the master is to answer those who run the server.
    admin: AdminPlace,
    server: BoundServer,
    logs: Option<AccessLogs>,
    maintenance: MaintenanceSwitch,
    routes: CountedRoutes,
    /// Whether it can open only the files that it needs.
    sandbox: SandboxState,
    /// The warnings about its settings.
    warnings: Warnings,
    /// The settings file.
    file: PathBuf,
    /// The background tasks of upstreams: health checks and name lookups.
    background_tasks: BackgroundTasks,
    /// The workers of the applications.
    workers: Vec<Workers>,
    /// The threads of access control.
    access: AccessThreads,
    bans: BanStorage,
    /// The commands of the fleet, or why there are none.
    fleet: Result<PreparedCommands, &'static str>,
    /// The certificate manager.
    certificates: Option<CertificateManager>,
    /// The thread that writes stored responses to files.
    cache_writer: Option<CacheWriter>,
    containers: Option<PreparedWatch>,
}

impl ServerGeneration {
    fn prepare(file: &Path, setup: GenerationSetup, parent: &Parent) -> Result<Self, String> {
        let GenerationSetup { text, overrides, shared, memory, generation_secret } = setup;
        // Scripts are run when the settings are read.
        serow_scripts::share_dictionary(memory);
        let configuration =
            serow_assembly::of_bytes(file, text.clone(), &application_host()).map_err(|error| error.to_string())?;
        error_log::begin(configuration.server.level);
        forbid_tracing().map_err(|error| CommandError::system(error).message())?;
        SpoolSpace::default().set_limit(configuration.server.max_spool);
        configuration.server.encryption.iter().for_each(Encryption::warn_of_dates);
        let privileged = Privileged::open(configuration, file, generation_secret, parent)?;
        let sandboxed = privileged.become_user()?.enter_sandbox()?;
        let generation = Self::start_threads(sandboxed, file, &overrides, shared)?;
        let Configuration { docker, hosts, .. } = &generation.configuration;
        let containers = docker.clone().map(|docker| {
            let files = serow_config::container_files(file, text);
            PreparedWatch::new(docker, files, parent.change_requests(), hosts.clone())
        });
        Ok(Self { containers, ..generation })
    }

    /// Starts everything that runs beside the workers. The system gives rights up for one thread at a time: each thread begins
    /// as the user, and restricted.
    fn start_threads(
        sandboxed: Sandboxed,
        file: &Path,
        overrides: &[Value],
        shared: Option<SharedState>,
    ) -> Result<Self, String> {
        let Sandboxed { opened, sandbox } = sandboxed;
        let Opened { mut configuration, admin, server, certificates, keys, journal, server_number } = opened;
        let mut warnings = Warnings::default();
        warnings.replace(&configuration);
        // By the user, who will have to open them again.
        let (rules, clients) = (mem::take(&mut configuration.logs), configuration.server.clients.clone());
        let logs = AccessLogs::open(rules, clients).map_err(|error| log_problem(CommandError::from(error)))?;
        let routes = configuration.counted_routes.take().map(CountedRoutes::new);
        let server = with_logs(server, logs.as_ref(), routes.as_ref());
        let failed = |error| CommandError::system(error).message();
        let upstreams = configuration.upstreams_with_programs();
        let background_tasks = BackgroundTasks::start(upstreams.clone()).map_err(failed)?;
        let certificates = certificates.map(PreparedManager::open).transpose();
        let certificates = certificates.map_err(|error| CommandError::from(error).message())?;
        let access = AccessThreads::start(&mut configuration, keys.as_deref()).map_err(failed)?;
        let workers = run_applications(&configuration.applications)?;
        let journal = journal.map(|folder| JournalFolder::new(folder, server_number));
        let overrides = &[overrides, &journal.as_ref().map(fleet_commands::overrides).unwrap_or_default()].concat();
        let fleet = PreparedCommands::of(configuration.access.fleet.as_ref(), journal, server.status());
        ServerCommand::apply_overrides(overrides, &upstreams);
        let (routes, maintenance) = (routes.unwrap_or_default(), MaintenanceSwitch::default());
        MaintenanceCommand::apply_overrides(overrides, &maintenance);
        // As late as possible: until another generation serves, the one before goes on with bans.
        let bans = BanStorage::start(&configuration.server.bans, shared).map_err(failed)?;
        FleetBan::apply_overrides(overrides, &configuration.server.bans);
        // Likewise: the newest process keeps responses, and all of a server have its master.
        let cache_writer =
            cache_folder::keep(configuration.cache.as_ref(), server_number).map_err(|error| error.message())?;
        Ok(Self {
            configuration,
            admin,
            server,
            logs,
            routes,
            maintenance,
            sandbox,
            warnings,
            file: file.to_owned(),
            background_tasks,
            workers,
            access,
            bans,
            fleet,
            certificates,
            cache_writer,
            containers: None,
        })
    }

    /// Serves until the master says otherwise.
    fn serve(self, parent: Parent) -> ExitCode {
        match self.start() {
            // Not before: the generation that served so far stops when this one says that it serves.
            Ok(started) => exit_code(started.report(parent)),
            Err(error) => {
                parent.fail(&error.message());
                ExitCode::FAILURE
            }
        }
    }

    fn start(self) -> Result<Started, CommandError> {
        // After all that was opened before: what is left is for the workers and their connections.
        descriptors::require(self.configuration.server.descriptors_of_workers())?;
        let sources = self.sources();
        let Self {
            configuration,
            admin,
            server,
            logs,
            maintenance,
            sandbox,
            warnings,
            file,
            background_tasks,
            workers,
            access,
            bans,
            fleet,
            certificates,
            cache_writer,
            containers,
            ..
        } = self;
        let Configuration { server: settings, sites: count, site, reload_grace, fixed, kept, .. } = configuration;
        let terms = GenerationTerms {
            admin,
            admin_token: settings.admin_token.clone(),
            announcement: announcement::line(&counted_sites(count), &server, &site, settings.encryption.as_ref()),
            replaced: reload_grace,
            stopped: settings.grace,
            adopts: true,
            changes: fleet.is_ok() || containers.is_some(),
        };
        let (sites, tls_files) = (LiveSites::new(site), server.tls_files());
        let parts = SharedParts::new(sources, background_tasks, access);
        let watch = containers.as_ref().map(PreparedWatch::watch).unwrap_or_default();
        let mut orders = ServerOrders {
            stopper: server.stopper(),
            end_of_accepting: None,
            parts: parts.clone(),
            settings: LiveSettings {
                file,
                fixed,
                kept,
                warnings,
                sandbox,
                tls_files,
                sites: sites.clone(),
                parts: parts.clone(),
                containers: watch.clone(),
            },
            bans,
            fleet: fleet.as_ref().map(PreparedCommands::handle).map_err(|reason| *reason),
            replaced: reload_grace,
            stopped: settings.grace,
        };
        let (mut server, certificates) = start_workers(server, &sites, settings, maintenance, certificates)?;
        orders.end_of_accepting = Some(server.end_of_accepting());
        let (fleet, helpers) = (fleet.ok(), (certificates, workers, cache_writer));
        let containers = containers.map(|containers| (containers, watch));
        Ok(Started { server, parts, terms, orders, fleet, helpers, logs, containers })
    }

    /// Where the numbers of its status come from.
    fn sources(&self) -> Sources {
        let Self { configuration, server, logs, routes, maintenance, sandbox, access, certificates, .. } = self;
        Sources {
            status: server.status(),
            log: logs.as_ref().map(AccessLogs::counter).unwrap_or_default(),
            routes: routes.clone(),
            upstreams: configuration.upstreams_with_programs(),
            applications: configuration.applications.clone(),
            mirrors: configuration.mirrors.clone(),
            cache: configuration.cache.clone(),
            fleet: configuration.access.fleet.clone(),
            containers: self.containers.as_ref().map(|containers| containers.report.clone()),
            certificates: certificates.as_ref().map(CertificateManager::control).unwrap_or_default(),
            bans: configuration.server.bans.clone(),
            access: access.counts.clone(),
            maintenance: maintenance.clone(),
            sandbox: sandbox.to_string().into(),
            former: Value::Null,
        }
    }
}

/// A generation whose workers serve.
struct Started {
    server: RunningServer,
    parts: SharedParts,
    terms: GenerationTerms,
    orders: ServerOrders,
    fleet: Option<PreparedCommands>,
    helpers: Helpers,
    logs: Option<AccessLogs>,
    containers: Option<(PreparedWatch, ContainerWatch)>,
}

/// The parts that run beside the workers from their start to their end, in the order in which they end: the last writes what
/// waits.
type Helpers = (Option<RunningManager>, Vec<Workers>, Option<CacheWriter>);

impl Started {
    /// Reports to the master, and serves until it says otherwise.
    fn report(self, parent: Parent) -> Result<(), CommandError> {
        let Self { server, parts, terms, orders, fleet, helpers, logs, containers } = self;
        let requests = parent.change_requests();
        let final_report = parent.ready(terms, orders).map_err(CommandError::system)?;
        let fleet = fleet.map(|fleet| fleet.start(requests)).transpose().map_err(CommandError::system)?;
        if let Some((containers, watch)) = containers {
            containers.begin(&watch).map_err(CommandError::system)?;
        }
        let outcome = server.wait();
        if let Some(fleet) = fleet {
            fleet.end();
        }
        parts.end_threads();
        drop(helpers);
        if let Some(logs) = logs {
            logs.finish();
        }
        final_report.send(parts.lock().sources.document());
        outcome.map_err(CommandError::from)
    }
}

/// A server that writes lines into these logs and counts the durations of these routes. Each combination has a type of
/// its own, so that none pays for another.
fn with_logs(server: BoundServer, logs: Option<&AccessLogs>, routes: Option<&CountedRoutes>) -> BoundServer {
    let durations = routes.map(CountedRoutes::durations);
    match (logs.map(AccessLogs::makers), durations) {
        (None, None) => server,
        (None, Some(durations)) => server.access_log(move || CountingLog::new(&durations, None::<WorkerLog>)),
        (Some(LogMakers::Single(logs)), None) => server.access_log(move || logs.for_worker()),
        (Some(LogMakers::Single(logs)), Some(durations)) => {
            server.access_log(move || CountingLog::new(&durations, Some(logs.for_worker())))
        }
        (Some(LogMakers::Routed(logs)), None) => server.access_log(move || logs.for_worker()),
        (Some(LogMakers::Routed(logs)), Some(durations)) => {
            server.access_log(move || CountingLog::new(&durations, Some(logs.for_worker())))
        }
    }
}

/// Starts the workers, and the thread that renews certificates.
fn start_workers(
    server: BoundServer,
    sites: &LiveSites,
    settings: ServerSettings,
    maintenance: MaintenanceSwitch,
    certificates: Option<CertificateManager>,
) -> Result<(RunningServer, Option<RunningManager>), CommandError> {
    let challenges = certificates.as_ref().map(CertificateManager::http_challenges);
    let certificates = certificates.map(CertificateManager::start).transpose()?;
    let mut policy = settings.encryption.map(|encryption| encryption.policy()).unwrap_or_default();
    policy.challenges = challenges;
    let ClientRules { trusted, client_field, .. } = settings.clients;
    let admission = ClientAdmission { maintenance, bans: settings.bans, trusted, client_field };
    Ok((serow_site::start(server, sites, policy, admission)?, certificates))
}

/// Loads all applications at once; those that can be are stopped again where another cannot.
fn run_applications(applications: &[Application]) -> Result<Vec<Workers>, String> {
    thread::scope(|scope| {
        let loading: Vec<_> = applications.iter().map(|application| scope.spawn(|| application.run())).collect();
        let loaded = loading.into_iter().zip(applications).map(|(loading, application)| {
            let outcome =
                loading.join().unwrap_or_else(|_| Err("a bug: its worker manager panicked".to_owned().into()));
            outcome.map_err(|why| format!("{}: {why}", application.name()))
        });
        loaded.collect()
    })
}

fn counted_sites(count: usize) -> String {
    if count == 1 { "1 site".to_owned() } else { format!("{count} sites") }
}

/// Why a log cannot be opened, in the words of a settings file.
fn log_problem(error: CommandError) -> String {
    let remedy = "create its folder, or name another file with `access-log`";
    error.message().replace("name another file with --access-log", remedy)
}
