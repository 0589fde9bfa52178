//! Requests to a folder on the disk that clients may change.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod form;
mod locks;
mod other_routes;
mod properties;
mod quotas;
mod site;
mod structure;
mod uploads;
