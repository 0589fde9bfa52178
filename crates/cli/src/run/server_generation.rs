//! A generation: a process with a whole server.

use std::{
    io, mem,
    os::{fd::OwnedFd, unix::process::parent_id},
    path::Path,
    process::ExitCode,
    thread,
};

use rustix::process::geteuid;
use serow::{Address, BoundServer, ListenOptions, RunningServer, Server, SharedQuicSockets, SharedSecret};
use serow_access::{FileWatch, PasswordChecker, jwt::KeyFetcher, openid::ProviderThread};
use serow_access_log::{AccessLogs, CountingLog, LogMakers, WorkerLog};
use serow_acme::{CertificateManager, PreparedManager, RunningManager};
use serow_admin::{AccessCounts, CountedRoutes, MaintenanceCommand, ServerCommand, Sources};
use serow_assembly::{Account, Configuration, Encryption, ServedFolder, ServerSettings, open_to_changes};
use serow_config::values::{AdminAddress, AdminSocket};
use serow_fleet::{Fleet, FleetThread};
use serow_net::process::{Credentials, become_user, forbid_tracing};
use serow_processes::Workers;
use serow_proxy::{BackgroundTasks, SpoolSpace};
use serow_site::{Application, CacheWriter, MaintenanceSwitch};
use serow_supervisor::master::{AdminPlace, GenerationSetup, GenerationTerms, Parent, WantedListener};

use super::{ban_storage::BanStorage, orders::ServerOrders, shared_bans};
use crate::{
    announcement,
    application_host::application_host,
    cache_folder, certificates,
    command_error::{CommandError, exit_code},
    descriptors, error_log,
    sandbox::{self, SandboxState},
    state_folder,
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
    /// The background tasks of upstreams: health checks and name lookups.
    background_tasks: BackgroundTasks,
    /// The workers of the applications.
    workers: Vec<Workers>,
    /// The threads of access control.
    access: AccessThreads,
    bans: BanStorage,
    /// The certificate manager.
    certificates: Option<CertificateManager>,
    /// The thread that writes stored responses to files.
    cache_writer: Option<CacheWriter>,
}

