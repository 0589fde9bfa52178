//! How a server serves, whatever it serves: what the options of the root mean together.

use std::{mem, path::Path, time::Duration};

use serow::{KeepError, Limits, ListenOptions, ProxyProtocol, Scheme, Server, Timeouts, Versions};
use serow_access_log::{ClientRules, Destination, Format};
use serow_config::{
    SettingError, checks,
    listeners::{self, ListenerSettings, RedirectedConnections},
    options::{
        AdminOptions, GeneralOptions, HttpOptions, LevelChoice, LimitOptions, ListeningOptions, LoggingOptions,
        TimeoutOptions, VersionsOfHttp,
    },
    values::AdminSocket,
};
use serow_limits::Bans;
use serow_message::ClientField;
use serow_net::inheritance;
use serow_proxy::TrustedProxies;
use serow_site::Redirected;
use tracing::level_filters::LevelFilter;

use crate::{
    AcmePlan, DevelopmentCertificate, Encryption, Reachable, admin_token,
    descriptor_shares::{self, Shares},
    tls::tls_settings,
};

/// How a server serves, whatever it serves.
pub struct ServerSettings {
    /// Its listeners.
    pub listeners: Vec<ListenerSettings>,
    /// The options of its sockets.
    pub listen_options: ListenOptions,
    /// Everything else, except for the listeners.
    pub server: Server,
    /// The settings of TLS, if there is TLS.
    pub encryption: Option<Encryption>,
    /// Automatic certificates, if there are any.
    pub acme: Option<AcmePlan>,
    /// The address of the admin endpoint, if there is one.
    pub admin: Option<AdminSocket>,
    /// The token that changes over TCP need there.
    pub admin_token: Option<String>,
    /// The access log of the command line, if there is one.
    pub access_log: Option<(Destination, Format)>,
    /// The clients that the access log shows.
    pub clients: ClientRules,
    /// The clients that are refused.
    pub bans: Bans,
    /// The log verbosity.
    pub level: LevelFilter,
    /// How many threads serve.
    pub workers: usize,
    /// Whether HTTP/3 is served beside TLS.
    pub http3: bool,
    /// The versions of HTTP over TCP.
    pub versions: Versions,
    /// How long requests in flight may take after the server begins to stop.
    pub grace: Duration,
    /// Bytes of disk that bodies of requests may take together.
    pub max_spool: u64,
}

impl ServerSettings {
    /// Finds out what these options mean together.
    ///
    /// # Errors
    ///
    /// An option is invalid, alone or together with others.
    pub fn new(options: GeneralOptions, shares: Shares) -> Result<Self, SettingError> {
        let access_log = access_log(&options.logging)?;
        Ok(Self { access_log, ..Self::for_sites(options, shares)? })
    }

