//! The TLS of a server beside a client that is rustls whole: two ends in memory, and what is between them.

mod authority;
mod certificates;
mod clients;
mod ends;
mod faults;
mod flights;
mod settings;
