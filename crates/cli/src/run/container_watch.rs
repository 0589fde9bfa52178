//! The watch over containers, whose routes are files that the master adds to the settings.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use serde::Deserialize;
use serde_json::Value;
use serow_admin::{ChangeRefusal, Precondition, SettingsChange};
use serow_assembly::Docker;
use serow_containers::{RouteSink, SharedReport, SinkError, TakenHosts, WatcherThread};
use serow_supervisor::master::{ChangeError, ChangeRequests};

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
        let refused = |error: &dyn std::fmt::Display| SinkError::Refused(error.to_string());
        let name = name.parse().map_err(|error| refused(&error))?;
        let change = SettingsChange { name, text, precondition: Precondition::None };
        let change = serde_json::to_value(change).map_err(|error| refused(&error))?;
        match self.0.change(&change).await {
            Ok(_) => Ok(()),
            Err(ChangeError::Refused(refusal)) => of_refusal(&refusal),
            Err(ChangeError::Invalid(reason)) => Err(SinkError::Refused(reason)),
            Err(ChangeError::NotKept(reason) | ChangeError::NotNow(reason)) => Err(SinkError::Unavailable(reason)),
        }
    }
}

fn of_refusal(refusal: &Value) -> Result<(), SinkError> {
    match ChangeRefusal::deserialize(refusal) {
        // It is gone already.
        Ok(ChangeRefusal::Unknown) => Ok(()),
        Ok(refusal @ ChangeRefusal::NotKept(_)) => Err(SinkError::Unavailable(refusal.to_string())),
        Ok(refusal) => Err(SinkError::Refused(refusal.to_string())),
        Err(error) => Err(SinkError::Refused(error.to_string())),
    }
}
