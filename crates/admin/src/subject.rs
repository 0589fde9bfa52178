//! The server, or the master with its generations, that an admin endpoint reports on and controls.

use serde::Serialize;
use serde_json::{Value, json};
use serow::Stopper;
use serow_acme::CertificateCommand;
use serow_net::time;
use serow_processes::Reloader;
use serow_supervisor::master::{Control, GenerationReport, ProcessOfReload, Reloaded, Report, WantedProcess};

use super::{
    ban_command::BanCommand,
    cache_inquiry::CacheInquiry,
    config_pages::SharedAddedSettings,
    fleet_command::{FleetOutcome, FleetRequest},
    maintenance_command::MaintenanceCommand,
    purge_command::PurgeCommand,
    server_command::ServerCommand,
    sources::Sources,
    total,
};

/// The server or master that an admin endpoint reports on and controls.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one for each request of an administrator")]
pub enum Subject {
    /// The server of this process.
    Server {
        /// Where its numbers come from.
        sources: Sources,
        /// Ends it.
        stopper: Stopper,
        /// Reloads its application, if it has one.
        reloader: Option<Reloader>,
    },
    /// The generations of `serow run`.
    Master {
        /// Sends it requests.
        control: Control,
        /// Its added files.
        added: SharedAddedSettings,
    },
}

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is nothing that could do it.
    Impossible(&'static str),
    /// It was tried, and this is wrong.
    Failed(String),
}

impl Subject {
    /// Its status in JSON; nothing while it stops.
    pub(super) async fn status(&self) -> Option<Value> {
        match self {
            Self::Server { sources, .. } => Some(sources.document()),
            Self::Master { control, .. } => control.report().await.map(|report| of_generations(&report)),
        }
    }

    /// Reads the settings again; returns what was done.
    pub(super) async fn reload(&self, process: WantedProcess) -> Result<String, Refusal> {
        match self {
            Self::Server { reloader: Some(_), .. } if process == WantedProcess::New => {
                Err(Refusal::Impossible("only 'serow run' starts a new process: restart this server"))
            }
            Self::Server { reloader: Some(reloader), .. } => match reloader.reload().await {
                Ok(()) => Ok("the application is reloaded\n".to_owned()),
                Err(why) => Err(Refusal::Failed(why.to_string())),
            },
            Self::Server { .. } => Err(Refusal::Impossible("a server without a settings file has nothing to reload")),
            Self::Master { control, .. } => match control.reload(process).await {
                Ok(reloaded) => Ok(sentence(&reloaded)),
                Err(reason) => Err(Refusal::Failed(reason)),
            },
        }
    }

    /// Applies a command to a server of an upstream; returns what was done.
    pub(super) async fn apply(&self, command: ServerCommand) -> Result<String, Refusal> {
        self.command(&command, command.persist, |sources| command.apply(&sources.upstreams)).await
    }

    /// Applies a command to a certificate; returns what is being done.
    pub(super) async fn apply_to_certificate(&self, command: CertificateCommand) -> Result<String, Refusal> {
        self.command(&command, false, |sources| sources.certificates.apply(command.clone())).await
    }

    /// Bans a client, or lifts a ban; returns what was done. Later generations have the bans from those before them.
    pub(super) async fn apply_ban(&self, command: BanCommand) -> Result<String, Refusal> {
        self.command(&command, false, |sources| command.apply(&sources.bans)).await
    }

    /// Purges the caches of all generations; returns what the serving one has done.
    pub(super) async fn apply_purge(&self, command: PurgeCommand) -> Result<String, Refusal> {
        self.command(&command, false, |sources| command.apply(sources.cache.as_ref())).await
    }

    /// Returns the contents of the cache of the serving generation, in JSON.
    pub(super) async fn cache(&self, inquiry: CacheInquiry) -> Result<String, Refusal> {
        self.command(&inquiry, false, |sources| inquiry.answer(sources.cache.as_ref())).await
    }

    /// Begins or ends maintenance; returns what was done.
    pub(super) async fn apply_maintenance(&self, command: MaintenanceCommand) -> Result<String, Refusal> {
        self.command(&command, true, |sources| command.apply(&sources.maintenance)).await
    }

    /// Gives a command to all servers of the fleet; returns the outcome.
    pub(super) async fn apply_to_fleet(&self, request: &FleetRequest) -> Result<FleetOutcome, Refusal> {
        let Self::Master { control, .. } = self else { return Err(Refusal::Impossible(WITHOUT_FLEET)) };
        let value = serde_json::to_value(request).map_err(|error| Refusal::Failed(error.to_string()))?;
        let outcome = control.command(value, false).await.map_err(Refusal::Failed)?;
        serde_json::from_str(&outcome).map_err(|error| Refusal::Failed(error.to_string()))
    }

