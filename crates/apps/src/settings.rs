//! Settings of an application.

mod websocket;

use std::{num::NonZero, path::PathBuf};

use serow_processes::RunSettings;

pub use self::websocket::WebSocketSettings;
use crate::program::{Interface, Program};

/// An application that is called by an interpreter, and how it is run.
#[derive(Clone, Debug)]
pub struct ApplicationSettings {
    /// How its workers are run.
    pub run: RunSettings,
    /// The program of the application.
    pub program: Program,
    /// Whether an application that turns out to be an ASGI one is called by ASGI although `program` says WSGI; not by
    /// default.
    pub detects_asgi: bool,
    /// Requests that a worker answers at a time; 1 by default, since not every application is made for more, and 1,000
    /// for ASGI.
    pub concurrency: NonZero<usize>,
    /// Whether the application is loaded once, before workers are forked: they share its memory then, and start at
    /// once. Not by default, since connections that it opens while it loads would be shared as well.
    pub preload: bool,
    /// After how many requests a worker collects garbage while it and another one are idle, so that fewer requests wait
    /// for that; for Ruby only, and never by default.
    pub out_of_band_gc: Option<u32>,
    /// After how many requests of one worker the others are forked from it, one after the other, so that they share
    /// what it has warmed up: the first number for the first time, the last one for all further times. For Ruby with
    /// `preload` and one request at a time only; never by default.
    pub refork_after: Vec<u64>,
    /// The path at which the application is mounted, such as `/shop`: applications build URLs from it (SCRIPT_NAME,
    /// root_path), and it is not part of the path that they route by. Empty by default, which is the root.
    pub root_path: String,
    /// Whether requests say when they were passed to the application, in `X-Request-Start`: the time that they waited for
    /// a worker can be computed from it. Not by default.
    pub request_start: bool,
    /// How WebSockets are carried; for ASGI only.
    pub websocket: WebSocketSettings,
    /// Whether clients see the application's exceptions, and changed files reload it.
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
            detects_asgi: false,
            preload: false,
            out_of_band_gc: None,
            refork_after: Vec::new(),
            root_path: String::new(),
            request_start: false,
            websocket: WebSocketSettings::default(),
            development: false,
        }
    }

    /// The same for ASGI, where loading it for WSGI failed with this, and it may be either.
    pub(crate) fn for_asgi(&self, failure: &str) -> Option<Self> {
        let Program { interface, application, .. } = &self.program;
        let is_it = failure.starts_with(&format!("{application} is an ASGI application: "));
        (self.detects_asgi && *interface == Interface::Wsgi && is_it).then(|| {
            let mut settings = self.clone();
            settings.program.interface = Interface::Asgi;
            if self.concurrency == Interface::Wsgi.concurrency() {
                settings.concurrency = Interface::Asgi.concurrency();
            }
            settings
        })
    }
}
