//! A mold and the workers that were forked from it: the application as it was loaded once.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use tokio::sync::mpsc::UnboundedSender;

use super::{
    Happening,
    mold::{Mold, MoldWord},
    output,
    worker::{self, Stage, Worker, WorkerWord},
};
use crate::{application::Shared, link::Link, settings::Lifetime};

/// The application as it was loaded once.
#[derive(Debug)]
pub(super) struct Crew {
    pub(super) number: u64,
    shared: Arc<Shared>,
    happenings: UnboundedSender<Happening>,
    mold: Option<Mold>,
    is_mold_ready: bool,
    pub(super) workers: Vec<Worker>,
    phase: Phase,
    /// No worker is started before.
    pause: Option<Instant>,
    started: Instant,
    /// Failures in a row.
    failures: u32,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The application is loaded, and nobody serves with it yet.
    Loading,
    /// Its workers take requests; those that end are replaced.
    Serving,
    /// Its workers finish what they have.
    Retired,
}

impl Crew {
    /// Starts loading the application.
    pub(super) fn start(
        number: u64,
        shared: &Arc<Shared>,
        happenings: &UnboundedSender<Happening>,
    ) -> Result<Self, String> {
        let mut crew = Self {
            number,
            shared: Arc::clone(shared),
            happenings: happenings.clone(),
            mold: None,
            is_mold_ready: false,
            workers: Vec::new(),
            phase: Phase::Loading,
            pause: None,
            started: Instant::now(),
            failures: 0,
        };
        crew.start_mold().map_err(|error| {
            let program = &shared.settings.program;
            let interpreter = program.interpreter.first().map(|word| word.to_string_lossy()).unwrap_or_default();
            format!("{interpreter} cannot be started: {error}; is it installed?")
        })?;
        Ok(crew)
    }

    fn start_mold(&mut self) -> io::Result<()> {
        self.mold = Some(Mold::start(&self.shared, self.number, &self.happenings)?);
        self.is_mold_ready = false;
        Ok(())
    }

    /// The mold said something. An error is why the application cannot be loaded.
    pub(super) fn hear_mold(&mut self, word: MoldWord, numbers: &mut u64) -> Result<(), String> {
        match word {
            MoldWord::Ready => {
                self.is_mold_ready = true;
                self.fill(numbers);
            }
            MoldWord::Failed(why) => return Err(why),
            MoldWord::Forked { number, pid } => {
                if let Some(worker) = self.workers.iter_mut().find(|worker| worker.link.number == number) {
                    worker.forked(pid);
                }
            }
            MoldWord::NotForked { number, error } => {
                tracing::error!("{}: a worker cannot be forked: {error}", self.shared.settings.name);
                self.workers.retain(|worker| worker.link.number != number);
                self.pause_for(RESTART);
            }
            MoldWord::Exited { pid, how } => {
                if let Some(place) = self.workers.iter().position(|worker| worker.pid == Some(pid)) {
                    self.bury(place, &how);
                    self.fill(numbers);
                }
            }
            MoldWord::Gone => {
                self.mold = None;
                self.is_mold_ready = false;
                self.pause_for(RESTART);
                if self.phase == Phase::Loading {
                    return Err("the interpreter ended while the application was loaded".to_owned());
                }
            }
        }
        Ok(())
    }

    /// A worker said something. An error is why the application cannot be loaded.
    pub(super) fn hear_worker(&mut self, number: u64, word: WorkerWord) -> Result<(), String> {
        let Some(worker) = self.workers.iter_mut().find(|worker| worker.link.number == number) else { return Ok(()) };
        match word {
            WorkerWord::Ready => {
                worker.stage = Stage::Ready;
                self.failures = 0;
                if self.phase == Phase::Serving {
                    self.put_to_work();
                }
                Ok(())
            }
            WorkerWord::Failed(why) => {
                self.failures += 1;
                self.pause_for((RESTART * self.failures).min(LONGEST_PAUSE));
                Err(why)
            }
        }
    }

    /// Whether all workers could begin.
    pub(super) fn is_complete(&self) -> bool {
        let ready = self.workers.iter().filter(|worker| worker.stage == Stage::Ready).count();
        ready >= self.shared.settings.workers.get()
    }

    /// Whether loading takes too long.
    pub(super) fn is_late(&self) -> bool {
        self.started.elapsed() >= self.shared.settings.start_timeout
    }

