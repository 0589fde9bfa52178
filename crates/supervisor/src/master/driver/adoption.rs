//! Reloads: the serving generation adopts the settings, or another one starts.

use std::{mem, path::Path};

use super::Driver;
use crate::{
    master::{
        Duties,
        action::Action,
        event::{Event, NotAdopted},
        messages::{AdoptionCause, AdoptionOutcome},
        program_file::ProgramFile,
    },
    notifications::tell_parent,
};

impl<D: Duties> Driver<D> {
    /// Executes an action about a reload.
    pub(super) fn reload(&mut self, action: Action) {
        match action {
            Action::Reloading => self.announce_reload(),
            Action::Adopt(number, pid) => {
                self.announce_reload();
                if let Err(obstacle) = self.ask_to_adopt(number, pid) {
                    self.handle(Event::NotAdopted(pid, number, obstacle));
                }
            }
            Action::Adopted(number, pid) => self.note_adoption(number, pid),
            // The sender of a signal gets no answer.
            Action::NeedsProcess(reason) => tracing::info!("the reload starts a new process: {reason}"),
            Action::NotAdopted(reason) => self.note_refusal(reason),
            _ => {}
        }
    }

    /// Handles the answer of the generation that is asked to adopt settings.
    pub(super) fn handle_adoption(&mut self, pid: u32, number: u64, outcome: AdoptionOutcome) {
        let event = match outcome {
            AdoptionOutcome::Adopted => Event::Adopted(pid, number),
            AdoptionOutcome::NeedsProcess { reason } => {
                Event::NotAdopted(pid, number, NotAdopted::NeedsProcess(reason))
            }
            AdoptionOutcome::Refused { reason } => Event::NotAdopted(pid, number, NotAdopted::Refused(reason)),
            AdoptionOutcome::Unknown => {
                let reason = "the answer of the serving process is of another version".to_owned();
                Event::NotAdopted(pid, number, NotAdopted::NeedsProcess(reason))
            }
        };
        self.handle(event);
    }

    fn announce_reload(&mut self) {
        self.reloading = true;
        let now = serow_net::monotonic().as_micros();
        tell_parent(&format!("RELOADING=1\nMONOTONIC_USEC={now}"));
    }

    /// Sends the serving generation the settings of the file, if it is able to serve with them at all.
    fn ask_to_adopt(&mut self, number: u64, pid: u32) -> Result<(), NotAdopted> {
        if self.program_has_changed() {
            return Err(NotAdopted::NeedsProcess("the program has changed".to_owned()));
        }
        if let Some(address) = self.held.removed() {
            return Err(NotAdopted::NeedsProcess(format!("the file of {address} was removed")));
        }
        self.text = self.duties.settings().map_err(NotAdopted::Refused)?;
        let of_changes = self.changes.reload().is_some_and(|id| self.machine.is_adoption_for(id));
        let cause = if of_changes { AdoptionCause::Change } else { AdoptionCause::Reload };
        let child = self.children.get(&pid);
        match child.map(|child| child.adopt(number, &self.text, &self.overrides.remembered, cause)) {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => {
                let reason = format!("the settings cannot be sent to the serving process: {error}");
                Err(NotAdopted::NeedsProcess(reason))
            }
            None => Err(NotAdopted::NeedsProcess("the process that served has ended".to_owned())),
        }
    }

    /// Whether a new process would be another version of the program.
    fn program_has_changed(&mut self) -> bool {
        let now = ProgramFile::at(Path::new(self.duties.command().get_program()));
        // Without a file, no process can be started: then at least the settings can be adopted.
        now.is_some() && now != self.accepted_program
    }

    fn note_adoption(&mut self, number: u64, pid: u32) {
        self.accepted = mem::take(&mut self.text);
        // Its file may have been removed.
        let (place, token) = &self.admin;
        if let Err(error) = self.duties.open_admin_socket(place, token.as_deref(), &self.control) {
            tracing::warn!("{error}");
        }
        self.reloading = false;
        self.events.reloads += 1;
        self.events.adopted += 1;
        self.events.last_failure = None;
        tell_parent("READY=1");
        tracing::info!(pid, "generation {number} serves with the new settings");
    }

    fn note_refusal(&mut self, reason: String) {
        self.reloading = false;
        self.events.failed_reloads += 1;
        tracing::error!("reload failed, the old settings stay in effect: {reason}");
        tell_parent("READY=1");
        self.events.last_failure = Some(reason);
    }
}