    /// Applies a command to the server of this process, or has the generations do it; later ones as well, if it persists.
    async fn command(
        &self,
        command: &impl Serialize,
        persist: bool,
        apply: impl FnOnce(&Sources) -> Result<String, String>,
    ) -> Result<String, Refusal> {
        let done = match self {
            Self::Server { sources, .. } => apply(sources),
            Self::Master { control, .. } => match serde_json::to_value(command) {
                Ok(value) => control.command(value, persist).await,
                Err(error) => Err(error.to_string()),
            },
        };
        done.map(|done| format!("{done}\n")).map_err(Refusal::Failed)
    }

    /// Stops gracefully. A second time changes nothing: only a second signal is urgent.
    pub(super) async fn stop(&self) {
        match self {
            Self::Server { stopper, .. } if stopper.is_stopping() => {}
            Self::Server { stopper, .. } => stopper.stop(),
            Self::Master { control, .. } => control.stop().await,
        }
    }
}

/// The answer to a successful reload.
pub(super) fn sentence(Reloaded { number, process, still_accepts }: &Reloaded) -> String {
    let process = match process {
        ProcessOfReload::Same => " with the new settings".to_owned(),
        ProcessOfReload::New { reason: Some(reason) } => format!(" in a new process: {reason}"),
        ProcessOfReload::New { reason: None } => String::new(),
    };
    let hint = still_accepts.map_or_else(String::new, |before| {
        format!(
            "; generation {before} does not answer, and may still answer some requests with the old settings: \
             'serow status' shows whether it does"
        )
    });
    format!("generation {number} serves{process}{hint}\n")
}

/// Returns the sums of all generations, those that have ended too, and the list of generations.
pub(super) fn of_generations(report: &Report) -> Value {
    let mut sum = report.ended.clone().unwrap_or_default();
    for generation in &report.generations {
        if let Some(report) = &generation.report {
            total::add_report(&mut sum, report);
        }
    }
    let serving = report.generations.iter().find(|generation| generation.stage == "serving");
    let serving = serving.and_then(|generation| generation.report.as_ref());
    total::identify(&mut sum, serving, time::seconds_since_1970());
    if let Value::Object(fields) = &mut sum {
        // Maintenance has a field of its own.
        let of_servers = report.remembered.iter().filter(|command| command.get("upstream").is_some());
        fields.insert("remembered".to_owned(), of_servers.cloned().collect());
        fields.insert("generations".to_owned(), report.generations.iter().map(generation).collect());
        fields.insert(
            "reloads".to_owned(),
            json!({
                "done": report.events.reloads,
                "adopted": report.events.adopted,
                "failed": report.events.failed_reloads,
                "crashes": report.events.crashes,
                "last_failure": report.events.last_failure,
            }),
        );
    }
    sum
}

fn generation(generation: &GenerationReport) -> Value {
    let number = |path| generation.report.as_ref().and_then(|report| report.pointer(path)).cloned();
    json!({
        "number": generation.number,
        "process": generation.pid,
        "stage": generation.stage,
        "answers": generation.answers,
        "uptime_seconds": number("/uptime_seconds"),
        "connections_open": number("/connections/open"),
        "requests_in_progress": number("/requests/in_progress"),
    })
}

const WITHOUT_FLEET: &str = "a fleet needs 'serow run' with [redis] in its settings file, on all of its servers";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_a_reload_names_the_process_and_why_it_is_a_new_one() {
        let new = |reason: Option<&str>| ProcessOfReload::New { reason: reason.map(str::to_owned) };
        for (process, still_accepts, expected) in [
            (ProcessOfReload::Same, None, "generation 2 serves with the new settings\n"),
            (new(None), None, "generation 2 serves\n"),
            (
                new(Some("`workers` is another value")),
                None,
                "generation 2 serves in a new process: `workers` is another value\n",
            ),
            (
                new(Some("the serving process has not answered")),
                Some(1),
                "generation 2 serves in a new process: the serving process has not answered; generation 1 does not answer, \
                 and may still answer some requests with the old settings: 'serow status' shows whether it does\n",
            ),
        ] {
            assert_eq!(sentence(&Reloaded { number: 2, process, still_accepts }), expected);
        }
    }
}