impl ServerGeneration {
    fn prepare(file: &Path, setup: GenerationSetup, parent: &Parent) -> Result<Self, String> {
        let GenerationSetup { text, overrides, shared, memory, generation_secret } = setup;
        // Scripts are run when the settings are read.
        serow_scripts::share_dictionary(memory);
        let mut configuration =
            serow_assembly::of_bytes(file, text, &application_host()).map_err(|error| error.to_string())?;
        // Copies of a program are servers as well, for the status and for those who drain one.
        configuration.upstreams.extend(configuration.applications.iter().filter_map(Application::upstream).cloned());
        let settings = &mut configuration.server;
        error_log::begin(settings.level);
        forbid_tracing().map_err(|error| CommandError::system(error).message())?;
        SpoolSpace::default().set_limit(settings.max_spool);
        let admin = admin_place(settings.admin.as_ref())?;
        settings.encryption.iter().for_each(Encryption::warn_of_dates);
        state_folder::keep_certificate(settings);
        state_folder::keep_login_key(&configuration.access.logins);
        let server = with_sockets(settings, parent)?;
        let server = with_http3(with_sessions(server, generation_secret), settings, generation_secret, parent)?;
        // As root, who alone may read keys and certificates.
        let mut server = server.ignore_signals().bind().map_err(|error| CommandError::from(error).message())?;
        // As root, who finds the folders that the user reaches only since they are open.
        let owner = configuration.account.as_ref().map(|account| (account.user, account.groups.first().copied()));
        let certificates = certificates::prepare(&configuration.server, owner).map_err(|error| error.message())?;
        cache_folder::prepare(configuration.cache.as_ref(), owner).map_err(|error| error.message())?;
        let server_number = cache_folder::server_number(parent_id());
        let keys = state_folder::folder_of_keys(&configuration.access.remote_keys, owner);
        let sandbox = sandbox::prepare(&configuration, keys.as_deref());
        configuration.account.as_ref().map_or(Ok(()), assume)?;
        // Before there is another thread: what is restricted is one of them, and those that it starts.
        let sandbox = SandboxState::enter(sandbox)?;
        // By that user as well.
        warn_of_settings(&configuration);
        // By the user, who will have to open them again.
        let (rules, clients) = (mem::take(&mut configuration.logs), configuration.server.clients.clone());
        let logs = AccessLogs::open(rules, clients).map_err(|error| log_problem(CommandError::from(error)))?;
        let routes = configuration.counted_routes.take().map(CountedRoutes::new);
        server = with_logs(server, logs.as_ref(), routes.as_ref());
        let failed = |error| CommandError::system(error).message();
        // Its thread begins as the user: the system gives rights up for one thread at a time.
        let background_tasks = BackgroundTasks::start(configuration.upstreams.clone()).map_err(failed)?;
        let certificates = certificates.map(PreparedManager::open).transpose();
        let certificates = certificates.map_err(|error| CommandError::from(error).message())?;
        let access = AccessThreads::start(&mut configuration, keys.as_deref()).map_err(failed)?;
        let workers = run_applications(&configuration.applications)?;
        ServerCommand::apply_overrides(&overrides, &configuration.upstreams);
        let (routes, maintenance) = (routes.unwrap_or_default(), MaintenanceSwitch::default());
        MaintenanceCommand::apply_overrides(&overrides, &maintenance);
        // As late as possible: until another generation serves, the one before goes on with bans.
        let bans = BanStorage::start(&configuration.server.bans, shared).map_err(failed)?;
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
            background_tasks,
            workers,
            access,
            bans,
            certificates,
            cache_writer,
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
        let Self {
            configuration,
            admin,
            server,
            logs,
            routes,
            maintenance,
            sandbox,
            background_tasks,
            workers,
            access,
            bans,
            certificates,
            cache_writer,
        } = self;
        let (fleet, sites) = (configuration.access.fleet.clone(), counted_sites(configuration.sites));
        let Configuration { server: settings, site, upstreams, applications, reload_grace, .. } = configuration;
        let sources = Sources {
            status: server.status(),
            log: logs.as_ref().map(AccessLogs::counter).unwrap_or_default(),
            routes,
            upstreams,
            applications,
            mirrors: configuration.mirrors,
            cache: configuration.cache,
            fleet,
            certificates: certificates.as_ref().map(CertificateManager::control).unwrap_or_default(),
            bans: settings.bans.clone(),
            access: access.counts.clone(),
            maintenance: maintenance.clone(),
            sandbox: sandbox.to_string().into(),
        };
        let mut orders = ServerOrders {
            stopper: server.stopper(),
            end_of_accepting: None,
            sources: sources.clone(),
            bans,
            replaced: reload_grace,
            stopped: settings.grace,
        };
        let terms = GenerationTerms {
            admin,
            admin_token: settings.admin_token,
            announcement: announcement::line(&sites, &server, &site, settings.encryption.as_ref()),
            replaced: reload_grace,
            stopped: settings.grace,
        };
        let challenges = certificates.as_ref().map(CertificateManager::http_challenges);
        let certificates = certificates.map(CertificateManager::start).transpose()?;
        let mut policy = settings.encryption.map(|encryption| encryption.policy()).unwrap_or_default();
        policy.challenges = challenges;
        let trusted = settings.clients.trusted;
        let mut server = serow_site::start(server, site, policy, maintenance, settings.bans, trusted)?;
        orders.end_of_accepting = Some(server.end_of_accepting());
        let helpers = (certificates, background_tasks, workers, access, cache_writer);
        Ok(Started { server, sources, terms, orders, helpers, logs })
    }
}

/// A generation whose workers serve.
struct Started {
    server: RunningServer,
    sources: Sources,
    terms: GenerationTerms,
    orders: ServerOrders,
    helpers: Helpers,
    logs: Option<AccessLogs>,
}

/// The parts that run beside the workers, in the order in which they end: the last writes what waits.
type Helpers = (Option<RunningManager>, BackgroundTasks, Vec<Workers>, AccessThreads, Option<CacheWriter>);

