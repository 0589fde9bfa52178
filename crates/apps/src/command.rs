//! Any program that serves HTTP as an application: copies of it are started, and requests are handed to them.
//!
//! | what | file |
//! | --- | --- |
//! | what can be set | `command/settings.rs` |
//! | where a copy is reached, and how it is told: a port, a unix socket, a socket it inherits | `command/entrance.rs` |
//! | one copy: its process, its output, whether it answers yet | `command/copy.rs` |
//! | the copies of one loading: started, watched, replaced | `command/generation.rs`, `keeper.rs` |
//!
//! The way of a request is that of the proxy, whose servers the copies are.

mod generation;
mod program_copy;
mod program_socket;
mod settings;

use std::{sync::Arc, time::Duration};

use serow_proxy::{
    Balancing, CrashSettings, Forwarded, ForwardingSettings, KeepSettings, PassiveSettings, Proxy, Upstream,
    UpstreamSettings, UpstreamTimeouts,
};

use self::generation::CommandGeneration;
pub use self::settings::{Binding, CommandSettings};
use crate::{application::Workers, worker_manager};

/// Any program as an application. There is nobody to answer until it [runs](Self::run).
#[derive(Clone, Debug)]
pub struct CommandApplication {
    shared: Arc<Shared>,
}

/// What is known of the application wherever it is asked.
#[derive(Debug)]
pub(crate) struct Shared {
    settings: CommandSettings,
    upstream: Upstream,
}

impl CommandApplication {
    /// This program.
    #[must_use]
    pub fn new(settings: CommandSettings) -> Self {
        let defaults = UpstreamTimeouts::default();
        let upstream = Upstream::new(UpstreamSettings {
            balancing: Balancing::LeastRequests,
            timeouts: UpstreamTimeouts { response: settings.run.timeout, ..defaults },
            keep: KeepSettings { idle_time: IDLE_TIME, ..KeepSettings::default() },
            queue: settings.run.queue,
            // Another copy comes soon.
            waits_for_servers: true,
            // A copy that lives is asked: it is its process that tells of its health.
            passive: PassiveSettings { failures: 0, ..PassiveSettings::default() },
            crashes: Some(CrashSettings { min_servers: least_copies(&settings) }),
            ..UpstreamSettings::new(settings.run.name.clone(), Vec::new())
        });
        Self { shared: Arc::new(Shared { settings, upstream }) }
    }

    /// Starts the copies and waits until they can answer.
    ///
    /// # Errors
    ///
    /// Why they cannot, with the last lines that they wrote.
    pub fn run(&self) -> Result<Workers, String> {
        let (keeper, thread) = worker_manager::start::<CommandGeneration>(Arc::clone(&self.shared))?;
        Ok(Workers::new(keeper, thread))
    }

    /// What answers requests; bodies of requests are taken whole before a copy is asked.
    #[must_use]
    pub fn handler(&self) -> Proxy {
        let run = &self.shared.settings.run;
        let forwarding = ForwardingSettings {
            buffering: Some(run.buffer.clone()),
            forwarded: Forwarded { trusted: run.trusted.clone(), ..Forwarded::default() },
            field_names: self.shared.settings.field_names,
            ..ForwardingSettings::default()
        };
        Proxy::new(self.shared.upstream.clone(), forwarding)
    }

    /// The copies as the servers that they are.
    #[must_use]
    pub fn upstream(&self) -> &Upstream {
        &self.shared.upstream
    }

    /// What it is.
    #[must_use]
    pub fn settings(&self) -> &CommandSettings {
        &self.shared.settings
    }
}

/// How many copies have to be up for a request that one has crashed with to be sent to another. The only one is always the last;
/// those at a socket that all inherit are one server.
fn least_copies(settings: &CommandSettings) -> Option<usize> {
    match (settings.run.processes.get(), settings.binding) {
        (1, _) => None,
        (_, Binding::Inherit) => Some(1),
        (_, Binding::Port | Binding::Unix) => Some(2),
    }
}

/// How long connections to copies are kept: Node closes those that were idle for 5 s, the shortest time of all usual servers,
/// and who closes first is not surprised.
const IDLE_TIME: Duration = Duration::from_secs(4);