    /// The same for a settings file, whose access logs depend on its sites.
    ///
    /// # Errors
    ///
    /// As for [`ServerSettings::new`].
    pub fn for_sites(options: GeneralOptions, shares: Shares) -> Result<Self, SettingError> {
        let GeneralOptions { mut listening, mut tls, acme, http, logging, admin, limits, timeouts } = options;
        let (acme, inherited) = (AcmePlan::new(&acme)?, inheritance::addresses());
        if acme.is_some() {
            listeners::add_public(&mut listening, &mut tls, &inherited);
        }
        let tls_settings = tls_settings(&tls, acme.as_ref())?;
        let (listeners, redirected) = listeners::listeners(&listening, &tls, tls_settings.is_some(), &inherited)?;
        listeners::refuse_duplicates(&listeners, admin.admin.as_ref().and_then(AdminSocket::address))?;
        if let Some(acme) = &acme {
            acme.check(Reachable::of(&listeners))?;
        }
        let encryption = tls_settings.as_ref().map(|settings| Encryption {
            development: DevelopmentCertificate::of(settings),
            date_problems: settings.date_problems(),
            strict_transport: tls.hsts.map(|span| span.0),
            redirected: self::redirected(redirected),
        });
        let admin_token = self::admin_token(&admin)?;
        let workers = workers(&listening);
        let listen_options = listen_options(&listening);
        let server = Server::new().workers(workers).listen_options(listen_options.clone());
        let server = match &listening.worker_cores {
            Some(cores) => server.worker_cores(cores.0.clone()),
            None => server,
        };
        let server = server.proxy_protocol(proxy_protocol(&listening));
        let server = server.limits(self::limits(&limits, shares)).timeouts(self::timeouts(&timeouts));
        let trusted: TrustedProxies = listening.trust.iter().map(|network| network.0).collect();
        let client_field = listening.trust_header.as_deref().map(ClientField::new).unwrap_or_default();
        let bans = Bans::new(trusted.clone());
        let server = server.clients(client_rules(&limits, bans.clone(), trusted.clone()));
        let server = server.versions(versions(&http)).pacing(http.pacing.0);
        let server = server.alternative_service_age(http.alt_svc_max_age.0);
        let server = server.early_data(http.early_data.is_on());
        let server = if http.http3.is_on() { server.http3(true) } else { server.withdraw_http3() };
        Ok(Self {
            listeners,
            listen_options,
            server: match tls_settings {
                Some(settings) => server.tls(settings),
                None => server,
            },
            encryption,
            acme,
            admin: admin.admin,
            admin_token,
            level: level(logging.log_level),
            access_log: None,
            clients: ClientRules { client_field, ..ClientRules::of_all(trusted) },
            bans,
            workers,
            http3: http.http3.is_on(),
            versions: versions(&http),
            grace: timeouts.grace.0,
            max_spool: limits.max_spool.0,
        })
    }
}

impl ServerSettings {
    /// How many descriptors the server needs at its start, beside those that are open before.
    #[must_use]
    pub fn needed_descriptors(&self) -> usize {
        let quic = self.listeners.iter().filter(|listener| self.http3 && listener.quic_address().is_some()).count();
        let sockets = self.listeners.len() + quic;
        descriptor_shares::needed(self.workers, sockets)
    }

    /// How many of them are for the workers and the first connections, when the sockets are open.
    #[must_use]
    pub fn descriptors_of_workers(&self) -> usize {
        descriptor_shares::of_workers(self.workers)
    }

    /// Uses the certificate for development that is kept in this folder, if a certificate for development is used. Without
    /// this call, each process has one of its own.
    ///
    /// # Errors
    ///
    /// The folder cannot be used, and the server keeps the certificate of this process.
    pub fn keep_certificate(&mut self, folder: &Path) -> Result<(), KeepError> {
        let Some(encryption) = &mut self.encryption else { return Ok(()) };
        let Some(development) = &encryption.development else { return Ok(()) };
        let settings = development.kept_in(folder)?;
        encryption.development = DevelopmentCertificate::of(&settings);
        self.server = mem::take(&mut self.server).tls(settings);
        Ok(())
    }
}

fn redirected(connections: RedirectedConnections) -> Redirected {
    match connections {
        RedirectedConnections::None => Redirected::None,
        RedirectedConnections::All => Redirected::All,
        RedirectedConnections::At(address) => Redirected::At(address),
    }
}

/// Adds a listener to a server.
#[must_use]
pub fn listening(server: Server, listener: &ListenerSettings) -> Server {
    match listener.scheme() {
        Scheme::Https => server.listen_tls(listener.address.to_string()),
        Scheme::Http => server.listen(listener.address.to_string()),
    }
}

/// Divides the descriptors of the process, if so many files are to be cached.
pub fn shares(listening: &ListeningOptions, cached_files: usize) -> Shares {
    Shares::new(workers(listening), cached_files)
}

fn workers(options: &ListeningOptions) -> usize {
    let named = || options.worker_cores.as_ref().and_then(|cores| cores.0.count()).map(usize::from);
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    options.workers.map(|workers| workers.in_memory()).or_else(named).unwrap_or_else(available)
}

fn listen_options(options: &ListeningOptions) -> ListenOptions {
    ListenOptions {
        backlog: options.backlog.get(),
        share: options.reuse_port,
        unix_mode: options.unix_mode.map(|mode| mode.0),
    }
}

