//! The whole server in simulated time and network, with random settings, clients, servers and faults.
//!
//! A seed makes a `Plan`: everything that clients and servers do. `World::run` carries it out on a virtual clock, and
//! it then compares what happened with the invariants. A plan that violates one is made smaller.
//!
//! docs/simulation.md says how to run it, and how to repeat a seed.
#![cfg(feature = "simulation")]

mod client;
mod generator;
mod http1_client;
mod http2_client;
mod judgement;
mod observations;
mod origin;
mod plan;
mod random;
mod settings;
mod shrinking;
mod wire;
mod world;

pub use self::{
    plan::{Kept, Plan},
    shrinking::shrink,
    world::World,
};
