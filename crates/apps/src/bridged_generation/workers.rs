//! The workers of a generation: missing ones are started, worn ones replaced, exited ones removed.

use std::{io, sync::Arc};

use rustix::process::Signal;
use serow_net::channel::Channel;
use serow_processes::{Lifetime, RESTART, RunSettings, log_lines};
use tokio::time::Instant;

use super::{
    BridgedGeneration, Phase,
    templates::TemplateProcesses,
    worker::{self, Worker, WorkerStage},
};
use crate::{
    shared_state::{OtherWorkers, OverdueWorkers},
    worker_link::WorkerLink,
};

impl BridgedGeneration {
    /// Ready workers serve requests from now on, instead of those that they replace.
    pub(super) fn activate_ready(&mut self, others: OtherWorkers) {
        let mut joining = Vec::new();
        for worker in self.workers.iter_mut().filter(|worker| worker.stage == WorkerStage::Ready) {
            worker.stage = WorkerStage::Serving;
            joining.push((Arc::clone(&worker.link), self.shared.settings.run.lifetime.map(Lifetime::random)));
        }
        self.shared.join(&joining, others);
        let is_tired = |worker: &&mut Worker| worker.is_replaced && worker.stage == WorkerStage::Serving;
        let serving = self.workers.iter().filter(|worker| worker.stage == WorkerStage::Serving).count();
        // Workers that are marked for replacement leave, one for each new one.
        let spare = serving.saturating_sub(self.shared.settings.run.processes.get());
        for worker in self.workers.iter_mut().filter(is_tired).take(spare) {
            worker.stage = WorkerStage::Draining;
            self.shared.retire(&worker.link);
        }
    }

    /// The dead are noticed, the tired replaced, the missing started.
    pub(super) fn replace(&mut self, numbers: &mut u64) {
        // Template processes report the exits of all others.
        let is_gone =
            |templates: &TemplateProcesses, worker: &Worker| !templates.has(worker.template) && worker.is_gone();
        while let Some(place) = self.workers.iter().position(|worker| is_gone(&self.templates, worker)) {
            self.remove_ended(place, "ended");
        }
        self.templates.dismiss_former(|template| self.workers.iter().any(|worker| worker.template == template));
        if self.phase == Phase::Serving {
            self.mark_for_replacement();
            self.refork();
        }
        self.fill(numbers);
    }

    /// Workers that are to be replaced: by their age, or their memory.
    fn mark_for_replacement(&mut self) {
        let aged = self.shared.aged();
        let RunSettings { name, memory_limit: limit, .. } = &self.shared.settings.run;
        for worker in
            self.workers.iter_mut().filter(|worker| worker.stage == WorkerStage::Serving && !worker.is_replaced)
        {
            let memory = limit.and_then(|limit| worker.memory().filter(|bytes| *bytes > limit));
            if let Some(bytes) = memory {
                tracing::info!("{name} {}: replaced, it uses {} MB", worker.link.place, bytes >> 20);
            }
            worker.is_replaced = memory.is_some() || aged.contains(&worker.link.number);
        }
    }

    /// Kills workers with requests that took too long. One that has others, too, finishes those first.
    pub(super) fn end_overdue(&mut self, overdue: &OverdueWorkers) {
        let RunSettings { name, timeout, .. } = &self.shared.settings.run;
        for worker in &mut self.workers {
            let is_among = |links: &[Arc<WorkerLink>]| links.iter().any(|link| link.number == worker.link.number);
            let (is_retired, is_stuck) = (is_among(&overdue.retired), is_among(&overdue.stuck));
            let place = worker.link.place;
            if is_stuck {
                tracing::error!("{name} {place}: a request took longer than {timeout:?}; killed");
                worker.signal(Signal::KILL);
            } else if is_retired {
                tracing::error!(
                    "{name} {place}: a request took longer than {timeout:?}; it is killed when the others are done"
                );
                worker.stage = WorkerStage::Draining;
                self.shared.leave(&worker.link);
            }
        }
    }

