//! The router from outside: sites, routes, redirects and changed headers.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod allocations;
mod conflicts;
mod evasions;
mod header_rules;
mod headers;
mod hosts;
mod matching;
mod redirects;
mod rewrites;
mod routes;
mod support;