    /// Whether there is nothing of it any more.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Retired && self.workers.is_empty()
    }

    /// Its workers take requests from now on.
    pub(super) fn serve(&mut self) {
        self.phase = Phase::Serving;
        self.put_to_work();
    }

    fn put_to_work(&mut self) {
        for worker in self.workers.iter_mut().filter(|worker| worker.stage == Stage::Ready) {
            worker.stage = Stage::Serving;
            self.shared.join(&worker.link, self.shared.settings.lifetime.map(random));
        }
        let retired = self.workers.iter().filter(|worker| worker.is_replaced && worker.stage == Stage::Serving).count();
        let serving = self.workers.iter().filter(|worker| worker.stage == Stage::Serving).count();
        // Who has been waiting to be replaced goes, one for each that came.
        let spare = serving.saturating_sub(self.shared.settings.workers.get()).min(retired);
        for worker in self.workers.iter_mut().filter(|worker| worker.is_replaced).take(spare) {
            worker.stage = Stage::Leaving;
            self.shared.retire(&worker.link);
        }
    }

    /// Its workers finish what they have, and end.
    pub(super) fn retire(&mut self) {
        self.phase = Phase::Retired;
        for worker in &mut self.workers {
            worker.stage = Stage::Leaving;
            self.shared.retire(&worker.link);
            // One that is not in the pool has nothing to finish.
            if !self.shared.has(&worker.link) {
                worker.link.dismiss();
            }
        }
    }

    /// Ends what has not ended by itself.
    pub(super) fn kill(&mut self) {
        self.workers.iter().for_each(|worker| worker.signal(Signal::KILL));
    }

    /// What there is to do from time to time: the dead are noticed, the tired replaced, the missing started.
    pub(super) fn look_after(&mut self, numbers: &mut u64) {
        while let Some(place) = self.workers.iter().position(|worker| self.mold.is_none() && worker.is_gone()) {
            self.bury(place, "ended");
        }
        if self.phase != Phase::Serving {
            return;
        }
        let aged = self.shared.aged();
        let limit = self.shared.settings.memory_limit;
        for worker in self.workers.iter_mut().filter(|worker| worker.stage == Stage::Serving && !worker.is_replaced) {
            let memory = limit.and_then(|limit| worker.memory().filter(|bytes| *bytes > limit));
            if let Some(bytes) = memory {
                tracing::info!(
                    "{} {}: replaced, with {} MB",
                    self.shared.settings.name,
                    worker.link.place,
                    bytes >> 20
                );
            }
            worker.is_replaced = memory.is_some() || aged.contains(&worker.link.number);
        }
        self.fill(numbers);
    }

    /// Workers that take too long are ended.
    pub(super) fn end_overdue(&self, overdue: &[Arc<Link>]) {
        let is_overdue = |worker: &&Worker| overdue.iter().any(|link| link.number == worker.link.number);
        for worker in self.workers.iter().filter(is_overdue) {
            let (name, limit) = (&self.shared.settings.name, self.shared.settings.timeout);
            tracing::error!("{name} {}: a request took longer than {limit:?}; ended", worker.link.place);
            worker.signal(Signal::KILL);
        }
    }

    /// Starts the workers that are missing.
    fn fill(&mut self, numbers: &mut u64) {
        if self.phase == Phase::Retired || self.pause.is_some_and(|pause| pause > Instant::now()) {
            return;
        }
        if self.mold.is_none() {
            if let Err(error) = self.start_mold() {
                tracing::error!("{}: the interpreter cannot be started: {error}", self.shared.settings.name);
                self.pause_for(RESTART);
            }
            return;
        }
        while self.is_mold_ready && self.is_incomplete() {
            *numbers += 1;
            if let Err(error) = self.fork(*numbers) {
                tracing::error!("{}: a worker cannot be started: {error}", self.shared.settings.name);
                return self.pause_for(RESTART);
            }
            let interval = self.shared.settings.spawn_interval;
            if !interval.is_zero() {
                return self.pause_for(interval);
            }
        }
    }

    /// Whether a worker is missing. One that is to be replaced counts until the other is there, and only one is replaced at a time.
    fn is_incomplete(&self) -> bool {
        let staying = |worker: &&Worker| worker.stage != Stage::Leaving;
        let there = self.workers.iter().filter(staying).count();
        let replaced = self.workers.iter().filter(staying).filter(|worker| worker.is_replaced).count();
        there < self.shared.settings.workers.get() + replaced.min(1)
    }

    fn fork(&mut self, number: u64) -> io::Result<()> {
        let Some(mold) = &self.mold else { return Ok(()) };
        let (link, ends) = Link::new(number, self.free_place(), self.shared.threads())?;
        worker::listen(&link, &self.happenings)?;
        let (reader, writer) = io::pipe()?;
        mold.fork(number, link.place, &ends, std::os::fd::AsFd::as_fd(&writer))?;
        output::log(reader.into(), Arc::clone(&self.shared), link.place);
        self.workers.push(Worker::new(Arc::new(link)));
        Ok(())
    }

    /// The lowest number that no worker has.
    fn free_place(&self) -> usize {
        let taken = |place: &usize| self.workers.iter().any(|worker| worker.link.place == *place);
        (1..).find(|place| !taken(place)).unwrap_or(1)
    }

    /// A worker has ended.
    fn bury(&mut self, place: usize, how: &str) {
        let worker = self.workers.remove(place);
        let name = &self.shared.settings.name;
        match worker.stage {
            Stage::Leaving => tracing::debug!("{name} {}: has left", worker.link.place),
            _ => tracing::error!("{name} {}: {how}", worker.link.place),
        }
        if worker.stage != Stage::Leaving && worker.age() < RESTART {
            self.pause_for(RESTART);
        }
        if worker.link.end() {
            self.shared.lose(&worker.link);
        }
    }

    fn pause_for(&mut self, time: Duration) {
        self.pause = Some(Instant::now() + time);
    }
}

/// A number within the bounds, another for each worker.
fn random(lifetime: Lifetime) -> u64 {
    let span = lifetime.most.saturating_sub(lifetime.least).saturating_add(1).max(1);
    let chance = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), 0_u8);
    lifetime.least + chance % span
}

/// How long nothing is started after something failed: an application that dies at once would take a whole processor.
const RESTART: Duration = Duration::from_secs(1);

/// How long at most, when it fails again and again.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
