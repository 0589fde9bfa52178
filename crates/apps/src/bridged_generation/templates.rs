//! The template processes of a generation. Most have one. With reforking, a worker forks the next template process, as
//! warm as the worker itself:
//!
//! ```text
//!              a worker is warm                  it can fork              the last worker of 1 exits
//!  template 1 ─────────────────▶ template 1     ─────────────▶ template 2 ─────────────────────────▶ template 2
//!                                successor 2                   former 1, which reports exits
//! ```

use std::io;

use serow_processes::MessageSender;
use tokio::time::Instant;

use super::{BridgedGeneration, BridgedMessage, template::TemplateProcess, worker::WorkerStage};
use crate::{messages::REFORK, settings::ApplicationSettings};

/// The processes that the workers of a generation are and were forked from.
#[derive(Debug, Default)]
pub(super) struct TemplateProcesses {
    /// Workers are forked from this one, when it is ready.
    current: Option<TemplateProcess>,
    /// The one that a worker forks, until it is ready.
    successor: Option<TemplateProcess>,
    /// Earlier ones, which report how their workers exit.
    former: Vec<TemplateProcess>,
    /// How many there have been.
    count: u64,
    /// How often one has followed another that lived.
    successions: usize,
}

/// The role of a template process that has exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// Workers were forked from this one.
    Current,
    /// Workers would have been forked from this one.
    Successor,
    /// One that has others forked no more.
    Former,
}

impl TemplateProcesses {
    /// Starts one that loads the application.
    pub(super) fn start(
        &mut self,
        settings: &ApplicationSettings,
        messages: &MessageSender<BridgedMessage>,
    ) -> io::Result<()> {
        self.count += 1;
        self.successions = 0;
        self.current = Some(TemplateProcess::start(self.count, settings, messages)?);
        Ok(())
    }

    /// Whether one has to be started.
    pub(super) fn is_missing(&self) -> bool {
        self.current.is_none()
    }

    /// When the one was started that is not ready yet.
    pub(super) fn current_if_unready(&self) -> Option<Instant> {
        self.current.as_ref().filter(|template| !template.is_ready).map(|template| template.born)
    }

    /// Kills the one that workers are forked from.
    pub(super) fn kill_current(&mut self) {
        self.current = None;
    }

    /// The one that workers can be forked from.
    pub(super) fn ready(&self) -> Option<&TemplateProcess> {
        self.current.as_ref().filter(|template| template.is_ready)
    }

    /// Whether the one with this number runs.
    pub(super) fn has(&self, number: u64) -> bool {
        self.current.iter().chain(&self.former).any(|template| template.number == number)
    }

    /// The one with this number can fork; it may have reported its process id. Returns whether it has succeeded another
    /// one.
    pub(super) fn begin(&mut self, number: u64, pid: Option<i32>) -> bool {
        if let Some(mut successor) = self.successor.take_if(|template| template.number == number) {
            successor.begin(pid);
            self.successions += 1;
            self.former.extend(self.current.replace(successor));
            return true;
        }
        self.current.iter_mut().filter(|template| template.number == number).for_each(|template| template.begin(pid));
        false
    }

    /// The one with this number has exited.
    pub(super) fn lose(&mut self, number: u64) -> Loss {
        let is_it = |template: &mut TemplateProcess| template.number == number;
        if self.current.take_if(is_it).is_some() {
            return Loss::Current;
        }
        if self.successor.take_if(is_it).is_some() {
            return Loss::Successor;
        }
        self.former.retain(|template| template.number != number);
        Loss::Former
    }

    /// Stops former ones without workers.
    pub(super) fn dismiss_former(&mut self, has_workers: impl Fn(u64) -> bool) {
        self.former.retain(|template| has_workers(template.number));
    }
}

impl BridgedGeneration {
    /// Lets the warmest worker fork the next template process, when it is time.
    pub(super) fn refork(&mut self) {
        let settings = &self.shared.settings;
        let name = &settings.run.name;
        if let Some(late) =
            self.templates.successor.take_if(|template| template.born.elapsed() >= settings.run.start_timeout)
        {
            tracing::error!(
                "{name}: cannot refork workers: starting the template process took longer than {:?}",
                settings.run.start_timeout
            );
            drop(late);
        }
        let thresholds = &settings.refork_after;
        let Some(least) = thresholds.get(self.templates.successions).or(thresholds.last()) else { return };
        // Not while the workers are still being replaced, for this reason or another.
        let is_settled = |worker: &&super::Worker| worker.stage == WorkerStage::Serving && !worker.is_replaced;
        let settled = self.workers.iter().filter(is_settled).count();
        if self.templates.successor.is_some()
            || self.templates.ready().is_none()
            || settled < settings.run.processes.get()
        {
            return;
        }
        let Some(warmest) = self.shared.warmest(*least) else { return };
        let Some(worker) = self.workers.iter_mut().find(|worker| worker.link.number == warmest) else { return };
        // Once in its life: its end is the next template process's.
        let Some(control) = worker.control.take() else { return };
        self.templates.count += 1;
        match TemplateProcess::forked(self.templates.count, control, settings, &self.messages) {
            Ok(template) => {
                tracing::info!("{name} {}: reforking the workers from this one", worker.link.place);
                self.templates.successor = Some(template);
                worker.link.send_message(REFORK, 0, b"");
            }
            Err(error) => tracing::error!("{name}: cannot refork workers: {error}"),
        }
    }

    /// Marks all workers of other template processes for replacement, one after the other.
    pub(super) fn renew_workers(&mut self, template: u64) {
        let others = self
            .workers
            .iter_mut()
            .filter(|worker| worker.template != template && worker.stage != WorkerStage::Draining);
        others.for_each(|worker| worker.is_replaced = true);
    }
}
