//! Five servers and a Redis that is slow, away, emptied, and replaced by a copy that is behind; with random commands. In the
//! end, all servers have executed the same commands: each once, those of each server in the order in which they were given.

use std::collections::{BTreeMap, HashSet};

use super::*;

/// A Rust version of the scripts in `redis_link/journal_exchange.rs`.
#[derive(Clone, Default)]
struct Redis {
    epoch: Option<String>,
    last: u64,
    values: BTreeMap<String, String>,
    numbers: BTreeMap<u64, String>,
}

impl Redis {
    fn answer(&mut self, request: &JournalRequest, random: u64, page: usize) -> JournalAnswer {
        let epoch = self.epoch.get_or_insert_with(|| format!("{random:x}")).clone();
        match request {
            JournalRequest::Add { epoch: expected, entries } => {
                if *expected == epoch {
                    entries.iter().for_each(|entry| self.add(entry));
                }
                JournalAnswer::Added { epoch }
            }
            JournalRequest::Get { subjects } => {
                let values = subjects.iter().take(page).map(|(_, subject)| self.values.get(subject).cloned());
                JournalAnswer::Got { values: values.collect() }
            }
            JournalRequest::Remove { entries } => {
                for (stamp, subject) in entries {
                    if self.stamp(subject) == Some(*stamp) {
                        self.values.remove(subject);
                        self.numbers.retain(|_, other| other != subject);
                    }
                }
                JournalAnswer::Removed
            }
            JournalRequest::List { after } => {
                let listed = self.numbers.range(after + 1..).take(page).map(|(number, subject)| Listed {
                    entry: Some((subject.clone(), self.stamp(subject).unwrap())),
                    number: *number,
                });
                let page_of: Vec<_> = listed.collect();
                let is_full = page_of.len() == page;
                JournalAnswer::Listed { epoch, last: self.last, page: page_of, is_full }
            }
        }
    }

    fn stamp(&self, subject: &str) -> Option<Stamp> {
        self.values.get(subject).map(|value| value[..36].parse().unwrap())
    }

    fn add(&mut self, entry: &JournalEntry) {
        if self.stamp(&entry.subject).is_none_or(|stamp| stamp < entry.stamp) {
            self.last += 1;
            self.values.insert(entry.subject.clone(), entry.value());
            self.numbers.retain(|_, other| *other != entry.subject);
            self.numbers.insert(self.last, entry.subject.clone());
        }
    }
}

struct Server {
    journal: FleetJournal,
    /// How far its clock is off.
    skew: u64,
    is_connected: bool,
    is_partitioned: bool,
    /// The commands that it has executed, its own included.
    executed: Vec<JournalEntry>,
}

