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
#![forbid(unsafe_code)]

mod entry;
mod exchange;
mod peers;
mod shared_table;
#[cfg(test)]
mod simulation;

pub use self::{
    exchange::{Consumption, KeyName, Standing},
    peers::{MAX_INSTANCES, Peers},
    shared_table::{MAX_LISTED, SharedKey, SharedTable},
};
