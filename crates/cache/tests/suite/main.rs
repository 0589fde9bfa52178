//! The decisions beside those of another implementation, and the store in any order of steps.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

mod million;
mod parts;
mod semantics;
