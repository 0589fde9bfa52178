//! php-fpm as an application, and the proxy for its requests.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use serow_client::CgiProtocol;
use serow_processes::{StartCancellation, StartError, Workers};
use serow_proxy::{
    Balancing, CrashSettings, Forwarded, ForwardingSettings, PassiveSettings, Proxy, RetrySettings, Successor,
    Upstream, UpstreamSettings, UpstreamTimeouts,
};

use crate::fpm::{fpm_generation::FpmGeneration, settings::FpmSettings};

/// php-fpm as an application. Requests fail until it [runs](Self::run).
#[derive(Clone, Debug)]
pub struct FpmApplication {
    shared: Arc<FpmState>,
}

/// The state that all threads share.
#[derive(Debug)]
pub(crate) struct FpmState {
    pub(crate) settings: FpmSettings,
    pub(crate) upstream: Upstream,
    /// Whether children had requests lately, so that they have to be looked at.
    is_active: AtomicBool,
    /// Requests up to the last look.
    requests: AtomicU64,
}

impl FpmApplication {
    /// This php-fpm.
    #[must_use]
    pub fn new(settings: FpmSettings) -> Self {
        let defaults = UpstreamTimeouts::default();
        let upstream = Upstream::new(UpstreamSettings {
            cgi_protocol: Some(CgiProtocol::Fastcgi),
            balancing: Balancing::LeastRequests,
            timeouts: UpstreamTimeouts {
                response: settings.run.timeout,
                transfer: settings.run.transfer_timeout.unwrap_or(defaults.transfer),
                ..defaults
            },
            queue: settings.run.queue,
            // Another php-fpm starts soon.
            waits_for_servers: true,
            // Children are not ejected: php-fpm replaces those that end.
            passive: PassiveSettings { failures: 0, ..PassiveSettings::default() },
            // One child may answer a request that has crashed another one.
            crashes: Some(CrashSettings { min_servers: Some(1), successor: Successor::SameSocket }),
            // A script that takes too long would take as long again.
            retries: RetrySettings { on_timeout: false, ..RetrySettings::default() },
            holds_overdue: true,
            ..UpstreamSettings::new(settings.run.name.clone(), Vec::new())
        });
        let (is_active, requests) = (AtomicBool::new(true), AtomicU64::new(0));
        Self { shared: Arc::new(FpmState { settings, upstream, is_active, requests }) }
    }

    /// Starts php-fpm and waits until all children can answer. It blocks the thread meanwhile: in an async function, call it
    /// before the server takes requests, or by `spawn_blocking`.
    ///
    /// # Errors
    ///
    /// Why it does not start, with the last lines that it wrote.
    pub fn run(&self) -> Result<Workers, StartError> {
        self.run_unless(&StartCancellation::default())
    }

    /// The same, until it is cancelled.
    ///
    /// # Errors
    ///
    /// As [`Self::run`], and if it is cancelled.
    pub fn run_unless(&self, cancellation: &StartCancellation) -> Result<Workers, StartError> {
        serow_processes::start::<FpmGeneration>(Arc::clone(&self.shared), cancellation)
    }

    /// The proxy that passes requests on, which have a script in their extensions; request bodies are buffered first.
    #[must_use]
    pub fn proxy(&self) -> Proxy {
        let run = &self.shared.settings.run;
        let forwarding = ForwardingSettings {
            buffering: Some(run.buffer.clone()),
            forwarded: Forwarded { trusted: run.trusted.clone(), ..Forwarded::default() },
            field_names: self.shared.settings.field_names,
            internal_redirects: run.internal_redirects,
            note_attempts: run.note_attempts,
            ..ForwardingSettings::default()
        };
        Proxy::new(self.shared.upstream.clone(), forwarding)
    }

    /// The children as the servers that they are.
    #[must_use]
    pub fn upstream(&self) -> &Upstream {
        &self.shared.upstream
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &FpmSettings {
        &self.shared.settings
    }
}

impl FpmState {
    /// Notes at a look whether all children are quiet.
    pub(crate) fn note_activity(&self, is_quiet: bool) {
        let requests = self.upstream.servers().iter().map(|server| server.requests()).sum();
        let had_requests = self.requests.swap(requests, Ordering::Relaxed) != requests;
        self.is_active.store(had_requests || !is_quiet, Ordering::Relaxed);
    }

    /// The time until the next look.
    pub(crate) fn pause(&self) -> Duration {
        if self.is_active.load(Ordering::Relaxed) { PAUSE } else { Duration::MAX }
    }
}

/// How long a request waits for a child that is not idle, before it goes to another one: at least this time, and at most
/// twice. A child that goes on after its response mostly needs less.
const PAUSE: Duration = Duration::from_millis(10);