fn proxy_protocol(options: &ListeningOptions) -> ProxyProtocol {
    if options.proxy_protocol { ProxyProtocol::Required } else { ProxyProtocol::Off }
}

fn versions(options: &HttpOptions) -> Versions {
    match options.http {
        VersionsOfHttp::Both => Versions::Both,
        VersionsOfHttp::Http1 => Versions::Http1,
        VersionsOfHttp::Http2 => Versions::Http2,
    }
}

fn limits(options: &LimitOptions, shares: Shares) -> Limits {
    Limits {
        connections: options.max_connections.map_or(shares.connections, |most| most.in_memory()),
        body: options.max_body.map_or(Limits::default().body, |limit| limit.0),
        head: options.max_head.in_memory(),
        fields: options.max_fields.in_memory(),
        target: options.max_target.in_memory(),
    }
}

fn client_rules(options: &LimitOptions, bans: Bans, trusted: TrustedProxies) -> serow::ClientRules {
    let connections = options.max_connections_per_client.map_or(0, |most| most.in_memory());
    serow::ClientRules { bans, connections: u32::try_from(connections).unwrap_or(u32::MAX), trusted }
}

fn timeouts(options: &TimeoutOptions) -> Timeouts {
    Timeouts {
        head: options.head_timeout.0,
        idle: options.idle_timeout.0,
        body: options.body_timeout.0,
        grace: options.grace.0,
    }
}

/// The token of a file, for a port.
fn admin_token(options: &AdminOptions) -> Result<Option<String>, SettingError> {
    checks::admin(options)?;
    let Some(file) = &options.admin_token_file else { return Ok(None) };
    let refuse = |reason| SettingError::new("admin-token-file", format!("`admin-token-file`: {reason}"));
    admin_token::read(file).map(Some).map_err(refuse)
}

/// The access log of a command line, which has one at most, without a table.
fn access_log(options: &LoggingOptions) -> Result<Option<(Destination, Format)>, SettingError> {
    let format = options.access_log_format.to_string().parse::<Format>();
    let format =
        format.map_err(|error| SettingError::new("access-log-format", format!("`access-log-format`: {error}")))?;
    let destination = options.access_log.0.first().and_then(|table| table.file.clone());
    Ok(destination.map(|destination| (destination.0, format)))
}

fn level(options: LevelChoice) -> LevelFilter {
    match options {
        LevelChoice::Off => LevelFilter::OFF,
        LevelChoice::Error => LevelFilter::ERROR,
        LevelChoice::Warn => LevelFilter::WARN,
        LevelChoice::Info => LevelFilter::INFO,
        LevelChoice::Debug => LevelFilter::DEBUG,
        LevelChoice::Trace => LevelFilter::TRACE,
    }
}

#[cfg(test)]
mod tests {
    use serow_proxy::SpoolSpace;

    use super::*;
    use serow_config::{options::without_options, values::Count};

    /// Of a process that may open as many as it likes.
    const ALL: Shares = Shares { connections: 0, cached_files: 128 };

    #[test]
    fn workers_are_as_many_as_is_set_or_as_cores_are_named() {
        let count = |workers, cores: Option<&str>| {
            let mut options: GeneralOptions = without_options();
            options.listening.workers = workers;
            options.listening.worker_cores = cores.map(|cores| cores.parse().unwrap());
            super::workers(&options.listening)
        };
        let three = Some(Count::of(3));
        assert_eq!((count(three, Some("0,5")), count(three, Some("auto")), count(None, Some("0,5"))), (3, 3, 2));
        assert_eq!(count(None, Some("auto")), count(None, None));
    }

    #[test]
    fn without_options_the_parts_have_their_own_defaults() {
        let options: GeneralOptions = without_options();
        assert_eq!(limits(&options.limits, ALL), Limits::default());
        assert_eq!(timeouts(&options.timeouts), Timeouts::default());
        assert_eq!(options.limits.max_spool.0, SpoolSpace::default().limit());
        assert_eq!(options.listening.backlog.get(), ListenOptions::default().backlog);
    }
}
