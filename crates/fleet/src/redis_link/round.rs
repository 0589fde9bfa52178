//! One exchange with Redis: one pipeline of commands, and what its answers mean.

use redis::{Cmd, Pipeline, Value};

use super::{
    connection::Connection,
    error::{FleetError, Reason},
    journal_exchange, scripts, server_reports,
    stream::{self, Content, EntryId},
};
use crate::{Consumption, Fleet, SharedKey, Standing, clock, entry::MAX_TOTAL, journal::JournalRequest};

/// State that lasts from one exchange to the next, even across connections.
#[derive(Debug)]
pub(super) struct Session {
    /// This server among the others.
    server: String,
    /// The last event that was read.
    last: EntryId,
    /// Whether events are read a second time: in their order with this server's own, so that the last of them counts.
    rereads: bool,
    /// The last heartbeat by Redis' clock, in milliseconds since 1970, and by this server's, in nanoseconds.
    clock: (u64, u64),
    /// When the next heartbeat and the next trimming are due.
    heartbeat_at: u64,
    trim_at: u64,
    /// How many epochs this server has proposed for a Redis without one.
    epochs: u64,
    /// When this server tells about itself again.
    report_at: u64,
    /// Until when the number of servers can only grow: after an outage, not all have come back yet.
    settled_at: u64,
}

/// The result of an exchange.
pub(super) struct Outcome {
    /// Whether another one should follow at once.
    pub(super) has_more: bool,
    /// An error that leaves the connection usable.
    pub(super) problem: Option<FleetError>,
}

/// The purpose of an answer.
enum Part {
    Keys(usize, Vec<(SharedKey, Consumption)>),
    Heartbeat,
    Published(usize),
    Events,
    Trimmed,
    Journal(JournalRequest),
    Servers,
}

impl Session {
    pub(super) fn new(server: String) -> Self {
        Self {
            server,
            last: (0, 0),
            rereads: false,
            clock: (0, 0),
            heartbeat_at: 0,
            trim_at: 0,
            epochs: 0,
            report_at: 0,
            settled_at: 0,
        }
    }

