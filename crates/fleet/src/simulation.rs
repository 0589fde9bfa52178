//! Ten servers and a Redis in simulated time: latency, loss, partitions, a Redis that stands still, forgets and has
//! another clock.

use std::{collections::HashMap, ops::Range, sync::Arc};

use serow_limits::Limit;

use crate::{Consumption, KeyName, Peers, SharedKey, SharedTable, Standing, entry::MAX_TOTAL};

/// A Rust version of the script in `redis_link/scripts.rs`.
#[derive(Default)]
struct Ledger {
    keys: HashMap<KeyName, (f64, u32)>,
}

impl Ledger {
    fn exchange(&mut self, sent: &Consumption, interval: f64, most: f64, now: f64) -> Standing {
        let before = self.keys.get(&sent.name).copied();
        let time = f64::from(sent.admitted) * interval;
        let end = match before {
            Some((end, _)) => end.max(now - sent.span as f64) + time,
            None => (now - sent.span as f64 + time).max(now + sent.ahead as f64),
        };
        let end = end.min(now + most);
        let total = (before.map_or(0, |(_, total)| total) + sent.demand) & MAX_TOTAL;
        self.keys.insert(sent.name, (end, total));
        Standing { ahead: (end - now) as i64, total }
    }
}

/// A server, and what its thread for Redis is doing.
struct Server {
    table: SharedTable,
    peers: Arc<Peers>,
    /// How far its clock is ahead of the simulation's, in nanoseconds, and how much faster it runs.
    clock: (u64, f64),
    next: u64,
    /// Requests that came so far, in parts of one.
    due: f64,
    admitted: u64,
}

/// Something on its way, and when it arrives.
enum Message {
    Request(usize, Vec<(SharedKey, Consumption)>, u64),
    Response(usize, Vec<(SharedKey, Consumption, Standing)>, u64),
}

/// Failures and their times, in milliseconds.
#[derive(Default)]
struct Faults {
    /// Redis does not answer. Commands that arrived are handled afterwards.
    frozen: Range<u64>,
    /// Redis is away, and empty when it returns.
    killed: Range<u64>,
    /// Redis has lost everything.
    flushed: Vec<u64>,
    /// These servers do not reach Redis.
    partitioned: (Range<u64>, Vec<usize>),
    /// One message of so many is lost, and the connection with it.
    loss: Option<u64>,
    /// At this time, the clock of Redis goes on by so many milliseconds.
    jump: (u64, i64),
    /// The time that a message takes, in milliseconds: at least, and how much more at most.
    latency: (u64, u64),
    /// How much the clocks of servers differ.
    has_skew: bool,
}

struct Simulation {
    limit: Limit,
    servers: Vec<Server>,
    /// Requests per second to each server.
    demand: Vec<f64>,
    faults: Faults,
    ledger: Ledger,
    messages: Vec<(u64, Message)>,
    random: u64,
    /// Admitted requests in each millisecond.
    admitted: Vec<u32>,
}

const MILLISECOND: u64 = 1_000_000;

impl Simulation {
    fn new(rate: &str, burst: u32, demand: &[f64], faults: Faults) -> Self {
        let limit = Limit::new(rate.parse().unwrap()).with_burst(burst);
        let server = |number: usize| {
            let peers = Arc::new(Peers::new(demand.len() as u32));
            let table = SharedTable::new("a", limit, 100, Arc::clone(&peers));
            let clock =
                if faults.has_skew { (number as u64 * 3_600_000_000_000, 1e-4 * number as f64) } else { (0, 0.0) };
            Server { table, peers, clock, next: number as u64 * 3, due: 0.0, admitted: 0 }
        };
        let servers = (0..demand.len()).map(server).collect();
        let (ledger, messages, admitted) = (Ledger::default(), Vec::new(), Vec::new());
        Self { limit, servers, demand: demand.to_vec(), faults, ledger, messages, random: 1, admitted }
    }

    /// Runs so many seconds.
    fn run(&mut self, seconds: u64) -> &mut Self {
        let begin = self.admitted.len() as u64;
        (begin..begin + seconds * 1000).for_each(|time| self.step(time));
        self
    }

    /// Requests that all servers admitted in these milliseconds.
    fn admitted(&self, times: Range<u64>) -> u32 {
        self.admitted[times.start as usize..times.end as usize].iter().sum()
    }

