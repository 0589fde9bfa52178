//! Other settings for a server that serves: what can be exchanged in its process is, and the rest needs another one.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use serow::TlsFiles;
use serow_admin::{ServerCommand, Sources};
use serow_assembly::{Configuration, FixedParts, KeptParts};
use serow_config::ConfigurationError;
use serow_proxy::BackgroundTasks;
use serow_site::LiveSites;
use serow_supervisor::master::{Adoption, AdoptionCause};

use super::{access_threads::AccessThreads, container_watch::ContainerWatch, warnings::Warnings};
use crate::{application_host::application_host, command_error::CommandError, sandbox::SandboxState};

/// The settings that a process serves with.
pub(super) struct LiveSettings {
    /// Where their file is.
    pub(super) file: PathBuf,
    pub(super) fixed: FixedParts,
    pub(super) kept: KeptParts,
    pub(super) warnings: Warnings,
    /// Whether the process can open only the files that it needs.
    pub(super) sandbox: SandboxState,
    pub(super) tls_files: TlsFiles,
    pub(super) sites: LiveSites,
    pub(super) parts: SharedParts,
    /// The watch over containers.
    pub(super) containers: ContainerWatch,
}

/// The parts beside the sites that other settings exchange.
pub(super) struct ExchangedParts {
    pub(super) sources: Sources,
    /// None when the server has ended.
    pub(super) threads: Option<ExchangedThreads>,
}

/// The threads among them.
pub(super) struct ExchangedThreads {
    /// Health checks and name lookups.
    pub(super) background_tasks: BackgroundTasks,
    pub(super) access: AccessThreads,
}

/// The parts for all who need them: the thread that obeys the master, and the one that ends the server.
#[derive(Clone)]
pub(super) struct SharedParts(Arc<Mutex<ExchangedParts>>);

impl SharedParts {
    pub(super) fn new(sources: Sources, background_tasks: BackgroundTasks, access: AccessThreads) -> Self {
        let threads = Some(ExchangedThreads { background_tasks, access });
        Self(Arc::new(Mutex::new(ExchangedParts { sources, threads })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ExchangedParts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the threads. Other settings are not adopted from then on.
    pub(super) fn end_threads(&self) {
        let threads = self.lock().threads.take();
        drop(threads);
    }
}

impl LiveSettings {
    /// Serves with the settings of this text from now on, with these persistent commands to upstreams, unless something needs a
    /// process of its own.
    ///
    /// A reload starts applications again, since that is how people deploy them; a change of routes leaves them alone.
    pub(super) fn adopt(&mut self, text: Vec<u8>, overrides: &[Value], cause: AdoptionCause) -> Adoption {
        let kept = match cause {
            AdoptionCause::Change => &self.kept,
            AdoptionCause::Reload => &self.kept.without_applications(),
        };
        let followed = serow_assembly::following(&self.file, text.clone(), &application_host(), kept);
        let configuration = match followed {
            Ok(configuration) => configuration,
            Err(error) => return self.obstacle(text, &error),
        };
        let reason = self.fixed.reason_for_process(&configuration.fixed);
        let exchanged = match reason.or_else(|| self.sandbox.reason_for_process(&configuration)) {
            Some(reason) => Err(reason),
            None => self.exchange(configuration, overrides),
        };
        exchanged.map_or_else(Adoption::NeedsProcess, |()| Adoption::Adopted)
    }

    /// The outcome for settings with this error. Another process would find them as wrong, unless files have a part in it,
    /// which it may be able to open.
    fn obstacle(&self, text: Vec<u8>, error: &ConfigurationError) -> Adoption {
        match serow_assembly::check_settings(&self.file, text) {
            Err(error) => Adoption::Refused(error.to_string()),
            Ok(()) => {
                let error = error.to_string();
                let first_line = error.lines().next().unwrap_or_default();
                Adoption::NeedsProcess(format!("the serving one cannot read them: {first_line}"))
            }
        }
    }

    fn exchange(&mut self, mut configuration: Configuration, overrides: &[Value]) -> Result<(), String> {
        let mut parts = self.parts.lock();
        let ExchangedParts { sources, threads } = &mut *parts;
        let threads = threads.as_mut().ok_or("the server is stopping")?;
        self.warnings.replace(&configuration);
        let failed = |error| CommandError::system(error).message();
        // The others have had them, and later commands, since they were made.
        ServerCommand::apply_overrides(overrides, &configuration.made_upstreams);
        let upstreams = configuration.upstreams_with_programs();
        threads.background_tasks.replace(upstreams.clone()).map_err(failed)?;
        threads.access.replace(&mut configuration).map_err(failed)?;
        sources.replace(upstreams, configuration.mirrors, threads.access.counts.clone());
        (self.fixed, self.kept) = (configuration.fixed, configuration.kept);
        self.tls_files.reload();
        self.sites.replace(configuration.site);
        self.containers.replace_hosts(configuration.hosts);
        Ok(())
    }
}
