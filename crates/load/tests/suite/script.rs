//! Scripts as the generator runs them: threads, phases and errors, without a network.

mod api;
mod errors;
mod output;
mod samples;
mod stage;
