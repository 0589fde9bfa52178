//! The orders of the master that a generation carries out.

use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use serde::Deserialize;
use serde_json::Value;
use serow::{EndOfAccepting, Stopper};
use serow_acme::CertificateCommand;
use serow_admin::{BanCommand, CacheInquiry, FleetBan, FleetRequest, MaintenanceCommand, PurgeCommand, ServerCommand};
use serow_site::Application;
use serow_supervisor::master::{Adoption, AdoptionCause, CommandAnswer, Orders, StopReason, Wait};

use super::{
    ban_storage::BanStorage,
    fleet_commands::FleetCommands,
    live_settings::{LiveSettings, SharedParts},
};

/// Obeys for the server of this process.
pub(super) struct ServerOrders {
    pub(super) stopper: Stopper,
    /// The end of accepting connections, until somebody waits for it.
    pub(super) end_of_accepting: Option<EndOfAccepting>,
    pub(super) parts: SharedParts,
    pub(super) settings: LiveSettings,
    pub(super) bans: BanStorage,
    /// The commands of the fleet, or why there are none.
    pub(super) fleet: Result<FleetCommands, &'static str>,
    /// How long what runs may take when another generation serves.
    pub(super) replaced: Duration,
    /// And when the server ends.
    pub(super) stopped: Duration,
}

impl Orders for ServerOrders {
    fn leave(&mut self, reason: StopReason) -> Option<Wait> {
        if reason == StopReason::Orphaned {
            tracing::error!("the master is gone: finishing requests in flight, then stopping");
        }
        self.bans.stop();
        self.fleet.iter().for_each(FleetCommands::stop);
        self.settings.containers.end();
        match reason {
            // Connections that never end may go on beside the other generation.
            StopReason::Replaced => self.stopper.hand_over_within(self.replaced),
            StopReason::Stopped | StopReason::Orphaned => {
                self.parts.lock().sources.applications.iter().for_each(Application::close_websockets);
                self.stopper.stop_within(self.stopped);
            }
        }
        self.end_of_accepting.take().map(|end| Box::new(move || end.wait()) as Wait)
    }

    fn end(&mut self) {
        self.stopper.end();
    }

    fn reopen(&mut self) {
        // The log listens to the signal already.
        let _ = kill_process(getpid(), Signal::USR1);
    }

    fn report(&mut self) -> Value {
        self.parts.lock().sources.document()
    }

    fn adopt(&mut self, text: Vec<u8>, overrides: Vec<Value>, cause: AdoptionCause) -> Adoption {
        let adoption = self.settings.adopt(text, &overrides, cause);
        if adoption == Adoption::Adopted {
            self.fleet.iter().for_each(FleetCommands::retry);
        }
        if (&adoption, cause) == (&Adoption::Adopted, AdoptionCause::Reload) {
            // Programs that rotate logs reload a server as well.
            self.reopen();
        }
        adoption
    }

    fn command(&mut self, command: &Value) -> CommandAnswer {
        match FleetRequest::deserialize(command) {
            Ok(request) => match &self.fleet {
                Ok(fleet) => fleet.give(request),
                Err(reason) => Err((*reason).to_owned()).into(),
            },
            Err(_) => self.execute(command).into(),
        }
    }
}

impl ServerOrders {
    /// Executes a command to this server.
    fn execute(&self, command: &Value) -> Result<String, String> {
        let sources = &self.parts.lock().sources;
        if let Ok(command) = CertificateCommand::deserialize(command) {
            return sources.certificates.apply(command);
        }
        if let Ok(ban) = FleetBan::deserialize(command) {
            return ban.apply(&sources.bans);
        }
        if let Ok(command) = BanCommand::deserialize(command) {
            return command.apply(&sources.bans);
        }
        if let Ok(command) = MaintenanceCommand::deserialize(command) {
            return command.apply(&sources.maintenance);
        }
        if let Ok(inquiry) = CacheInquiry::deserialize(command) {
            return inquiry.answer(sources.cache.as_ref());
        }
        if let Ok(command) = PurgeCommand::deserialize(command) {
            return command.apply(sources.cache.as_ref());
        }
        let command = ServerCommand::deserialize(command).map_err(|error| error.to_string())?;
        command.apply(&sources.upstreams)
    }
}
