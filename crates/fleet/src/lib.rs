//! Rate limits and events that several servers share through Redis. No request waits for Redis.
//!
//! A [`SharedTable`] decides about requests at once, from what this server knows. A thread of its own tells Redis many
//! times per second what this server has served, and learns what the others have. While Redis is slow or away, each server
//! has its share of each limit: one of as many parts as there are servers.
//!
//! | subject | file |
//! | --- | --- |
//! | the keys of a shared limit, in bounded memory | `shared_table.rs` |
//! | one key: how a server decides, and how what the others did changes what it knows | `entry.rs` |
//! | what servers and Redis tell each other | `exchange.rs` |
//! | how many servers there are, and whether they are in contact | `peers.rs` |
//!
//! These files are pure: they do no I/O and ask no clock. Times are nanoseconds since any fixed moment, and arguments. A
//! simulation in `simulation.rs` runs ten of these servers with a Redis that is slow, away, and forgets.
//!
//! | subject | file |
//! | --- | --- |
//! | the fleet as one server sees it | `fleet.rs` |
//! | how to reach Redis | `address.rs`, `settings.rs` |
//! | the thread that talks to Redis | `redis_link.rs` |
//! | its connection: sentinels, clusters, TLS | `redis_link/connection.rs` |
//! | one exchange, and the scripts that it calls | `redis_link/round.rs`, `redis_link/scripts.rs` |
//! | commands of scripts | `commands.rs`, `redis_link/command_connection.rs` |
//! | what one of several servers does for all | `turns.rs` |
//! | events that reach all servers | `events.rs`, `redis_link/stream.rs` |
//! | commands that are given to all servers, also to those that are away | `journal.rs`, `shared_journal.rs` |
//! | their exchange, and what servers tell about themselves | `redis_link/journal_exchange.rs`, `redis_link/server_reports.rs` |
//! | what the status says | `report.rs` |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure real time"))]

mod clock;
mod commands;
mod entry;
mod events;
mod exchange;
mod fleet;
mod journal;
mod peers;
mod redis_link;
mod report;
mod settings;
mod shared_journal;
mod shared_table;
#[cfg(test)]
mod simulation;
mod turns;

pub use self::{
    clock::now,
    commands::{RedisAnswer, RedisCommands, RedisFailure},
    events::{Event, EventCounts, Events, MAX_EVENTS, MAX_PAYLOAD, MAX_WAITING},
    exchange::{Consumption, KeyName, Standing},
    fleet::{Fleet, FleetThread},
    journal::{
        EntryState, FleetJournal, HeldEntry, JournalCounts, JournalEntry, JournalError, JournalFile, JournalFileError,
        MAX_COMMAND, MAX_SUBJECT, ServerId, Stamp, StampError, journal_subject,
    },
    peers::{MAX_INSTANCES, Peers},
    report::FleetReport,
    settings::{DEFAULT_TIMEOUT, FleetFileError, FleetSettings},
    shared_journal::{JournalFunctions, MAX_REPORT, ServerReport, SharedJournal},
    shared_table::{MAX_LISTED, SharedKey, SharedTable},
    turns::{Turn, TurnResult},
};
pub use serow_message::{RedisUrl, RedisUrlError};
