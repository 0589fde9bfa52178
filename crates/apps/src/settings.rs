//! What can be set of an application.

use std::{ffi::OsString, num::NonZero, path::PathBuf, time::Duration};

use serow_proxy::{BufferSettings, QueueSettings};

use crate::program::Program;

/// An application, and how it is run.
#[derive(Clone, Debug)]
pub struct ApplicationSettings {
    /// How it is called in logs and in the status.
    pub name: String,
    /// What is run.
    pub program: Program,
    /// The folder it runs in.
    pub folder: PathBuf,
    /// What is added to its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Worker processes.
    pub workers: NonZero<usize>,
    /// Requests that a worker answers at a time; 1 by default, since not every application is made for more, and 1,000 for ASGI.
    pub concurrency: NonZero<usize>,
    /// Whether the application is loaded once, before workers are forked: they share its memory then, and start at once. Not
    /// by default, since connections that it opens while it loads would be shared as well.
    pub preload: bool,
    /// How long a worker may take for a request before it is ended and replaced; 60 s, as Unicorn has it.
    pub timeout: Duration,
    /// How long the application may take to load; 60 s.
    pub start_timeout: Duration,
    /// How requests wait while all workers are busy.
    pub queue: QueueSettings,
    /// After how many requests a worker is replaced; never by default.
    pub lifetime: Option<Lifetime>,
    /// The time between two workers' starts; none by default.
    pub spawn_interval: Duration,
    /// Bytes of memory (resident) after which a worker is replaced; none by default.
    pub memory_limit: Option<u64>,
    /// After how many requests a worker collects garbage while it and another one are idle, so that fewer requests wait for
    /// that; for Ruby only, and never by default.
    pub out_of_band_gc: Option<u32>,
    /// How many files workers may have open (the soft limit), where that is not what this process may.
    pub open_files: Option<u64>,
    /// Where bodies of requests are kept until they are whole.
    pub buffer: BufferSettings,
    /// Where workers' lines go; to the log by default.
    pub output: Output,
    /// Whether clients are shown what the application says of its failures, and files that change reload it.
    pub development: bool,
}

/// After how many requests a worker is replaced: a random number between these, so that not all are replaced at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// At least so many.
    pub least: u64,
    /// At most so many.
    pub most: u64,
}

impl Lifetime {
    /// A number within the bounds, another for each worker.
    pub(crate) fn random(self) -> u64 {
        let span = self.most.saturating_sub(self.least).saturating_add(1).max(1);
        let chance = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), 0_u8);
        self.least + chance % span
    }
}

/// Where the lines go that workers write on their standard output and error.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Takes the application's name, the worker's number and the line. 0 is the process that workers are forked from.
    pub take: fn(&str, usize, &str),
}

impl Default for Output {
    fn default() -> Self {
        Self { take: |application, worker, line| tracing::info!("{application} {worker}: {line}") }
    }
}

impl ApplicationSettings {
    /// The defaults for a program in this folder: as many workers as there are processors.
    #[must_use]
    pub fn new(name: impl Into<String>, program: Program, folder: PathBuf) -> Self {
        let concurrency = program.interface.concurrency();
        Self {
            name: name.into(),
            program,
            folder,
            environment: Vec::new(),
            workers: std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
            concurrency,
            preload: false,
            timeout: Duration::from_secs(60),
            start_timeout: Duration::from_secs(60),
            queue: QueueSettings::default(),
            lifetime: None,
            spawn_interval: Duration::ZERO,
            memory_limit: None,
            out_of_band_gc: None,
            open_files: None,
            buffer: BufferSettings::default(),
            output: Output::default(),
            development: false,
        }
    }
}