impl Started {
    /// Reports to the master, and serves until it says otherwise.
    fn report(self, parent: Parent) -> Result<(), CommandError> {
        let Self { server, sources, terms, orders, helpers, logs } = self;
        let final_report = parent.ready(terms, orders).map_err(CommandError::system)?;
        let outcome = server.wait();
        drop(helpers);
        if let Some(logs) = logs {
            logs.finish();
        }
        final_report.send(sources.document());
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

/// The threads that access control runs beside requests, until this is dropped.
struct AccessThreads {
    counts: AccessCounts,
    _files: FileWatch,
    _passwords: Option<PasswordChecker>,
    _keys: KeyFetcher,
    _fleet: Option<FleetThread>,
    _providers: ProviderThread,
}

impl AccessThreads {
    /// Key sets are kept in this folder, if there is one.
    fn start(configuration: &mut Configuration, keys: Option<&Path>) -> io::Result<Self> {
        let Configuration { access, server, .. } = configuration;
        let bans = &server.bans;
        keys.iter().for_each(|folder| access.remote_keys.iter().for_each(|set| set.keep_in(folder)));
        if let Some(fleet) = &access.fleet {
            shared_bans::share(bans, fleet);
        }
        let counts = AccessCounts::of(access);
        let passwords = access.passwords.as_ref().map(PasswordChecker::start).transpose()?;
        let keys = KeyFetcher::start(mem::take(&mut access.remote_keys))?;
        let fleet = access.fleet.as_ref().map(Fleet::start).transpose()?;
        let providers = ProviderThread::start(mem::take(&mut access.logins))?;
        let files = mem::take(&mut access.watched).watch()?;
        Ok(Self { counts, _files: files, _passwords: passwords, _keys: keys, _fleet: fleet, _providers: providers })
    }
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

/// Warns of folders that this user cannot read, or that others change, and of what the settings probably do not mean.
fn warn_of_settings(configuration: &Configuration) {
    for unreadable in configuration.folders.iter().filter_map(ServedFolder::unreadable) {
        tracing::warn!("{unreadable}");
    }
    if let Some(warning) = open_to_changes(&configuration.folders, &configuration.server.listeners) {
        tracing::warn!("{warning}");
    }
    configuration.notes.iter().for_each(|note| tracing::warn!("{note}"));
    if geteuid().is_root() && !configuration.applications.is_empty() {
        tracing::warn!(
            "applications run as root, since there is no `user`: write the name of another user at the top of the file, as in \
             user = \"www-data\""
        );
    }
}

fn counted_sites(count: usize) -> String {
    if count == 1 { "1 site".to_owned() } else { format!("{count} sites") }
}

/// Gives up root's rights.
fn assume(account: &Account) -> Result<(), String> {
    match become_user(account.user, &account.groups) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            check_account(account, Credentials::of_this_thread())
        }
        outcome => outcome.map_err(|error| format!("user: cannot become the user {}: {error}", account.user)),
    }
}

/// Whether a process that is not root has nothing to give up: it is the user, with the group, and cannot become
/// another.
fn check_account(account: &Account, credentials: Credentials) -> Result<(), String> {
    let Account { user, groups } = account;
    let [_, effective, _] = credentials.users;
    if effective != *user {
        return Err("user: only root can become another user: start as root, or take `user` out of the file".to_owned());
    }
    if credentials.users != [*user; 3] {
        return Err(format!(
            "user: this process is the user {user}, and could become another one again: start it as root, or with {user} \
             as its real user as well"
        ));
    }
    match groups.first() {
        Some(group) if credentials.groups != [*group; 3] => Err(format!(
            "group: only root can change the group, from {} to {group}: start as root, or as this group, or name the \
             present one with `group`",
            credentials.groups[1]
        )),
        _ => Ok(()),
    }
}

/// The sockets that the settings need, from the master, if there are enough descriptors for them and for the rest.
fn sockets(settings: &ServerSettings, parent: &Parent) -> Result<Vec<Vec<OwnedFd>>, String> {
    descriptors::require(settings.needed_descriptors()).map_err(|error| error.message())?;
    parent.listen(wanted(settings)?).map_err(|error| error.to_string())
}

/// The sockets that the settings need.
fn wanted(settings: &ServerSettings) -> Result<Vec<WantedListener>, String> {
    let ListenOptions { backlog, share, unix_mode } = settings.listen_options;
    let wanted = settings.listeners.iter().map(|listener| {
        let address = address_text(&listener.address)?;
        Ok(WantedListener { address, backlog, unix_mode, share, sockets: settings.workers })
    });
    wanted.collect()
}

/// The server that resumes the TLS sessions of the generation before.
fn with_sessions(server: Server, secret: Option<[u8; 32]>) -> Server {
    match secret {
        Some(secret) => server.shared_secret(SharedSecret(secret)),
        None => server,
    }
}

/// The server with the UDP sockets of HTTP/3, which the master holds.
fn with_http3(
    server: Server,
    settings: &ServerSettings,
    secret: Option<[u8; 32]>,
    parent: &Parent,
) -> Result<Server, String> {
    let addresses: Vec<_> = settings.listeners.iter().filter_map(|listener| listener.quic_address()).collect();
    if !settings.http3 {
        return Ok(server);
    }
    if addresses.is_empty() {
        return Ok(server.http3(false));
    }
    let Some(secret) = secret else {
        tracing::warn!("HTTP/3 is off: the master is of a version without it; restart the server");
        return Ok(server.http3(false));
    };
    if settings.listen_options.share {
        tracing::warn!("HTTP/3 is off: processes that share a port cannot share the connections of QUIC");
        return Ok(server.http3(false));
    }
    let sockets = parent.listen_quic(&addresses, settings.workers).map_err(|error| error.to_string())?;
    Ok(server.http3_on(SharedQuicSockets { sockets: addresses.into_iter().zip(sockets).collect(), secret }))
}

/// Why a log cannot be opened, in the words of a settings file.
fn log_problem(error: CommandError) -> String {
    let remedy = "create its folder, or name another file with `access-log`";
    error.message().replace("name another file with --access-log", remedy)
}

/// The server with the sockets of its listeners.
fn with_sockets(settings: &mut ServerSettings, parent: &Parent) -> Result<Server, String> {
    let sockets = sockets(settings, parent)?;
    let server = mem::take(&mut settings.server);
    let listeners = settings.listeners.iter().zip(sockets);
    Ok(listeners.fold(server, |server, (listener, sockets)| server.listen_on(sockets, listener.scheme())))
}

/// Where the master opens the admin socket.
fn admin_place(admin: Option<&AdminSocket>) -> Result<AdminPlace, String> {
    Ok(match admin {
        None => AdminPlace::Default,
        Some(AdminSocket::Off) => AdminPlace::Off,
        Some(AdminSocket::At(AdminAddress(address))) => AdminPlace::At(address_text(address)?),
    })
}

/// An address as the master receives it.
fn address_text(address: &Address) -> Result<String, String> {
    match address {
        Address::Unix(path) if path.to_str().is_none() => Err(format!(
            "{address} is in a folder whose name is not written in UTF-8: give the whole path of another one"
        )),
        address => Ok(address.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_not_root_must_be_the_user_with_the_group_for_good() {
        let account = Account { user: 7, groups: vec![8, 9] };
        for (users, groups, expected) in [
            ([7, 7, 7], [8, 8, 8], None),
            ([1, 1, 1], [8, 8, 8], Some("user: only root can become another user")),
            ([0, 7, 7], [8, 8, 8], Some("user: this process is the user 7, and could become another one again")),
            ([7, 7, 0], [8, 8, 8], Some("user: this process is the user 7, and could become another one again")),
            ([7, 7, 7], [9, 9, 9], Some("group: only root can change the group, from 9 to 8")),
            ([7, 7, 7], [0, 8, 8], Some("group: only root can change the group, from 8 to 8")),
        ] {
            let outcome = check_account(&account, Credentials { users, groups });
            let line = outcome.err();
            assert_eq!(line.as_deref().and_then(|line| line.split_once(": start").map(|(line, _)| line)), expected);
        }
    }
}
