//! Property test of the state machine, with random events.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// The machine, and what a driver knows of it.
struct History {
    generations: ServerGenerations,
    random: u64,
    now: Duration,
    pids: u32,
    /// The processes that run.
    running: BTreeSet<u32>,
    /// The adoptions so far, and the last one that nobody has answered.
    adoptions: u64,
    pending: Option<(u32, u64)>,
    /// The requests so far, with the number of their answers.
    answers: BTreeMap<u64, u32>,
    has_ended: bool,
}

impl History {
    fn run(seed: u64) {
        let mut history = Self {
            generations: ServerGenerations::begin(Duration::ZERO),
            random: seed,
            now: Duration::ZERO,
            pids: 100,
            running: BTreeSet::new(),
            adoptions: 0,
            pending: None,
            answers: BTreeMap::new(),
            has_ended: false,
        };
        history.act();
        // Otherwise the server ends.
        let timeouts = StopTimeouts { replaced: Duration::ZERO, stopped: Duration::ZERO };
        history.handle(Event::Ready { pid: history.pids, timeouts, adopts: true });
        for _ in 0..400 {
            let pause = history.below(200) * history.below(200);
            history.now += Duration::from_millis(pause);
            let event = history.event();
            history.handle(event);
        }
        history.end();
    }

    /// A number below this one (splitmix64).
    fn below(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn event(&mut self) -> Event {
        let pids = u64::from(self.pids) - 99;
        let mut pid = 100 + u32::try_from(self.below(pids)).unwrap();
        if self.below(3) > 0 {
            pid = self.pids;
        }
        let number = self.adoptions.saturating_sub(self.below(2));
        let timeouts = StopTimeouts { replaced: Duration::from_secs(60), stopped: Duration::from_secs(30) };
        match self.below(9) {
            0 => {
                let id = self.answers.len() as u64;
                self.answers.insert(id, 0);
                let process = if self.below(4) == 0 { WantedProcess::New } else { WantedProcess::IfNeeded };
                Event::Reload { asking: Some(id), process }
            }
            1 | 2 => Event::Ready { pid, timeouts, adopts: self.below(4) > 0 },
            3 => Event::StoppedAccepting(pid),
            4 if self.below(2) == 0 => Event::BeginsToAdopt(pid, number),
            4 if self.below(3) == 0 => Event::Failed(pid, "failed".to_owned()),
            5 if self.running.remove(&pid) => Event::Exited(pid, Ending::Signal(9)),
            6 => Event::Adopted(pid, number),
            7 if self.below(2) == 0 => Event::NotAdopted(pid, number, NotAdopted::NeedsProcess("so".to_owned())),
            7 => Event::NotAdopted(pid, number, NotAdopted::Refused("no".to_owned())),
            _ => Event::Tick,
        }
    }

    fn handle(&mut self, event: Event) {
        let expected = match &event {
            Event::Adopted(pid, number) | Event::NotAdopted(pid, number, _) => Some((*pid, *number)),
            _ => None,
        };
        assert_eq!(
            expected.is_some() && self.pending == expected,
            expected.is_some_and(|(pid, number)| { self.generations.awaits_adoption(pid, number) })
        );
        self.generations.handle(self.now, event);
        self.act();
        let stages: Vec<_> = self.generations.list().map(|(.., stage)| stage).collect();
        let count = |wanted| stages.iter().filter(|stage| **stage == wanted).count();
        assert!(count(GenerationStage::Serving) <= 1 && count(GenerationStage::Starting) <= 1);
    }

    fn act(&mut self) {
        while let Some(action) = self.generations.poll_action() {
            assert!(!self.has_ended, "{action:?}");
            match action {
                Action::Spawn(..) => {
                    self.pids += 1;
                    self.running.insert(self.pids);
                    self.generations.handle(self.now, Event::Spawned(self.pids));
                }
                Action::Adopt(number, pid) => {
                    let serves = |(_, serving, stage)| stage == GenerationStage::Serving && serving == pid;
                    assert!(self.generations.list().any(serves) && self.generations.starting.is_none());
                    assert_eq!(number, self.adoptions + 1);
                    (self.adoptions, self.pending) = (number, Some((pid, number)));
                }
                Action::Answer(id, _) => *self.answers.get_mut(&id).unwrap() += 1,
                Action::Exit => self.has_ended = true,
                _ => {}
            }
        }
        if self.generations.adoption.is_none() {
            self.pending = None;
        }
        assert!(self.generations.adoption.is_none() || self.generations.starting.is_none());
    }

    /// Stops, with all that runs: then each request has got one answer.
    fn end(mut self) {
        self.handle(Event::Stop);
        for pid in std::mem::take(&mut self.running) {
            self.handle(Event::Exited(pid, Ending::Done));
        }
        assert!(self.has_ended);
        assert!(self.answers.values().all(|answers| *answers == 1), "{:?}", self.answers);
    }
}

#[test]
fn each_request_gets_one_answer_and_there_is_one_adoption_at_a_time() {
    (0..200).for_each(History::run);
}
