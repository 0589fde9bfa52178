//! Random numbers that need not be secret.

use std::{collections::hash_map::RandomState, hash::BuildHasher};

/// A number for a generator of random numbers to begin with, different in each thread and process.
#[must_use]
pub fn seed() -> u64 {
    RandomState::new().hash_one(0_u8)
}