    fn step(&mut self, time: u64) {
        if self.faults.flushed.contains(&time) || self.faults.killed.start == time {
            self.ledger = Ledger::default();
        }
        let mut admitted = 0;
        for number in 0..self.servers.len() {
            let server = &mut self.servers[number];
            let now = server.now(time);
            server.due += self.demand[number] / 1000.0;
            while server.due >= 1.0 {
                server.due -= 1.0;
                let is_allowed = server.table.decide(b"key", 1, now).1.is_allowed();
                admitted += u32::from(is_allowed);
                server.admitted += u64::from(is_allowed);
            }
            if time >= server.next {
                // Where no answer comes, the connection is given up, and opened again.
                server.next = time + TIMEOUT;
                if self.is_reachable(number, time) {
                    let collected = self.servers[number].table.collect(1000, now);
                    self.send(time, Message::Request(number, collected, now));
                }
            }
        }
        self.admitted.push(admitted);
        let (due, later) = self.messages.drain(..).partition(|(at, _)| *at <= time);
        self.messages = later;
        due.into_iter().for_each(|(_, message)| self.receive(time, message));
    }

    /// Whether a connection can be opened. A Redis that stands still answers nothing, but what is in its sockets counts.
    fn is_reachable(&self, number: usize, time: u64) -> bool {
        let (times, servers) = &self.faults.partitioned;
        let was_frozen = self.faults.frozen.contains(&time) && self.faults.frozen.start + 25 < time;
        !(was_frozen || self.faults.killed.contains(&time) || times.contains(&time) && servers.contains(&number))
    }

    fn send(&mut self, time: u64, message: Message) {
        // xorshift64
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        if self.faults.loss.is_some_and(|one| self.random.is_multiple_of(one)) {
            return;
        }
        let (least, more) = self.faults.latency;
        self.messages.push((time + least + (self.random >> 32) % (more + 1), message));
    }

    fn receive(&mut self, time: u64, message: Message) {
        match message {
            Message::Request(..) if self.faults.frozen.contains(&time) => self.messages.push((time + 1, message)),
            Message::Request(..) if self.faults.killed.contains(&time) => {}
            Message::Request(number, collected, sent) => {
                let jump = if time >= self.faults.jump.0 { self.faults.jump.1 } else { 0 };
                let now = (1_000_000_000 + time as i64 + jump) as f64 * 1000.0;
                let interval = self.limit.rate().interval() as f64 / 1000.0;
                let most = self.servers[number].table.most_ahead() as f64 / 1000.0;
                let mut answer = |sent: &Consumption| self.ledger.exchange(sent, interval, most, now);
                let standings = collected.into_iter().map(|(key, sent)| (key, sent, answer(&sent))).collect();
                self.send(time, Message::Response(number, standings, sent));
            }
            Message::Response(number, standings, sent) => {
                let server = &mut self.servers[number];
                // An answer after the timeout has no effect.
                if server.now(time).saturating_sub(sent) > TIMEOUT * MILLISECOND {
                    return;
                }
                standings.into_iter().for_each(|(key, sent, standing)| server.table.merge(key, &sent, standing));
                server.peers.note_exchange(sent);
                server.next = time + INTERVAL;
            }
        }
    }
}

impl Server {
    fn now(&self, time: u64) -> u64 {
        (time + 1000) * MILLISECOND + self.clock.0 + ((time * MILLISECOND) as f64 * self.clock.1) as u64
    }
}

/// As in the driver, in milliseconds.
const INTERVAL: u64 = 25;
const TIMEOUT: u64 = 500;

fn within(found: u32, expected: f64, tolerance: f64) -> bool {
    (f64::from(found) / expected - 1.0).abs() <= tolerance
}

#[test]
fn ten_servers_admit_what_one_would() {
    for (name, rate, burst, demand, latency, has_skew) in [
        ("equal", "1000/s", 0, vec![1000.0; 10], (0, 1), false),
        ("with a burst", "1000/s", 100, vec![1000.0; 10], (0, 1), false),
        ("slow", "1000/s", 0, vec![1000.0; 10], (20, 30), false),
        ("skewed clocks", "1000/s", 0, vec![1000.0; 10], (0, 3), true),
        ("unequal", "1000/s", 0, (0..10).map(|number| 100.0 * f64::from(number)).collect(), (0, 2), false),
        ("one of ten", "1000/s", 0, [vec![2000.0], vec![0.0; 9]].concat(), (0, 1), false),
        ("a low rate", "20/s", 0, vec![20.0; 10], (0, 1), false),
        ("just above", "1000/s", 20, vec![110.0; 10], (0, 1), false),
    ] {
        let mut simulation = Simulation::new(rate, burst, &demand, Faults { latency, has_skew, ..Faults::default() });
        let whole = f64::from(rate.split_once('/').unwrap().0.parse::<u32>().unwrap()) * 10.0;
        // From the beginning: nobody knows that there are others.
        let first = simulation.run(11).admitted(0..10_000);
        assert!(within(first, whole + f64::from(burst), 0.02), "{name}: {first}");
        let later = simulation.run(10).admitted(11_000..21_000);
        assert!(within(later, whole, 0.02), "{name}: {later}");
    }
}