struct Simulation {
    servers: Vec<Server>,
    redis: Redis,
    copy: Redis,
    is_away: bool,
    random: u64,
    now: u64,
    page: usize,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let server = |number: u64| Server {
            journal: FleetJournal::new(ServerId(number)),
            skew: number * 700_000,
            is_connected: false,
            is_partitioned: false,
            executed: Vec::new(),
        };
        let (redis, copy) = (Redis::default(), Redis::default());
        let servers = (1..=5).map(server).collect();
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Self { servers, redis, copy, is_away: false, random, now: 1_000_000_000, page: 3 }
    }

    fn below(&mut self, limit: u64) -> u64 {
        // xorshift64
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % limit
    }

    fn step(&mut self) {
        self.now += 25_000;
        match self.below(100) {
            0 => self.is_away = true,
            1..4 => self.is_away = false,
            4 => self.redis = Redis::default(),
            5 => self.copy = self.redis.clone(),
            6 => {
                // Connections to the primary that is gone end.
                self.redis = self.copy.clone();
                self.servers.iter_mut().for_each(|server| server.is_connected = false);
            }
            7 => {
                let server = self.below(5) as usize;
                self.servers[server].is_partitioned ^= true;
            }
            8 => {
                let server = self.below(5) as usize;
                self.restart(server);
            }
            9..25 => self.give(),
            _ => {}
        }
        for number in 0..5 {
            if self.below(3) > 0 {
                self.exchange(number);
            }
            self.execute(number);
        }
    }

    /// A process that has ended begins with the entries that are on its disk.
    fn restart(&mut self, number: usize) {
        let server = &mut self.servers[number];
        let mut journal = FleetJournal::new(server.journal.server());
        for held in server.journal.entries() {
            journal.restore(held.clone());
        }
        (server.journal, server.is_connected) = (journal, false);
    }

    fn give(&mut self) {
        let (number, subject) = (self.below(5) as usize, format!("subject/{}", self.below(12)));
        let (command, life) = (self.random.to_string(), (self.below(4) == 0).then_some(3600));
        let server = &mut self.servers[number];
        let entry = server.journal.prepare(&subject, command, life, self.now + server.skew).unwrap();
        server.journal.add_given(entry.clone());
        server.executed.push(entry);
    }

    fn exchange(&mut self, number: usize) {
        let (lost, cut) = (self.below(20), self.below(3) as usize);
        let server = &mut self.servers[number];
        let now = self.now + server.skew;
        if self.is_away || server.is_partitioned {
            server.is_connected = false;
            return;
        }
        if !server.is_connected {
            server.is_connected = true;
            server.journal.handle_connected(now);
        }
        for (place, request) in server.journal.poll_requests(now).iter().enumerate() {
            let answer = self.redis.answer(request, self.random, self.page);
            // The connection ends: some of the requests were executed, and their answers are lost.
            if lost == 0 && place >= cut {
                server.is_connected = false;
                return;
            }
            server.journal.handle_answer(request, answer, now);
        }
    }

    fn execute(&mut self, number: usize) {
        let server = &mut self.servers[number];
        while let Some(entry) = server.journal.next_waiting() {
            let state = if entry.command.ends_with('7') {
                EntryState::Refused("seven".to_owned())
            } else {
                EntryState::Applied
            };
            assert!(server.journal.note_outcome(&entry, state));
            server.executed.push(entry);
        }
    }

    /// All is well from now on.
    fn settle(&mut self) {
        self.is_away = false;
        self.servers.iter_mut().for_each(|server| server.is_partitioned = false);
        for _ in 0..200 {
            self.now += 25_000;
            for number in 0..5 {
                self.exchange(number);
                self.execute(number);
            }
        }
    }

    fn check(&self, seed: u64) {
        let entries = |server: &Server| -> Vec<_> {
            server.journal.entries().into_iter().map(|held| held.entry.clone()).collect()
        };
        let expected = entries(&self.servers[0]);
        assert_eq!(self.redis.values.len(), expected.len(), "{seed}");
        for server in &self.servers {
            assert_eq!(entries(server), expected, "seed {seed}, server {}", server.journal.server());
            let (mut once, mut by_server, mut by_subject) = (HashSet::new(), BTreeMap::new(), BTreeMap::new());
            for entry in &server.executed {
                assert!(once.insert(entry.stamp), "seed {seed}: {entry:?} twice");
                let before = by_server.insert(entry.stamp.server, entry.stamp);
                assert!(before.is_none_or(|before| before < entry.stamp), "seed {seed}: {entry:?} after {before:?}");
                let before = by_subject.insert(&entry.subject, entry.stamp);
                assert!(before.is_none_or(|before| before < entry.stamp), "seed {seed}: {entry:?} after {before:?}");
            }
            for entry in &expected {
                assert!(once.contains(&entry.stamp), "seed {seed}: {entry:?} was not executed");
            }
        }
    }
}

#[test]
fn all_servers_execute_the_same_commands_once_and_in_order() {
    for seed in 1..=200 {
        let mut simulation = Simulation::new(seed);
        (0..600).for_each(|_| simulation.step());
        simulation.settle();
        simulation.check(seed);
    }
}

#[test]
fn expired_commands_leave_all_servers_and_redis() {
    let mut simulation = Simulation::new(1);
    let server = &mut simulation.servers[0];
    for (subject, life) in [("a", Some(60)), ("b", None)] {
        let entry = server.journal.prepare(subject, "x".to_owned(), life, simulation.now).unwrap();
        server.journal.add_given(entry);
    }
    simulation.settle();
    assert_eq!(simulation.redis.values.len(), 2);
    simulation.now += 70_000_000;
    simulation.settle();
    assert_eq!(simulation.redis.values.keys().collect::<Vec<_>>(), ["b"]);
    assert!(simulation.servers.iter().all(|server| server.journal.entries().len() == 1));
}