    /// Gets to know a Redis to which a connection was opened. One that has lost its events, or whose clock is behind, is
    /// read from the beginning.
    pub(super) async fn begin(&mut self, fleet: &Fleet, connection: &mut Connection) -> Result<(), FleetError> {
        let answer = connection.call(&self.heartbeat(fleet)).await?;
        let now = clock::now();
        self.settled_at = now + SETTLING_TIME;
        self.note_heartbeat(fleet, &answer, now)?;
        if let Some(journal) = fleet.journal() {
            journal.lock().handle_connected(journal.now());
        }
        let answer = connection.call(&stream::last(&fleet.settings.key(EVENTS))).await;
        match answer.and_then(|answer| stream::last_id(&answer)) {
            Ok(last) if last < self.last => (self.last, self.rereads) = ((0, 0), true),
            Ok(_) => {}
            // Each exchange says it as well.
            Err(error) if error.reason == Reason::Refused => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Sends what has changed, and takes in what the others have done.
    pub(super) async fn exchange(&mut self, fleet: &Fleet, connection: &mut Connection) -> Result<Outcome, FleetError> {
        let sent = clock::now();
        let events = fleet.events.front(MAX_PUBLISHED);
        let (parts, pipeline) = self.parts(fleet, &events, sent);
        let answers = connection.call_all(&pipeline).await?;
        let now = clock::now();
        let mut outcome = Outcome { has_more: fleet.events.is_waiting() && !events.is_empty(), problem: None };
        let mut is_complete = true;
        for (part, answer) in parts.into_iter().zip(answers) {
            let is_of_keys = matches!(part, Part::Keys(..));
            if let Err(error) = self.take(fleet, part, answer, &events, now, &mut outcome) {
                if matches!(error.reason, Reason::NotReady | Reason::Unexpected) {
                    return Err(error);
                }
                is_complete &= !is_of_keys;
                outcome.problem = Some(error);
            }
        }
        if let Some(journal) = fleet.journal() {
            outcome.has_more |= journal.lock().has_more();
            journal.notify();
        }
        if is_complete {
            fleet.peers.note_exchange(sent);
            fleet.state.note_exchange(sent, now);
        }
        Ok(outcome)
    }

    /// The last exchange of a server that ends.
    pub(super) async fn finish(&mut self, fleet: &Fleet, connection: &mut Connection) {
        if self.exchange(fleet, connection).await.is_ok() {
            let _ = connection.call(redis::cmd("ZREM").arg(fleet.settings.key(INSTANCES)).arg(&self.server)).await;
        }
    }

    fn parts(&mut self, fleet: &Fleet, events: &[(String, Vec<u8>)], now: u64) -> (Vec<Part>, Pipeline) {
        let (mut parts, mut pipeline) = (Vec::new(), Pipeline::new());
        let mut add = |part: Part, command: Cmd| {
            parts.push(part);
            pipeline.add_command(command);
        };
        let mut left = MAX_KEYS;
        for (number, table) in fleet.tables().iter().enumerate() {
            let collected = table.collect(left, now);
            left -= collected.len();
            for keys in collected.chunks(KEYS_PER_CALL) {
                add(Part::Keys(number, keys.to_vec()), fleet.exchange_command(table, keys));
            }
        }
        if now >= self.heartbeat_at {
            self.heartbeat_at = now + HEARTBEAT_INTERVAL;
            add(Part::Heartbeat, self.heartbeat(fleet));
        }
        let key = fleet.settings.key(EVENTS);
        for (number, (kind, payload)) in events.iter().enumerate() {
            add(Part::Published(number), stream::add(&key, &self.server, kind, payload));
        }
        add(Part::Events, stream::read(&key, self.last));
        if now >= self.trim_at {
            self.trim_at = now + TRIM_INTERVAL;
            add(Part::Trimmed, stream::trim(&key, self.redis_time(now)));
        }
        let Some(journal) = fleet.journal() else { return (parts, pipeline) };
        let requests = journal.lock().poll_requests(journal.now());
        for request in requests {
            // Another one each time: the same server may be the first twice.
            self.epochs += 1;
            let epoch = format!("{}-{}", self.server, self.epochs);
            let command = journal_exchange::command(&fleet.settings, &request, &epoch);
            add(Part::Journal(request), command);
        }
        if now >= self.report_at {
            self.report_at = now + server_reports::interval(fleet.peers.instances());
            add(Part::Servers, server_reports::command(&fleet.settings, &journal.report()));
        }
        (parts, pipeline)
    }

    fn take(
        &mut self,
        fleet: &Fleet,
        part: Part,
        answer: Value,
        events: &[(String, Vec<u8>)],
        now: u64,
        outcome: &mut Outcome,
    ) -> Result<(), FleetError> {
        let answer = FleetError::checked(answer)?;
        match part {
            Part::Keys(number, keys) => {
                let tables = fleet.tables();
                let standings = standings(&answer, keys.len())?;
                for ((key, sent), standing) in keys.iter().zip(&standings) {
                    if let Some(standing) = standing {
                        tables[number].merge(*key, sent, *standing);
                    }
                }
                if standings.contains(&None) {
                    return Err(FleetError::new(Reason::ForeignValue, FOREIGN));
                }
            }
            Part::Heartbeat => self.note_heartbeat(fleet, &answer, now)?,
            Part::Published(number) => fleet.events.note_published(&events[number..=number]),
            Part::Events => {
                let entries = stream::entries(answer, &self.server, self.redis_time(now))?;
                let has_more = entries.len() >= stream::MAX_READ;
                outcome.has_more |= has_more;
                for entry in entries {
                    // Identifiers in Redis grow. An entry with a smaller one does not come from Redis, and would be
                    // read again and again.
                    self.last = self.last.max(entry.id);
                    match entry.content {
                        Content::Event(event) => fleet.events.deliver(&event),
                        Content::Own(event) if self.rereads => fleet.events.deliver(&event),
                        Content::Own(_) => {}
                        Content::Invalid => fleet.events.note_lost(),
                    }
                }
                self.rereads &= has_more;
            }
            Part::Trimmed => {}
            Part::Journal(request) => {
                let answer = journal_exchange::answer(&request, answer)?;
                if let Some(journal) = fleet.journal() {
                    journal.lock().handle_answer(&request, answer, journal.now());
                }
            }
            Part::Servers => {
                let servers = server_reports::answer(answer)?;
                fleet.journal().iter().for_each(|journal| journal.set_servers(servers.clone()));
            }
        }
        Ok(())
    }

    fn heartbeat(&self, fleet: &Fleet) -> Cmd {
        let mut command = redis::cmd("EVAL");
        command.arg(scripts::HEARTBEAT).arg(1).arg(fleet.settings.key(INSTANCES)).arg(&self.server).arg(INSTANCE_LIFE);
        command
    }

    fn note_heartbeat(&mut self, fleet: &Fleet, answer: &Value, now: u64) -> Result<(), FleetError> {
        let Value::Array(parts) = answer else { return Err(FleetError::unexpected()) };
        let [Value::Int(instances), Value::Int(time)] = parts[..] else { return Err(FleetError::unexpected()) };
        let instances = u32::try_from(instances).unwrap_or(u32::MAX);
        let known = if now < self.settled_at { fleet.peers.instances() } else { 1 };
        fleet.peers.note_instances(instances.max(known));
        self.clock = (u64::try_from(time).unwrap_or(0), now);
        Ok(())
    }

    /// Returns the time of Redis' clock at a time of this server's, in milliseconds since 1970.
    fn redis_time(&self, now: u64) -> u64 {
        self.clock.0.saturating_add(now.saturating_sub(self.clock.1) / 1_000_000)
    }
}

/// Reads the standings of so many keys from an answer; `None` for a key that holds a foreign value.
fn standings(answer: &Value, keys: usize) -> Result<Vec<Option<Standing>>, FleetError> {
    let Value::Array(numbers) = answer else { return Err(FleetError::unexpected()) };
    if numbers.len() != keys * 2 {
        return Err(FleetError::unexpected());
    }
    let standing = |pair: &[Value]| match pair {
        [Value::Int(ahead), Value::Int(total)] => {
            let total = u32::try_from(*total).ok().filter(|total| *total <= MAX_TOTAL);
            Ok(total.map(|total| Standing { ahead: *ahead, total }))
        }
        _ => Err(FleetError::unexpected()),
    };
    numbers.chunks_exact(2).map(standing).collect()
}

const FOREIGN: &str = "other values are stored under its keys: give this fleet a `prefix` of its own";

/// The stream of events.
const EVENTS: &str = "events";

/// When each server was last there.
const INSTANCES: &str = "instances";

/// How many keys are exchanged at once: Redis takes some milliseconds for them.
const MAX_KEYS: usize = 4096;

/// A call of the script keeps everybody else waiting, here for less than a millisecond.
pub(super) const KEYS_PER_CALL: usize = 256;

/// How many events are published at once.
const MAX_PUBLISHED: usize = 100;

/// In nanoseconds.
const HEARTBEAT_INTERVAL: u64 = 500_000_000;

/// A server that misses six heartbeats is not there any more; in milliseconds.
const INSTANCE_LIFE: u64 = 3000;

/// Servers try to connect twice in a second, so all are there after that time; in nanoseconds.
const SETTLING_TIME: u64 = 3_000_000_000;

/// In nanoseconds.
const TRIM_INTERVAL: u64 = 60_000_000_000;
