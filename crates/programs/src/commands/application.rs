//! A program as an application, and the handler for its requests.

use std::{sync::Arc, time::Duration};

use serow_processes::{StartCancellation, StartError, Workers};
use serow_proxy::{
    Balancing, CrashSettings, Forwarded, ForwardingSettings, KeepSettings, PassiveSettings, Proxy, Successor, Upstream,
    UpstreamSettings, UpstreamTimeouts,
};

use crate::commands::{
    command_generation::CommandGeneration,
    settings::{Binding, CommandSettings},
};

/// Any program as an application. Requests fail until it [runs](Self::run).
#[derive(Clone, Debug)]
pub struct CommandApplication {
    shared: Arc<CommandState>,
}

/// The state that all threads share.
#[derive(Debug)]
pub(crate) struct CommandState {
    pub(crate) settings: CommandSettings,
    pub(crate) upstream: Upstream,
}

impl CommandApplication {
    /// This program.
    #[must_use]
    pub fn new(settings: CommandSettings) -> Self {
        let defaults = UpstreamTimeouts::default();
        let upstream = Upstream::new(UpstreamSettings {
            balancing: Balancing::LeastRequests,
            timeouts: UpstreamTimeouts {
                response: settings.run.timeout,
                transfer: settings.run.transfer_timeout.unwrap_or(defaults.transfer),
                ..defaults
            },
            keep: KeepSettings { idle_time: IDLE_TIME, ..KeepSettings::default() },
            queue: settings.run.queue,
            // Another copy starts soon.
            waits_for_servers: true,
            // Copies are not ejected: a copy is healthy as long as its process runs.
            passive: PassiveSettings { failures: 0, ..PassiveSettings::default() },
            crashes: Some(CrashSettings { min_servers: least_copies(&settings), successor: Successor::Elsewhere }),
            ..UpstreamSettings::new(settings.run.name.clone(), Vec::new())
        });
        Self { shared: Arc::new(CommandState { settings, upstream }) }
    }

    /// Starts the copies and waits until they can answer. It blocks the thread meanwhile: in an async function, call it
    /// before the server takes requests, or by `spawn_blocking`.
    ///
    /// # Errors
    ///
    /// Why they cannot, with the last lines that they wrote.
    pub fn run(&self) -> Result<Workers, StartError> {
        self.run_unless(&StartCancellation::default())
    }

    /// The same, until it is cancelled.
    ///
    /// # Errors
    ///
    /// As [`Self::run`], and if it is cancelled.
    pub fn run_unless(&self, cancellation: &StartCancellation) -> Result<Workers, StartError> {
        serow_processes::start::<CommandGeneration>(Arc::clone(&self.shared), cancellation)
    }

    /// The handler for requests to this program; request bodies are buffered first.
    #[must_use]
    pub fn handler(&self) -> Proxy {
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

    /// The copies as the servers that they are.
    #[must_use]
    pub fn upstream(&self) -> &Upstream {
        &self.shared.upstream
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &CommandSettings {
        &self.shared.settings
    }
}

/// How many copies have to be up for a retry of a request that has crashed one. A single copy is always the last;
/// copies with an inherited socket are one server.
fn least_copies(settings: &CommandSettings) -> Option<usize> {
    match (settings.run.processes.get(), settings.binding) {
        (1, _) => None,
        (_, Binding::Inherit) => Some(1),
        (_, Binding::Port | Binding::Unix) => Some(2),
    }
}

/// How long connections to copies are kept: Node closes them after 5 s, the shortest time of all common servers, and
/// the proxy should close first.
const IDLE_TIME: Duration = Duration::from_secs(4);
