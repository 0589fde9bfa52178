//! Scripts as the generator runs them: threads, phases and errors, without a network.

#[path = "script/api.rs"]
mod api;
#[path = "script/errors.rs"]
mod errors;
#[path = "script/output.rs"]
mod output;
#[path = "script/samples.rs"]
mod samples;
#[path = "script/stage.rs"]
mod stage;
