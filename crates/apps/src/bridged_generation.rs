//! A template process and the workers that were forked from it: the application as it was loaded once.

mod starts;
mod template;
mod templates;
mod worker;
mod workers;

use std::sync::Arc;

use rustix::process::Signal;
use serow_processes::{Backoff, MessageSender, WorkerGeneration};
use tokio::time::Instant;

use self::{
    template::TemplateMessage,
    templates::{Loss, TemplateProcesses},
    worker::{Worker, WorkerMessage, WorkerStage},
};
use crate::shared_state::{ApplicationState, OtherWorkers};

/// The application as it was loaded once by an interpreter with a bridge in it.
#[derive(Debug)]
pub(crate) struct BridgedGeneration {
    number: u64,
    shared: Arc<ApplicationState>,
    messages: MessageSender<BridgedMessage>,
    templates: TemplateProcesses,
    workers: Vec<Worker>,
    phase: Phase,
    backoff: Backoff,
    started: Instant,
}

/// Messages about a generation.
#[derive(Debug)]
pub(crate) enum BridgedMessage {
    /// From a template process.
    TemplateProcess { number: u64, message: TemplateMessage },
    /// A worker did.
    Worker { number: u64, message: WorkerMessage },
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The application is loaded, and nobody serves with it yet.
    Loading,
    /// Its workers serve requests; those that exit are replaced.
    Serving,
    /// Its workers finish their requests.
    Retired,
}

impl WorkerGeneration for BridgedGeneration {
    type Application = ApplicationState;
    type Message = BridgedMessage;

    fn start(
        number: u64,
        shared: &Arc<ApplicationState>,
        messages: MessageSender<BridgedMessage>,
        _: &mut u64,
    ) -> Result<Self, String> {
        let mut generation = Self {
            number,
            shared: Arc::clone(shared),
            messages,
            templates: TemplateProcesses::default(),
            workers: Vec::new(),
            phase: Phase::Loading,
            backoff: Backoff::default(),
            started: Instant::now(),
        };
        generation.templates.start(&shared.settings, &generation.messages).map_err(|error| {
            format!("{} cannot be started: {error}; is it installed?", shared.settings.program.interpreter.name())
        })?;
        Ok(generation)
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn handle_message(&mut self, message: BridgedMessage, numbers: &mut u64) -> Result<(), String> {
        match message {
            BridgedMessage::TemplateProcess { number, message } => {
                self.handle_template_message(number, message, numbers)
            }
            BridgedMessage::Worker { number, message } => self.handle_worker_message(number, message, numbers),
        }
    }

    fn is_ready(&self) -> bool {
        let ready = self.workers.iter().filter(|worker| worker.stage == WorkerStage::Ready).count();
        ready >= self.shared.settings.run.processes.get()
    }

    fn startup_error(&self) -> Option<String> {
        let limit = self.shared.settings.run.start_timeout;
        (self.started.elapsed() >= limit).then(|| format!("loading the application took longer than {limit:?}"))
    }

    fn has_ended(&self) -> bool {
        self.phase == Phase::Retired && self.workers.is_empty()
    }

    fn serve(&mut self) {
        self.phase = Phase::Serving;
        self.activate_ready(OtherWorkers::Retire);
    }

    fn retire(&mut self) {
        self.phase = Phase::Retired;
        for worker in &mut self.workers {
            worker.stage = WorkerStage::Draining;
            self.shared.retire(&worker.link);
            // One that is not in the pool has nothing to finish.
            if !self.shared.has(&worker.link) {
                worker.link.dismiss();
            }
        }
    }

    fn kill(&mut self) {
        self.workers.iter().for_each(|worker| worker.signal(Signal::KILL));
        // A template process that hangs would neither fork these nor report any exit.
        if self.workers.iter().any(|worker| worker.pid.is_none()) {
            self.templates.kill_current();
        }
    }

    fn maintain(shared: &Arc<ApplicationState>, generations: &mut [Self], numbers: &mut u64) {
        let overdue = shared.enforce_time_limits();
        for generation in generations {
            generation.end_overdue(&overdue);
            generation.kill_lingering();
            generation.end_late_starts(Instant::now());
            generation.replace(numbers);
        }
    }

    fn time_left(shared: &ApplicationState) -> std::time::Duration {
        shared.time_left()
    }

    fn name(shared: &ApplicationState) -> &str {
        &shared.settings.run.name
    }
}

impl BridgedGeneration {
    /// Handles a message of a template process. An error explains why the application cannot be loaded.
    fn handle_template_message(
        &mut self,
        template: u64,
        message: TemplateMessage,
        numbers: &mut u64,
    ) -> Result<(), String> {
        match message {
            TemplateMessage::Ready { pid } => {
                if self.templates.begin(template, pid) {
                    self.renew_workers(template);
                }
                self.fill(numbers);
            }
            TemplateMessage::Failed(why) => return Err(why),
            TemplateMessage::Forked { number, pid } => {
                if let Some(worker) = self.workers.iter_mut().find(|worker| worker.link.number == number) {
                    worker.link.set_process(pid, &self.shared.settings.run.name);
                    worker.forked(pid);
                }
            }
            TemplateMessage::NotForked { number, error } => {
                tracing::error!("{}: cannot fork a worker: {error}", self.shared.settings.run.name);
                self.workers.retain(|worker| worker.link.number != number);
                self.pause();
            }
            TemplateMessage::Exited { pid, how } => {
                if let Some(worker) = self.workers.iter_mut().find(|worker| worker.pid == Some(pid)) {
                    worker.read_last_message();
                    // Queued after its other messages, which may arrive later than those of its template process.
                    self.messages.send(BridgedMessage::Worker {
                        number: worker.link.number,
                        message: WorkerMessage::Ended(how),
                    });
                }
            }
            TemplateMessage::Gone => match self.templates.lose(template) {
                Loss::Current => {
                    self.pause();
                    if self.phase == Phase::Loading {
                        return Err("the interpreter exited while it loaded the application".to_owned());
                    }
                }
                Loss::Successor => {
                    tracing::error!(
                        "{}: cannot refork workers; the old template process stays",
                        self.shared.settings.run.name
                    );
                }
                Loss::Former => {}
            },
        }
        Ok(())
    }

    /// Handles a message of a worker. An error explains why the application cannot be loaded.
    fn handle_worker_message(&mut self, number: u64, message: WorkerMessage, numbers: &mut u64) -> Result<(), String> {
        let Some(worker) = self.workers.iter_mut().find(|worker| worker.link.number == number) else { return Ok(()) };
        match message {
            // A second message must not double the worker's requests.
            WorkerMessage::Ready if worker.stage != WorkerStage::Loading => Ok(()),
            WorkerMessage::Ready => {
                worker.stage = WorkerStage::Ready;
                self.backoff.succeed();
                if self.phase == Phase::Serving {
                    self.activate_ready(OtherWorkers::Keep);
                }
                Ok(())
            }
            WorkerMessage::Failed(why) => {
                self.backoff.fail(Instant::now());
                Err(why)
            }
            WorkerMessage::Draining => {
                worker.stage = WorkerStage::Draining;
                self.shared.leave(&worker.link);
                self.fill(numbers);
                Ok(())
            }
            WorkerMessage::Ended(how) => {
                if let Some(place) = self.workers.iter().position(|worker| worker.link.number == number) {
                    self.remove_ended(place, &how);
                    self.fill(numbers);
                }
                Ok(())
            }
        }
    }
}
