//! A DNS client for addresses (A, AAAA) and services (SRV) that reports how long each answer is valid; and for signed
//! updates of a zone.
//!
//! The system's resolver does not report the time to live and does not look up services. `hickory-resolver` does both,
//! and would add 59 crates to the 134 that Serow ships with; these few record types need few files.
//!
//! | what | file |
//! | --- | --- |
//! | the resolver: hosts file, search domains | `resolver.rs` |
//! | queries to name servers | `query.rs` |
//! | `resolv.conf` and `hosts` | `configuration.rs` |
//! | updates of a zone, and their way to the name server | `update_client.rs` |
//! | DNS messages, written and parsed: pure | `message.rs`, `message/` |
//! | signatures of messages (TSIG): pure | `tsig.rs` |
//! | key files for them | `tsig/key_file.rs` |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure real time"))]

mod configuration;
pub mod message;
mod query;
mod resolver;
pub mod tsig;
mod update_client;

pub use self::{
    resolver::{Answer, LookupError, Resolver, ResolverSettings, Service},
    update_client::{UpdateClient, UpdateError, has_text},
};
