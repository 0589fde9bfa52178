//! Serving until the process is stopped, whatever the handler is: for `serow files`, `serow proxy` and `serow app`.

use std::process;

use serow::{BoundServer, Stopper};
use serow_access_log::AccessLog;
use serow_acme::{CertificateManager, PreparedManager};
use serow_admin::{AccessCounts, AdminEndpoint, CountedRoutes, Sources, Subject};
use serow_assembly::{Encryption, ServerSettings};
use serow_config::values::AdminSocket;
use serow_limits::Bans;
use serow_message::ClientField;
use serow_processes::Reloader;
use serow_proxy::{SpoolSpace, TrustedProxies, Upstream};
use serow_site::{Application, CacheStore, ClientAdmission, LiveSites, MaintenanceSwitch, Sites};

use crate::{
    announcement::{self, announce},
    cache_folder, certificates,
    command_error::CommandError,
    descriptors,
    sandbox::{Reason, SandboxState},
    state_folder,
};

/// A server that has its sockets and its log.
pub(crate) struct Serving {
    server: BoundServer,
    encryption: Option<Encryption>,
    admin: Option<AdminSocket>,
    admin_token: Option<String>,
    log: Option<AccessLog>,
    certificates: Option<CertificateManager>,
    /// Proxies that may name the client.
    /// The proxies that may name the client, and the field in which they do.
    trusted: (TrustedProxies, ClientField),
    /// Clients that are refused.
    bans: Bans,
    /// How many descriptors the workers need.
    descriptors: usize,
}

/// The parts behind the handler, for the first line and the admin endpoint.
#[derive(Default)]
pub(crate) struct Served<'a> {
    /// The name of the handler in the first line.
    pub(crate) name: &'a str,
    /// The upstreams that it forwards requests to.
    pub(crate) upstreams: Vec<Upstream>,
    /// The application that it runs.
    pub(crate) application: Option<Application>,
    /// Reloads the application, where the admin endpoint asks for it.
    pub(crate) reloader: Option<Reloader>,
    /// Where responses are stored, if they are.
    pub(crate) cache: Option<CacheStore>,
}

impl Serving {
    /// Opens the sockets and the log: from here on, connections wait.
    pub(crate) fn bind(mut settings: ServerSettings) -> Result<Self, CommandError> {
        state_folder::keep_certificate(&mut settings);
        let certificates = certificates::prepare(&settings, None)?.map(PreparedManager::open).transpose()?;
        let descriptors = settings.descriptors_of_workers();
        let ServerSettings {
            listeners,
            server,
            encryption,
            admin,
            admin_token,
            access_log,
            clients,
            bans,
            max_spool,
            ..
        } = settings;
        SpoolSpace::default().set_limit(max_spool);
        let mut server = listeners.iter().fold(server, serow_assembly::listening);
        encryption.iter().for_each(Encryption::warn_of_dates);
        let trusted = (clients.trusted.clone(), clients.client_field.clone());
        let log = AccessLog::open_if(access_log)?.map(|log| log.clients(clients));
        if let Some(log) = &log {
            let logs = log.logs();
            server = server.access_log(move || logs.for_worker());
        }
        Ok(Self {
            server: server.bind()?,
            encryption,
            admin,
            admin_token,
            log,
            certificates,
            trusted,
            bans,
            descriptors,
        })
    }

    /// Stops the server from elsewhere.
    pub(crate) fn stopper(&self) -> Stopper {
        self.server.stopper()
    }

    /// Serves these sites until TERM or INT.
    pub(crate) fn serve(self, sites: Sites, served: Served<'_>) -> Result<(), CommandError> {
        let Self { server, encryption, admin, admin_token, log, certificates, trusted, bans, descriptors } = self;
        let Served { name, upstreams, application, reloader, cache } = served;
        cache_folder::prepare(cache.as_ref(), None)?;
        let cache_writer = cache_folder::keep(cache.as_ref(), cache_folder::server_number(process::id()))?;
        let applications = application.into_iter().collect();
        let maintenance = MaintenanceSwitch::default();
        let subject = Subject::Server {
            sources: Sources {
                routes: CountedRoutes::default(),
                status: server.status(),
                log: log.as_ref().map(AccessLog::counter).unwrap_or_default(),
                upstreams,
                applications,
                mirrors: Vec::new(),
                cache,
                fleet: None,
                containers: None,
                certificates: certificates.as_ref().map(CertificateManager::control).unwrap_or_default(),
                bans: bans.clone(),
                access: AccessCounts::default(),
                maintenance: maintenance.clone(),
                sandbox: SandboxState::Off(Reason::OtherCommand).to_string().into(),
                former: serde_json::Value::Null,
            },
            stopper: server.stopper(),
            reloader,
        };
        let endpoint = match admin {
            Some(AdminSocket::At(address)) => Some(AdminEndpoint::open(&address, admin_token.as_deref(), subject)?),
            Some(AdminSocket::Off) | None => None,
        };
        let announcement = announcement::line(name, &server, &sites, encryption.as_ref());
        let mut policy = encryption.map(|encryption| encryption.policy()).unwrap_or_default();
        policy.challenges = certificates.as_ref().map(CertificateManager::http_challenges);
        let certificates = certificates.map(CertificateManager::start).transpose()?;
        descriptors::require(descriptors)?;
        let (trusted, client_field) = trusted;
        let admission = ClientAdmission { maintenance, bans, trusted, client_field };
        let outcome = serow_site::start(server, &LiveSites::new(sites), policy, admission).and_then(|server| {
            announce(&announcement);
            serow_supervisor::tell_parent("READY=1");
            server.wait()
        });
        // The endpoint answers until the server has stopped.
        drop(endpoint);
        drop(certificates);
        // This writes the cached responses that wait.
        drop(cache_writer);
        if let Some(log) = log {
            log.finish();
        }
        outcome.map_err(CommandError::from)
    }
}
