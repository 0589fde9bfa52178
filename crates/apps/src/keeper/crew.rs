//! A mold and the workers that were forked from it: the application as it was loaded once.

use std::{io, sync::Arc, time::Instant};

use rustix::process::Signal;

use super::{
    Backoff, Crew, Words,
    backoff::RESTART,
    mold::{Mold, MoldWord},
    output,
    worker::{self, Stage, Worker, WorkerWord},
};
use crate::{
    application::Shared,
    link::Link,
    settings::{Lifetime, RunSettings},
};

/// The application as it was loaded once by an interpreter with a bridge in it.
#[derive(Debug)]
pub(crate) struct BridgedCrew {
    number: u64,
    shared: Arc<Shared>,
    words: Words<CrewWord>,
    mold: Option<Mold>,
    is_mold_ready: bool,
    workers: Vec<Worker>,
    phase: Phase,
    backoff: Backoff,
    started: Instant,
    /// Workers in a row that died within a second.
    young_deaths: usize,
}

/// What is heard of a crew.
#[derive(Debug)]
pub(crate) enum CrewWord {
    /// The mold said something.
    Mold(MoldWord),
    /// A worker did.
    Worker { number: u64, word: WorkerWord },
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

impl Crew for BridgedCrew {
    type Application = Shared;
    type Word = CrewWord;

    fn start(number: u64, shared: &Arc<Shared>, words: Words<CrewWord>, _: &mut u64) -> Result<Self, String> {
        let mut crew = Self {
            number,
            shared: Arc::clone(shared),
            words,
            mold: None,
            is_mold_ready: false,
            workers: Vec::new(),
            phase: Phase::Loading,
            backoff: Backoff::default(),
            started: Instant::now(),
            young_deaths: 0,
        };
        crew.start_mold().map_err(|error| {
            format!("{} cannot be started: {error}; is it installed?", shared.settings.program.interpreter.name())
        })?;
        Ok(crew)
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn hear(&mut self, word: CrewWord, numbers: &mut u64) -> Result<(), String> {
        match word {
            CrewWord::Mold(word) => self.hear_mold(word, numbers),
            CrewWord::Worker { number, word } => self.hear_worker(number, word, numbers),
        }
    }

    fn is_complete(&self) -> bool {
        let ready = self.workers.iter().filter(|worker| worker.stage == Stage::Ready).count();
        ready >= self.shared.settings.run.processes.get()
    }

    fn lateness(&self) -> Option<String> {
        let limit = self.shared.settings.run.start_timeout;
        (self.started.elapsed() >= limit).then(|| format!("loading the application took longer than {limit:?}"))
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Retired && self.workers.is_empty()
    }

    fn serve(&mut self) {
        self.phase = Phase::Serving;
        self.put_to_work();
    }

    fn retire(&mut self) {
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

    fn kill(&mut self) {
        self.workers.iter().for_each(|worker| worker.signal(Signal::KILL));
    }

    fn look_after(shared: &Arc<Shared>, crews: &mut [Self], numbers: &mut u64) {
        let overdue = shared.look_at_clock();
        for crew in crews {
            crew.end_overdue(&overdue);
            crew.replace(numbers);
        }
    }

    fn name(shared: &Shared) -> &str {
        &shared.settings.run.name
    }
}

impl BridgedCrew {
    fn start_mold(&mut self) -> io::Result<()> {
        self.mold = Some(Mold::start(&self.shared.settings, &self.words)?);
        self.is_mold_ready = false;
        Ok(())
    }

    /// The mold said something. An error is why the application cannot be loaded.
    fn hear_mold(&mut self, word: MoldWord, numbers: &mut u64) -> Result<(), String> {
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
                tracing::error!("{}: a worker cannot be forked: {error}", self.shared.settings.run.name);
                self.workers.retain(|worker| worker.link.number != number);
                self.pause();
            }
            MoldWord::Exited { pid, how } => {
                if let Some(worker) = self.workers.iter_mut().find(|worker| worker.pid == Some(pid)) {
                    worker.hear_last_word();
                    // Behind what else it said, which may not have been heard before its mold was.
                    self.words.say(CrewWord::Worker { number: worker.link.number, word: WorkerWord::Ended(how) });
                }
            }
            MoldWord::Gone => {
                self.mold = None;
                self.is_mold_ready = false;
                self.pause();
                if self.phase == Phase::Loading {
                    return Err("the interpreter ended while the application was loaded".to_owned());
                }
            }
        }
        Ok(())
    }

    /// A worker said something. An error is why the application cannot be loaded.
    fn hear_worker(&mut self, number: u64, word: WorkerWord, numbers: &mut u64) -> Result<(), String> {
        let Some(worker) = self.workers.iter_mut().find(|worker| worker.link.number == number) else { return Ok(()) };
        match word {
            WorkerWord::Ready => {
                worker.stage = Stage::Ready;
                self.backoff.succeed();
                if self.phase == Phase::Serving {
                    self.put_to_work();
                }
                Ok(())
            }
            WorkerWord::Failed(why) => {
                self.backoff.fail(Instant::now());
                Err(why)
            }
            WorkerWord::Leaving => {
                worker.stage = Stage::Leaving;
                self.shared.leave(&worker.link);
                self.fill(numbers);
                Ok(())
            }
            WorkerWord::Ended(how) => {
                if let Some(place) = self.workers.iter().position(|worker| worker.link.number == number) {
                    self.bury(place, &how);
                    self.fill(numbers);
                }
                Ok(())
            }
        }
    }

