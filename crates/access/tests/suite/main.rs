//! Tokens and keys from outside: an issuer of our own, and attackers.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

mod jwt;
