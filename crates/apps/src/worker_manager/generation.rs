//! A mold and the workers that were forked from it: the application as it was loaded once.

mod templates;
mod workers;

use std::{sync::Arc, time::Instant};

use rustix::process::Signal;

use self::templates::{Loss, Molds};
use super::{
    Backoff, Crew, Words,
    template::MoldWord,
    worker::{Stage, Worker, WorkerWord},
};
use crate::shared_state::Shared;

/// The application as it was loaded once by an interpreter with a bridge in it.
#[derive(Debug)]
pub(crate) struct BridgedCrew {
    number: u64,
    shared: Arc<Shared>,
    words: Words<CrewWord>,
    molds: Molds,
    workers: Vec<Worker>,
    phase: Phase,
    backoff: Backoff,
    started: Instant,
}

/// What is heard of a crew.
#[derive(Debug)]
pub(crate) enum CrewWord {
    /// A mold said something.
    Mold { number: u64, word: MoldWord },
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
            molds: Molds::default(),
            workers: Vec::new(),
            phase: Phase::Loading,
            backoff: Backoff::default(),
            started: Instant::now(),
        };
        crew.molds.start(&shared.settings, &crew.words).map_err(|error| {
            format!("{} cannot be started: {error}; is it installed?", shared.settings.program.interpreter.name())
        })?;
        Ok(crew)
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn hear(&mut self, word: CrewWord, numbers: &mut u64) -> Result<(), String> {
        match word {
            CrewWord::Mold { number, word } => self.hear_mold(number, word, numbers),
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
            crew.end_lingering();
            crew.replace(numbers);
        }
    }

    fn time_left(shared: &Shared) -> std::time::Duration {
        shared.time_left()
    }

    fn name(shared: &Shared) -> &str {
        &shared.settings.run.name
    }
}

impl BridgedCrew {
    /// A mold said something. An error is why the application cannot be loaded.
    fn hear_mold(&mut self, mold: u64, word: MoldWord, numbers: &mut u64) -> Result<(), String> {
        match word {
            MoldWord::Ready { pid } => {
                if self.molds.begin(mold, pid) {
                    self.renew_workers(mold);
                }
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
            MoldWord::Gone => match self.molds.lose(mold) {
                Loss::Current => {
                    self.pause();
                    if self.phase == Phase::Loading {
                        return Err("the interpreter ended while the application was loaded".to_owned());
                    }
                }
                Loss::Successor => {
                    tracing::error!(
                        "{}: workers cannot be forked anew; the old mold stays",
                        self.shared.settings.run.name
                    );
                }
                Loss::Former => {}
            },
        }
        Ok(())
    }

    /// A worker said something. An error is why the application cannot be loaded.
    fn hear_worker(&mut self, number: u64, word: WorkerWord, numbers: &mut u64) -> Result<(), String> {
        let Some(worker) = self.workers.iter_mut().find(|worker| worker.link.number == number) else { return Ok(()) };
        match word {
            // Said a second time it would get requests for two.
            WorkerWord::Ready if worker.stage != Stage::Loading => Ok(()),
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
}