    /// Kills workers that have finished but do not exit: one of their threads goes on, or an exit handler hangs.
    pub(super) fn kill_lingering(&mut self) {
        let RunSettings { name, grace, .. } = &self.shared.settings.run;
        for worker in self.workers.iter_mut().filter(|worker| worker.stage == WorkerStage::Draining) {
            if self.shared.has_awaited_request(&worker.link) {
                continue;
            }
            let finished = *worker.finished.get_or_insert_with(Instant::now);
            if finished.elapsed() >= *grace {
                tracing::warn!(
                    "{name} {}: did not exit within {grace:?} after its last request; killed",
                    worker.link.place
                );
                worker.signal(Signal::KILL);
                // Logged once per grace period.
                worker.finished = Some(Instant::now());
            }
        }
    }

    /// Starts the workers that are missing.
    pub(super) fn fill(&mut self, numbers: &mut u64) {
        if self.phase == Phase::Retired || self.backoff.is_on(Instant::now()) {
            return;
        }
        if self.templates.is_missing() {
            if let Err(error) = self.templates.start(&self.shared.settings, &self.messages) {
                tracing::error!("{}: cannot start the interpreter: {error}", self.shared.settings.run.name);
                self.pause();
            }
            return;
        }
        while self.templates.ready().is_some() && self.is_incomplete() {
            *numbers += 1;
            if let Err(error) = self.fork(*numbers) {
                tracing::error!("{}: cannot start a worker: {error}", self.shared.settings.run.name);
                return self.pause();
            }
            let interval = self.shared.settings.run.spawn_interval;
            if !interval.is_zero() {
                return self.backoff.wait(interval, Instant::now());
            }
        }
    }

    /// Whether a worker is missing. One that is to be replaced counts until the other is there, and only one is
    /// replaced at a time.
    fn is_incomplete(&self) -> bool {
        let staying = |worker: &&Worker| !matches!(worker.stage, WorkerStage::Late | WorkerStage::Draining);
        let there = self.workers.iter().filter(staying).count();
        let replaced = self.workers.iter().filter(staying).filter(|worker| worker.is_replaced).count();
        there < self.shared.settings.run.processes.get() + replaced.min(1)
    }

    fn fork(&mut self, number: u64) -> io::Result<()> {
        let Some(template) = self.templates.ready() else { return Ok(()) };
        let (link, mut ends) = WorkerLink::new(number, self.free_place(), self.shared.threads())?;
        worker::listen(&link, &self.messages)?;
        let mut control = None;
        if !self.shared.settings.refork_after.is_empty() {
            let (ours, theirs) = Channel::pair()?;
            (control, ends.control) = (Some(ours), Some(theirs));
        }
        let (reader, writer) = io::pipe()?;
        template.fork(number, link.place, &ends, std::os::fd::AsFd::as_fd(&writer))?;
        log_lines(reader.into(), &self.shared.settings.run, link.place);
        self.workers.push(Worker::new(Arc::new(link), template.number, control));
        Ok(())
    }

    /// The lowest number that no worker has.
    fn free_place(&self) -> usize {
        let taken = |place: &usize| self.workers.iter().any(|worker| worker.link.place == *place);
        (1..).find(|place| !taken(place)).unwrap_or(1)
    }

    /// Removes a worker that has exited.
    pub(super) fn remove_ended(&mut self, place: usize, how: &str) {
        let worker = self.workers.remove(place);
        let name = &self.shared.settings.run.name;
        match worker.stage {
            WorkerStage::Draining => {
                if self.phase == Phase::Serving {
                    self.shared.changes.count_replaced();
                }
                tracing::debug!("{name} {}: exited", worker.link.place);
            }
            // Its kill has been logged.
            WorkerStage::Late => self.shared.changes.count_death(),
            WorkerStage::Loading | WorkerStage::Ready | WorkerStage::Serving => {
                self.shared.changes.count_death();
                tracing::error!("{name} {}: {how}", worker.link.place);
            }
        }
        match worker.stage {
            WorkerStage::Late | WorkerStage::Draining => {}
            WorkerStage::Ready | WorkerStage::Serving if worker.age() >= RESTART => {}
            WorkerStage::Loading | WorkerStage::Ready | WorkerStage::Serving => {
                self.backoff.note_early_death(self.shared.settings.run.processes.get(), Instant::now());
            }
        }
        if worker.link.end() {
            self.shared.lose(&worker.link);
        }
    }

    pub(super) fn pause(&mut self) {
        self.backoff.wait(RESTART, Instant::now());
    }
}
