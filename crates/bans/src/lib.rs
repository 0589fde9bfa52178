//! Bans: clients that are refused for a time, by their addresses.
//!
//! [`Bans`] is the table that all threads of a server share; [`Strikes`] counts how often clients break a limit, and says
//! when one is to be banned. Time is an argument: the duration since any moment in the past that all callers share, as
//! that of the system's monotonic clock. It must not jump, as the time of day does.
#![forbid(unsafe_code)]

mod ban;
mod bans;
mod snapshot;
mod strikes;
mod table;

pub use self::{
    ban::{Ban, BanChange, BanError, BanOrigin},
    bans::{BanCounts, Bans},
    strikes::{BanRule, Strikes},
};
