//! The order of streams, against a model of it.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod scheduler;
mod scheduler_model;
