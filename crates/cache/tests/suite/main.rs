//! The decisions beside those of another implementation.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod million;
mod semantics;
