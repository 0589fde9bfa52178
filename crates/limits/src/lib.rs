//! Limits of clients: how often a key may send requests, how many at a time, and bans of addresses.
//!
//! A [`Limit`] says how many requests of a key (a client address, a user, a token) are allowed, by the generic cell rate
//! algorithm: the state of a key is one time, at which the requests that it has sent so far would have ended had they come at
//! the rate of the limit. A [`KeyTable`] holds these times in memory of a fixed size. [`Strikes`] counts how often clients
//! break a limit, and [`Bans`] is the table of refused addresses that all threads of a server share.
//!
//! Nothing here asks a clock: times are arguments, measured from any fixed moment that all callers share, such as that of
//! the system's monotonic clock. They must not jump, as the time of day does.
//!
//! ```
//! use serow_limits::{Decision, KeyTable, Limit};
//!
//! // Two at once, and one more in each second.
//! let limit = Limit::new("1/s".parse()?).with_burst(1);
//! let table = KeyTable::new(1000);
//! let key = table.key(b"192.0.2.1");
//! let outcomes = [0, 0, 0, 1_000_000_000].map(|now| table.decide(&limit, key, 1, now).is_allowed());
//! assert_eq!(outcomes, [true, true, false, true]);
//! # Ok::<(), serow_limits::RateError>(())
//! ```
//!
//! | subject | file |
//! | --- | --- |
//! | a rate and how it is written | `rate.rs` |
//! | the algorithm: whether a request of one key is allowed, delayed or refused | `limit.rs` |
//! | the times of all keys, in bounded memory | `key_table.rs` |
//! | how many requests one stands for, where several servers share a limit | `weight.rs` |
//! | requests at a time | `concurrency.rs` |
//! | a ban, and a change of it | `ban.rs` |
//! | the bans of a server, by address and by network | `bans.rs`, `ban_table.rs` |
//! | bans that outlive a restart | `ban_snapshot.rs` |
//! | broken limits of a client, until they lead to a ban | `strikes.rs` |
#![forbid(unsafe_code)]

mod ban;
mod ban_snapshot;
mod ban_table;
mod bans;
mod concurrency;
mod key_table;
mod limit;
mod rate;
mod strikes;
mod weight;

pub use self::{
    ban::{Ban, BanChange, BanError, BanOrigin},
    bans::{BanCounts, Bans},
    concurrency::{Concurrency, ConcurrencyGuard},
    key_table::{Key, KeyTable},
    limit::{Decision, Delay, Limit},
    rate::{Rate, RateError},
    strikes::{BanRule, Strikes},
    weight::Weight,
};
