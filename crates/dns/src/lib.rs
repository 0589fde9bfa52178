//! A DNS client for addresses (A, AAAA) and services (SRV) that reports how long each answer is valid.
//!
//! The system's resolver does not report the time to live and does not look up services. `hickory-resolver` does both,
//! and would add 59 crates to the 134 that Serow ships with; these three record types need three files.
//!
//! | what | file |
//! | --- | --- |
//! | the resolver: hosts file, search domains | `resolver.rs` |
//! | queries to name servers | `query.rs` |
//! | `resolv.conf` and `hosts` | `configuration.rs` |
//! | DNS messages, written and parsed: pure | `message.rs` |
#![forbid(unsafe_code)]

mod configuration;
pub mod message;
mod query;
mod resolver;

pub use self::resolver::{Answer, LookupError, Resolver, ResolverSettings, Service};
