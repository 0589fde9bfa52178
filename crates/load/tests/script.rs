//! Scripts as the generator runs them: threads, phases and errors, without a network.

#[path = "script/output.rs"]
mod output;
#[path = "script/samples.rs"]
mod samples;
#[path = "script/stage.rs"]
mod stage;
