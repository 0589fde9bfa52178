//! Folders of scripts as clients see them, with a php-fpm behind each.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

#[path = "../../../apps/tests/suite/support/answering.rs"]
mod answering;
mod fpm;
mod paths;
mod places;
mod random_children;
mod scripts;
