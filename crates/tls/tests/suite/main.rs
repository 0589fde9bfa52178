//! TLS on the server's side beside a client that is rustls whole, and on the client's side beside our own server: two
//! ends in memory, and what is between them.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

mod authority;
mod certificates;
mod clients;
mod connecting;
mod dialing;
mod early_data;
mod ends;
mod faults;
mod flights;
mod forged;
mod forged_server;
mod forger;
mod key_exchanges;
mod mutations;
mod nginx;
mod openssl;
mod rejection;
mod revocation;
mod running;
mod settings;
mod theirs;
mod tickets;
mod unknown_names;
mod witness;