    fn put_to_work(&mut self) {
        for worker in self.workers.iter_mut().filter(|worker| worker.stage == Stage::Ready) {
            worker.stage = Stage::Serving;
            self.shared.join(&worker.link, self.shared.settings.run.lifetime.map(Lifetime::random));
        }
        let is_tired = |worker: &&mut Worker| worker.is_replaced && worker.stage == Stage::Serving;
        let serving = self.workers.iter().filter(|worker| worker.stage == Stage::Serving).count();
        // Who has been waiting to be replaced goes, one for each that came.
        let spare = serving.saturating_sub(self.shared.settings.run.processes.get());
        for worker in self.workers.iter_mut().filter(is_tired).take(spare) {
            worker.stage = Stage::Leaving;
            self.shared.retire(&worker.link);
        }
    }

    /// The dead are noticed, the tired replaced, the missing started.
    fn replace(&mut self, numbers: &mut u64) {
        while let Some(place) = self.workers.iter().position(|worker| self.mold.is_none() && worker.is_gone()) {
            self.bury(place, "ended");
        }
        if self.phase == Phase::Serving {
            self.note_tired();
        }
        self.fill(numbers);
    }

    /// Workers that are to be replaced: by their age, or their memory.
    fn note_tired(&mut self) {
        let aged = self.shared.aged();
        let RunSettings { name, memory_limit: limit, .. } = &self.shared.settings.run;
        for worker in self.workers.iter_mut().filter(|worker| worker.stage == Stage::Serving && !worker.is_replaced) {
            let memory = limit.and_then(|limit| worker.memory().filter(|bytes| *bytes > limit));
            if let Some(bytes) = memory {
                tracing::info!("{name} {}: replaced, with {} MB", worker.link.place, bytes >> 20);
            }
            worker.is_replaced = memory.is_some() || aged.contains(&worker.link.number);
        }
    }

    /// Workers that take too long are ended.
    fn end_overdue(&self, overdue: &[Arc<Link>]) {
        let is_overdue = |worker: &&Worker| overdue.iter().any(|link| link.number == worker.link.number);
        for worker in self.workers.iter().filter(is_overdue) {
            let RunSettings { name, timeout, .. } = &self.shared.settings.run;
            tracing::error!("{name} {}: a request took longer than {timeout:?}; ended", worker.link.place);
            worker.signal(Signal::KILL);
        }
    }

    /// Starts the workers that are missing.
    fn fill(&mut self, numbers: &mut u64) {
        if self.phase == Phase::Retired || self.backoff.is_on(Instant::now()) {
            return;
        }
        if self.mold.is_none() {
            if let Err(error) = self.start_mold() {
                tracing::error!("{}: the interpreter cannot be started: {error}", self.shared.settings.run.name);
                self.pause();
            }
            return;
        }
        while self.is_mold_ready && self.is_incomplete() {
            *numbers += 1;
            if let Err(error) = self.fork(*numbers) {
                tracing::error!("{}: a worker cannot be started: {error}", self.shared.settings.run.name);
                return self.pause();
            }
            let interval = self.shared.settings.run.spawn_interval;
            if !interval.is_zero() {
                return self.backoff.wait(interval, Instant::now());
            }
        }
    }

    /// Whether a worker is missing. One that is to be replaced counts until the other is there, and only one is replaced at a time.
    fn is_incomplete(&self) -> bool {
        let staying = |worker: &&Worker| worker.stage != Stage::Leaving;
        let there = self.workers.iter().filter(staying).count();
        let replaced = self.workers.iter().filter(staying).filter(|worker| worker.is_replaced).count();
        there < self.shared.settings.run.processes.get() + replaced.min(1)
    }

    fn fork(&mut self, number: u64) -> io::Result<()> {
        let Some(mold) = &self.mold else { return Ok(()) };
        let (link, ends) = Link::new(number, self.free_place(), self.shared.threads())?;
        worker::listen(&link, &self.words)?;
        let (reader, writer) = io::pipe()?;
        mold.fork(number, link.place, &ends, std::os::fd::AsFd::as_fd(&writer))?;
        output::log(reader.into(), &self.shared.settings.run, link.place);
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
        let name = &self.shared.settings.run.name;
        match worker.stage {
            Stage::Leaving => {
                if self.phase == Phase::Serving {
                    self.shared.changes.count_replaced();
                }
                tracing::debug!("{name} {}: has left", worker.link.place);
            }
            _ => {
                self.shared.changes.count_death();
                tracing::error!("{name} {}: {how}", worker.link.place);
            }
        }
        match worker.stage {
            Stage::Leaving => {}
            _ if worker.age() >= RESTART => self.young_deaths = 0,
            stage => {
                self.young_deaths += 1;
                // One that requests have killed is replaced at once.
                if stage == Stage::Loading || self.young_deaths > self.shared.settings.run.processes.get() {
                    self.pause();
                }
            }
        }
        if worker.link.end() {
            self.shared.lose(&worker.link);
        }
    }

    fn pause(&mut self) {
        self.backoff.wait(RESTART, Instant::now());
    }
}
