//! The certificate manager: a thread on which each certificate has a task.

use std::{
    error::Error,
    fmt, future, io,
    rc::Rc,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, SystemTime},
};

use serow_net::{thread_runtime, time};
use serow_tls::{TlsConnector, TlsSettingsError};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::MissedTickBehavior,
};

use crate::{
    AcmeSettings, Authority, CertificateCommand, CertificateControl, CertificateName, HttpChallenges, OnDemand,
    authority::{Authorities, AuthorityAccess},
    certificate::MaintainedCertificate,
    challenge::{self, Answers},
    control::shortened,
    on_demand::{Demands, OnDemandOrders, PermissionClient},
    placeholder,
    report::CertificateReports,
    state::AuthorityRole,
    storage::{Changes, Storage, StorageError, StoreSettings},
    transport::{self, AuthorityClient},
};

/// A certificate manager that has read what is stored, and has not begun to order.
pub struct CertificateManager {
    settings: AcmeSettings,
    storage: Arc<Storage>,
    http: HttpChallenges,
    reports: CertificateReports,
    control: CertificateControl,
    commands: mpsc::UnboundedReceiver<CertificateCommand>,
    certificates: Vec<MaintainedCertificate>,
    connector: TlsConnector,
    fallback_connector: Option<TlsConnector>,
    on_demand: Option<OnDemandRequests>,
}

/// Names that clients request, and how to find out whether they may have a certificate.
struct OnDemandRequests {
    settings: OnDemand,
    demands: Arc<Demands>,
    names: mpsc::UnboundedReceiver<CertificateName>,
    connector: TlsConnector,
}

impl OnDemandRequests {
    /// From now on, names that the table does not have are requested.
    fn new(settings: OnDemand, connector: TlsConnector, table: &serow_tls::CertificateTable) -> Self {
        let (demands, names) = Demands::new(&settings);
        table.obtain_on_demand(Arc::clone(&demands) as _);
        Self { settings, demands, names, connector }
    }
}

/// A manager after the steps that need root's rights, and with the content of files that a sandbox may not allow it to
/// read later.
pub struct PreparedManager {
    settings: AcmeSettings,
    connector: TlsConnector,
    fallback_connector: Option<TlsConnector>,
    /// For the URL that allows names.
    on_demand_connector: Option<TlsConnector>,
}

/// A certificate manager that orders and renews. It ends when it is dropped; an order that was begun is continued by the
/// next one.
#[derive(Debug)]
pub struct RunningManager {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Why certificates cannot be managed.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcmeError {
    /// The folder cannot be used.
    Storage(StorageError),
    /// The authority's certificate cannot be verified.
    Tls(TlsSettingsError),
    /// The system refuses a thread.
    System(io::Error),
    /// A certificate for the time until the first one cannot be generated.
    Placeholder(String),
}

impl PreparedManager {
    /// Creates the folder, for this user and group if they are given, and reads the authorities.
    ///
    /// # Errors
    ///
    /// If the folder cannot be created, or the authority's `ca_file` cannot be used.
    pub fn new(mut settings: AcmeSettings, owner: Option<(u32, Option<u32>)>) -> Result<Self, AcmeError> {
        settings.create_folders(owner)?;
        if let StoreSettings::Redis(redis) = &mut settings.store {
            redis.read_authorities().map_err(AcmeError::Tls)?;
        }
        let connector =
            |authority: &Authority| transport::connector(authority.ca_file.as_ref()).map_err(AcmeError::Tls);
        let fallback_connector = settings.fallback.as_ref().map(connector).transpose()?;
        let on_demand = settings.on_demand.as_ref().map(|_| transport::connector(None)).transpose();
        let on_demand_connector = on_demand.map_err(AcmeError::Tls)?;
        Ok(Self { connector: connector(&settings.authority)?, fallback_connector, on_demand_connector, settings })
    }

    /// Reads the stored certificates into the table. Names without one get a self-signed certificate until theirs is
    /// issued.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read or written, or Redis refuses the user or the secret, and there is no copy of any
    /// certificate on this machine. While Redis is away, the copies are in use.
    pub fn open(self) -> Result<CertificateManager, AcmeError> {
        let opened = || {
            let runtime = thread_runtime().map_err(AcmeError::System)?;
            runtime.block_on(self.read())
        };
        // The caller's thread may have a runtime, which must not wait in another one.
        thread::scope(|scope| {
            let opened = thread::Builder::new().name("certificates".to_owned()).spawn_scoped(scope, opened);
            let opened = opened.map_err(AcmeError::System)?.join();
            opened.unwrap_or_else(|_| Err(AcmeError::System(io::Error::other("reading the certificates failed"))))
        })
    }

