//! Rate limits by key: client addresses, users, tokens.
//!
//! A [`Limit`] says how many requests of a key are allowed, by the generic cell rate algorithm: the state of a key is
//! one time, at which the requests that it has sent so far would have ended had they come at the rate of the limit. A
//! [`KeyTable`] holds these times in memory of a fixed size. Nothing here asks a clock: times are nanoseconds since any
//! fixed moment, and arguments.
//!
//! ```
//! use serow_rate_limit::{Decision, KeyTable, Limit};
//!
//! // Two at once, and one more in each second.
//! let limit = Limit::new("1/s".parse()?).with_burst(1);
//! let table = KeyTable::new(1000);
//! let key = table.key(b"192.0.2.1");
//! let outcomes = [0, 0, 0, 1_000_000_000].map(|now| table.decide(&limit, key, 1, now).is_allowed());
//! assert_eq!(outcomes, [true, true, false, true]);
//! # Ok::<(), serow_rate_limit::RateError>(())
//! ```
//!
//! | subject | file |
//! | --- | --- |
//! | a rate and how it is written | `rate.rs` |
//! | the algorithm: what happens to a request of one key | `limit.rs` |
//! | the times of all keys, in bounded memory | `key_table.rs` |
//! | how many requests one stands for, where several servers share a limit | `weight.rs` |
#![forbid(unsafe_code)]

mod concurrency;
mod key_table;
mod limit;
mod rate;
mod weight;

pub use self::{
    concurrency::{Concurrency, ConcurrencyGuard},
    key_table::{Key, KeyTable},
    limit::{Decision, Delay, Limit},
    rate::{Rate, RateError},
    weight::Weight,
};
