//! The algorithm beside another implementation.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod governor;