    async fn read(self) -> Result<CertificateManager, AcmeError> {
        let Self { settings, connector, fallback_connector, on_demand_connector } = self;
        let storage = Arc::new(Storage::open(&settings.store)?);
        let certificates: Vec<_> = settings
            .certificates
            .iter()
            .map(|request| MaintainedCertificate::new(request, &settings).of_fresh_process())
            .collect();
        let names = settings.certificates.first().map(|request| request.names.as_slice()).unwrap_or_default();
        settings.table.set_default(&placeholder::certificate(names).map_err(AcmeError::Placeholder)?);
        certificates.iter().for_each(|certificate| certificate.load_copy(&storage));
        let has_all = certificates.iter().all(MaintainedCertificate::is_installed);
        // With a copy of all certificates, nothing has to be waited for.
        let away = storage.connect(if has_all { Duration::ZERO } else { START_TIMEOUT }).await.err();
        // From the first connection on, this process answers the challenges that others have given.
        storage.watch().changes().await;
        let http = HttpChallenges::default();
        challenge::share(&settings.table, &http, &storage);
        let now = time::wall();
        for certificate in &certificates {
            certificate.load(&storage, now).await;
        }
        // Its connections belong to this runtime.
        storage.close().await;
        let missing: Vec<_> =
            certificates.iter().filter(|certificate| !certificate.is_installed()).map(ToString::to_string).collect();
        if let Some(error) = away {
            let copies = certificates.len() - missing.len();
            if copies == 0 && error.is_refusal() {
                return Err(error.into());
            }
            tracing::warn!(
                "certificates: {error}; until it can be used, {copies} of {} are those of the copy on this machine, and a \
                 self-signed one stands in for the others",
                certificates.len()
            );
        } else if !missing.is_empty() {
            tracing::info!(
                "a self-signed certificate is in use until {} has issued one for {}",
                settings.authority.directory,
                shortened(&missing)
            );
        }
        warn_of_pending(&certificates, now);
        let reports = CertificateReports::default();
        reports.replace(certificates.iter().map(MaintainedCertificate::report).collect());
        let (control, commands) = CertificateControl::new(reports.clone());
        let on_demand = settings.on_demand.clone().zip(on_demand_connector);
        let on_demand = on_demand.map(|(terms, connector)| OnDemandRequests::new(terms, connector, &settings.table));
        Ok(CertificateManager {
            settings,
            storage,
            http,
            reports,
            control,
            commands,
            certificates,
            connector,
            fallback_connector,
            on_demand,
        })
    }
}

/// Says what certificates wait for that could not be ordered before.
fn warn_of_pending(certificates: &[MaintainedCertificate], now: SystemTime) {
    let pending: Vec<_> = certificates.iter().filter_map(|certificate| certificate.pending(now)).collect();
    pending.iter().take(MAX_PENDING_LINES).for_each(|line| tracing::warn!("{line}"));
    if let Some(more @ 1..) = pending.len().checked_sub(MAX_PENDING_LINES) {
        tracing::warn!("{more} more certificates wait as well: 'serow certificates' lists them");
    }
}

impl CertificateManager {
    /// A manager of this process alone, which has no other rights later.
    ///
    /// # Errors
    ///
    /// As [`PreparedManager::new`] and [`PreparedManager::open`].
    pub fn open(settings: AcmeSettings) -> Result<Self, AcmeError> {
        PreparedManager::new(settings, None)?.open()
    }

    /// The answers to http-01, for the handler of requests without TLS.
    #[must_use]
    pub fn http_challenges(&self) -> HttpChallenges {
        self.http.clone()
    }

    /// Reports on the certificates, and takes commands while the manager runs.
    #[must_use]
    pub fn control(&self) -> CertificateControl {
        self.control.clone()
    }

    /// The storage that it uses.
    #[cfg(test)]
    pub(crate) fn storage(&self) -> Arc<Storage> {
        Arc::clone(&self.storage)
    }

    /// Starts the thread. It inherits what the calling thread may do.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread.
    pub fn start(self) -> Result<RunningManager, AcmeError> {
        let (end, ended) = oneshot::channel();
        let (started, outcome) = std::sync::mpsc::channel();
        let thread = thread::Builder::new().name("certificates".to_owned()).spawn(move || {
            let runtime = match thread_runtime() {
                Ok(runtime) => runtime,
                Err(error) => return drop(started.send(Err(AcmeError::System(error)))),
            };
            runtime.block_on(async move {
                let storage = Arc::clone(&self.storage);
                let access = |authority: &Authority, connector: &TlsConnector| {
                    let client = AuthorityClient::start(connector.clone());
                    AuthorityAccess::new(authority.clone(), Arc::clone(&storage), client)
                };
                let fallback = self.settings.fallback.as_ref().zip(self.fallback_connector.as_ref());
                let authorities = Authorities {
                    first: access(&self.settings.authority, &self.connector),
                    fallback: fallback.map(|(authority, connector)| access(authority, connector)),
                };
                // The caller waits for it.
                let _ = started.send(Ok(()));
                tokio::select! {
                    () = self.maintain(authorities, time::wall, None) => {}
                    _ = ended => {}
                }
                storage.close().await;
            });
        });
        let thread = thread.map_err(AcmeError::System)?;
        let ended = || AcmeError::System(io::Error::other("the thread of the certificate manager has ended"));
        outcome.recv().map_err(|_| ended())??;
        Ok(RunningManager { end: Some(end), thread: Some(thread) })
    }

