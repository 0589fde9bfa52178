//! `serow proxy`: forwards requests to other servers until it is stopped.

use serow_assembly::{ServerSettings, forwarding_settings, reads_attempts, upstream_settings};
use serow_config::{Scope, SettingError};
use serow_net::process::forbid_tracing;
use serow_proxy::{BackgroundTasks, ForwardingSettings, Proxy, TrustedProxies, Upstream, UpstreamSettings};
use serow_site::Content;

use crate::{
    arguments::ProxyArguments,
    command_error::CommandError,
    descriptors, environment_port, error_log,
    response_options::ResponsePolicy,
    script_option::OpenedScript,
    serving::{Served, Serving},
    static_files::StaticFiles,
};

/// The settings of `serow proxy`.
pub(crate) struct ProxySettings {
    /// The servers.
    pub(crate) upstream: UpstreamSettings,
    /// How requests are changed on their way.
    pub(crate) forwarding: ForwardingSettings,
    /// Static files, before the servers.
    pub(crate) static_files: StaticFiles,
    /// The compression and caching of responses.
    pub(crate) responses: ResponsePolicy,
    /// The script that all requests pass first, if there is one.
    pub(crate) script: OpenedScript,
    /// The settings of the server as a whole.
    pub(crate) server: ServerSettings,
}

impl ProxySettings {
    /// Finds out what the options mean together.
    pub(crate) fn new(arguments: ProxyArguments) -> Result<Self, CommandError> {
        let ProxyArguments {
            servers,
            upstream,
            mut forwarding,
            static_files,
            responses,
            script,
            mut general,
            terminal,
        } = arguments;
        let shares = static_files.shares(&general.listening, false);
        environment_port::listen_there(&mut general)?;
        forwarding.trust = Some(general.listening.trust.clone());
        let trusted: TrustedProxies = general.listening.trust.iter().map(|network| network.0).collect();
        let note_attempts = reads_attempts(&general.logging);
        let served = servers.iter().map(|server| server.address.to_string()).collect::<Vec<_>>().join(" ");
        let upstream = upstream_settings(UPSTREAM.to_owned(), &servers, upstream);
        let script = script.open(trusted)?;
        let mut server = ServerSettings::new(general, shares)?;
        terminal.apply(&mut server);
        Ok(Self {
            // On a command line they have no name.
            upstream: upstream
                .map_err(|found| SettingError { text: found.text.replace("`servers`", "UPSTREAM"), ..found })?,
            forwarding: ForwardingSettings { note_attempts, ..forwarding_settings(forwarding, &Scope::default())? },
            static_files: static_files.open(shares)?,
            script,
            responses: responses.policy(served),
            server,
        })
    }
}

/// Proxies until TERM or INT.
pub(crate) fn serve(settings: ProxySettings) -> Result<(), CommandError> {
    let ProxySettings { upstream, forwarding, static_files, responses, script, server } = settings;
    error_log::begin(server.level);
    forbid_tracing().map_err(CommandError::system)?;
    descriptors::require(server.needed_descriptors())?;
    let served = upstream.servers.iter().map(|server| server.address.to_string()).collect::<Vec<_>>().join(", ");
    let upstream = Upstream::new(upstream);
    let _background_tasks = BackgroundTasks::start(vec![upstream.clone()]).map_err(CommandError::system)?;
    let proxy = Proxy::new(upstream.clone(), forwarding);
    let cache = responses.store();
    Serving::bind(server)?.serve(
        script.around(static_files.before(responses.around(Content::Proxy(proxy)))),
        Served { name: &served, upstreams: vec![upstream], cache, ..Served::default() },
    )
}

/// The name of the upstream that the servers of a command line form.
const UPSTREAM: &str = "upstream";
