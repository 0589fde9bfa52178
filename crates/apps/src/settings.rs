//! What can be set of an application.

mod run;
mod websocket;

use std::{num::NonZero, path::PathBuf};

pub use self::{
    run::{Lifetime, Output, RunSettings},
    websocket::WebSocketSettings,
};
use crate::program::Program;

/// An application that is called by an interpreter, and how it is run.
#[derive(Clone, Debug)]
pub struct ApplicationSettings {
    /// How its workers are run.
    pub run: RunSettings,
    /// What is run.
    pub program: Program,
    /// Requests that a worker answers at a time; 1 by default, since not every application is made for more, and 1,000 for ASGI.
    pub concurrency: NonZero<usize>,
    /// Whether the application is loaded once, before workers are forked: they share its memory then, and start at once. Not
    /// by default, since connections that it opens while it loads would be shared as well.
    pub preload: bool,
    /// After how many requests a worker collects garbage while it and another one are idle, so that fewer requests wait for
    /// that; for Ruby only, and never by default.
    pub out_of_band_gc: Option<u32>,
    /// After how many requests of one worker the others are forked from it anew, one after the other, so that they share what it
    /// has warmed up: the first number for the first time, the last one for all times that follow. For Ruby with `preload` and
    /// one request at a time only; never by default.
    pub refork_after: Vec<u64>,
    /// The path that the application is mounted at, as `/shop`: what applications make addresses of (SCRIPT_NAME, root_path), and no
    /// part of the path that they look at. Nothing by default, which is the root.
    pub root_path: String,
    /// How WebSockets are carried; for ASGI only.
    pub websocket: WebSocketSettings,
    /// Whether clients are shown what the application says of its failures, and files that change reload it.
    pub development: bool,
}

impl ApplicationSettings {
    /// The defaults for a program in this folder: as many workers as there are processors.
    #[must_use]
    pub fn new(name: impl Into<String>, program: Program, folder: PathBuf) -> Self {
        let workers = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        Self {
            run: RunSettings::new(name, folder, workers),
            concurrency: program.interface.concurrency(),
            program,
            preload: false,
            out_of_band_gc: None,
            refork_after: Vec::new(),
            root_path: String::new(),
            websocket: WebSocketSettings::default(),
            development: false,
        }
    }
}