    /// Orders and renews without end. Dropping the future ends it.
    pub(crate) async fn maintain(
        self,
        authorities: Authorities,
        now: fn() -> SystemTime,
        watch_interval: Option<Duration>,
    ) {
        let Self { settings, storage, http, reports, certificates, mut commands, control, on_demand, .. } = self;
        let (on_demand, mut names) = match on_demand {
            Some(OnDemandRequests { settings: on_demand, demands, names, connector }) => {
                let permission = PermissionClient::start(&on_demand.permission, connector);
                let orders = OnDemandOrders::new(settings.clone(), on_demand.key, demands, permission);
                (Some(Rc::new(orders)), Some(names))
            }
            None => (None, None),
        };
        let answers = Answers { settings: settings.challenges, table: settings.table, http, storage };
        let shared = Rc::new(ManagerState { authorities, answers, reports, now });
        let certificates: Vec<_> = certificates.into_iter().map(Rc::new).collect();
        let mut tasks = JoinSet::new();
        for (number, certificate) in certificates.iter().enumerate() {
            let (certificate, shared) = (Rc::clone(certificate), Rc::clone(&shared));
            tasks.spawn_local(async move { certificate.maintain(&shared, number).await });
        }
        // As long as this one exists, there can be commands.
        let _control = control;
        let mut loading = JoinSet::new();
        let mut watch = shared.answers.storage.watch();
        let mut ticks = tokio::time::interval(watch_interval.unwrap_or(shared.answers.storage.watch_interval()));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    let changes = watch.changes().await;
                    for role in [AuthorityRole::First, AuthorityRole::Fallback] {
                        if changes.include(&shared.authorities.of(role).account_key()) {
                            let (shared, was_lost) = (Rc::clone(&shared), changes == Changes::All);
                            loading.spawn_local(async move { shared.authorities.of(role).load_account(was_lost).await });
                        }
                    }
                    let named = certificates.iter().filter(|certificate| changes.include(certificate.key())).cloned();
                    for certificate in named.chain(on_demand.iter().flat_map(|orders| orders.changed(&changes))) {
                        let shared = Rc::clone(&shared);
                        loading.spawn_local(async move { certificate.reload(&shared).await });
                    }
                    while loading.try_join_next().is_some() {}
                }
                Some(command) = commands.recv() => {
                    let named = certificates.iter().filter(|certificate| certificate.has_name(&command.certificate));
                    named.for_each(|certificate| certificate.request(command.action));
                    on_demand.iter().for_each(|orders| orders.apply(&command));
                }
                Some(name) = requested(names.as_mut()) => {
                    let (orders, shared) = (on_demand.clone(), Rc::clone(&shared));
                    tasks.spawn_local(async move {
                        if let Some(orders) = orders {
                            orders.serve(&shared, name).await;
                        }
                    });
                    while tasks.try_join_next().is_some() {}
                }
            }
        }
    }
}

/// The next name that a client requests, if certificates are ordered on demand.
async fn requested(names: Option<&mut mpsc::UnboundedReceiver<CertificateName>>) -> Option<CertificateName> {
    match names {
        Some(names) => names.recv().await,
        None => future::pending().await,
    }
}

/// The state that the tasks of all certificates share.
pub(crate) struct ManagerState {
    pub(crate) authorities: Authorities,
    pub(crate) answers: Answers,
    pub(crate) reports: CertificateReports,
    pub(crate) now: fn() -> SystemTime,
}

/// A start with thousands of names must not fill the log.
const MAX_PENDING_LINES: usize = 8;

/// How long Redis may take to start with the server.
const START_TIMEOUT: Duration = Duration::from_secs(5);

impl Drop for RunningManager {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            // Nothing to do about a defect here: it has been reported.
            let _ = thread.join();
        }
    }
}

impl From<StorageError> for AcmeError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl fmt::Display for AcmeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storage(error) => error.fmt(formatter),
            Self::Tls(error) => error.fmt(formatter),
            Self::System(error) => write!(formatter, "the certificate manager cannot be started: {error}"),
            Self::Placeholder(error) => write!(formatter, "a self-signed certificate cannot be generated: {error}"),
        }
    }
}

impl Error for AcmeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Storage(error) => error.source(),
            Self::Tls(error) => error.source(),
            Self::System(error) => Some(error),
            Self::Placeholder(_) => None,
        }
    }
}
