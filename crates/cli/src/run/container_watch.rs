//! The watch over containers, whose routes are files that the master adds to the settings.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use serow_admin::{Precondition, SettingsChange};
use serow_assembly::Docker;
use serow_containers::{RouteSink, SharedReport, SinkError, TakenHosts, WatcherThread};
use serow_supervisor::master::ChangeRequests;

use super::requested_change::{self, ChangeFailure};

/// The watch over containers, before it begins.
pub(super) struct PreparedWatch {
    docker: Docker,
    /// The files of containers in effect, by their names.
    files: BTreeMap<String, String>,
    requests: ChangeRequests,
    taken: TakenHosts,
    pub(super) report: SharedReport,
}

/// The watch over containers, if there is one. Clones are handles to the same.
#[derive(Clone, Default)]
pub(super) struct ContainerWatch {
    thread: Arc<Mutex<Option<WatcherThread>>>,
    taken: TakenHosts,
}

impl PreparedWatch {
    /// A watch with these rules beside sites with these hosts.
    pub(super) fn new(
        docker: Docker,
        files: BTreeMap<String, String>,
        requests: ChangeRequests,
        hosts: Vec<String>,
    ) -> Self {
        if let Some(problem) = docker.address.problem() {
            tracing::warn!("{problem}");
        }
        Self { docker, files, requests, taken: TakenHosts::new(hosts), report: SharedReport::default() }
    }

    /// A handle that begins and ends it.
    pub(super) fn watch(&self) -> ContainerWatch {
        ContainerWatch { thread: Arc::default(), taken: self.taken.clone() }
    }

    /// Begins: the master makes changes from now on.
    pub(super) fn begin(self, watch: &ContainerWatch) -> io::Result<()> {
        let Self { docker: Docker { address, settings }, files, requests, taken, report } = self;
        let thread = WatcherThread::start(address, settings, taken, files, report, MasterSink(requests))?;
        *watch.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }
}

impl ContainerWatch {
    /// The sites have these hosts from now on.
    pub(super) fn replace_hosts(&self, hosts: Vec<String>) {
        self.taken.replace(hosts);
    }

    /// Ends it: another process watches from now on.
    pub(super) fn end(&self) {
        drop(self.thread.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Has the master change files.
struct MasterSink(ChangeRequests);

impl RouteSink for MasterSink {
    async fn change(&self, name: String, text: Option<String>) -> Result<(), SinkError> {
        let name = name.parse().map_err(|error| SinkError::Refused(format!("{error}")))?;
        let change = SettingsChange { name, text, precondition: Precondition::None };
        match requested_change::request(&self.0, change).await {
            Ok(()) | Err(ChangeFailure::Unknown) => Ok(()),
            Err(ChangeFailure::Refused(reason)) => Err(SinkError::Refused(reason)),
            Err(ChangeFailure::Unavailable(reason)) => Err(SinkError::Unavailable(reason)),
        }
    }
}
