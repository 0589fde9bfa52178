//! Static files from outside: requests to folders on the disk.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

mod answers;
mod caching;
mod compressed;
mod consistency;
mod listings;
mod ranges;
mod site;
