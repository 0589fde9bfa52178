//! The algorithm beside another implementation, and the memory of its tables.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

mod governor;
mod memory;
