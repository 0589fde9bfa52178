//! Tests of tokens and keys from outside: an issuer of our own, and attackers.

mod attacks;
mod issuer;
mod key_sets;
mod remote_keys;
mod speed;
mod verification;
