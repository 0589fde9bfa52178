//! Masters and their generations as programs run them.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod reloads;
