//! Settings files and the handlers that they make, from outside.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod applications;
mod live_settings;
mod phases;
