//! The algorithm beside another implementation, and the memory of its tables.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod governor;
mod memory;