#[test]
fn requests_below_the_limit_are_all_served() {
    for (demand, burst) in [(90.0, 20), (45.0, 10), (9.0, 3)] {
        let mut simulation =
            Simulation::new("1000/s", burst, &[demand; 10], Faults { latency: (0, 3), ..Faults::default() });
        let served = simulation.run(10).admitted(0..10_000);
        assert!(within(served, demand * 100.0, 0.01), "{demand}: {served}");
    }
}

#[test]
fn each_server_serves_the_same_part_of_its_requests() {
    let demand: Vec<f64> = (1..=10).map(|number| 200.0 * f64::from(number)).collect();
    let mut simulation = Simulation::new("1000/s", 0, &demand, Faults { latency: (0, 3), ..Faults::default() });
    simulation.run(10);
    // A server with few requests serves the first of each exchange, so its part is larger.
    for (server, demand) in simulation.servers.iter().zip(&demand) {
        let part = server.admitted as f64 / (demand * 10.0);
        assert!((0.06..0.2).contains(&part), "{demand}: {part}");
    }
}

/// The limit, and a tenth of it.
fn at_most(found: u32, seconds: u64) -> bool {
    f64::from(found) <= 1000.0 * seconds as f64 * 1.1
}

#[test]
fn faults_cost_no_more_than_a_share_and_are_over_within_two_seconds() {
    let latency = (0, 2);
    for (name, faults) in [
        ("frozen", Faults { frozen: 10_000..40_000, latency, ..Faults::default() }),
        ("killed", Faults { killed: 10_000..40_000, latency, ..Faults::default() }),
        ("flushed", Faults { flushed: vec![10_000, 20_000, 39_999], latency, ..Faults::default() }),
        ("one is alone", Faults { partitioned: (10_000..40_000, vec![3]), latency, ..Faults::default() }),
        ("all are alone", Faults { partitioned: (10_000..40_000, (0..10).collect()), latency, ..Faults::default() }),
        ("loss", Faults { loss: Some(20), latency, ..Faults::default() }),
        ("clock forward", Faults { jump: (10_000, 3_600_000), latency, ..Faults::default() }),
        ("clock back", Faults { jump: (10_000, -3_600_000), latency, ..Faults::default() }),
        ("slow", Faults { latency: (200, 300), ..Faults::default() }),
    ] {
        let mut simulation = Simulation::new("1000/s", 0, &[1000.0; 10], faults);
        simulation.run(60);
        let during = simulation.admitted(10_000..40_000);
        assert!(at_most(during, 30), "{name}: {during} during the fault");
        let least = if matches!(name, "clock back" | "loss") { 0.9 } else { 0.95 };
        assert!(f64::from(during) > 30_000.0 * least, "{name}: {during} during the fault");
        let after = simulation.admitted(42_000..52_000);
        let tolerance = if name == "loss" || name == "slow" { 0.1 } else { 0.02 };
        assert!(within(after, 10_000.0, tolerance), "{name}: {after} afterwards");
        let first = simulation.admitted(40_000..42_000);
        assert!(first <= 2400, "{name}: {first} in the first two seconds");
    }
}

#[test]
fn a_client_that_turns_to_all_servers_at_once_repays_it() {
    let mut simulation = Simulation::new("10/m", 4, &[0.0; 10], Faults { latency: (0, 1), ..Faults::default() });
    simulation.run(1);
    simulation.demand = vec![200.0; 10];
    let at_once = simulation.run(1).admitted(1000..2000);
    assert!((5..=60).contains(&at_once), "{at_once}");
    simulation.demand = vec![1.0; 10];
    let rest = simulation.run(600).admitted(2000..602_000);
    let all = at_once + rest;
    assert!((100..=108).contains(&all), "{at_once} and {rest}");
}
