//! How an application is run, whatever it is.

use std::{ffi::OsString, num::NonZero, path::PathBuf, time::Duration};

use serow_gateway::{BufferSettings, InternalRedirects, QueueSettings, TrustedProxies};

/// How the processes of an application are run, whether they are workers of an interpreter or copies of a program.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// How it is called in logs and in the status.
    pub name: String,
    /// The folder it runs in.
    pub folder: PathBuf,
    /// Variables that are added to its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// How many processes there are.
    pub processes: NonZero<usize>,
    /// The time until a response begins; 60 s. A worker that takes longer is killed and replaced, once it has finished
    /// its other requests.
    pub timeout: Duration,
    /// The time between two pieces of a response, not counting the time that the worker waits for a slow client. By
    /// default, it is 5 minutes for workers, and that of upstreams for copies of a program; there is none for ASGI.
    pub transfer_timeout: Option<Duration>,
    /// How long a process may take until it can answer; 60 s.
    pub start_timeout: Duration,
    /// How requests wait while all processes are at their limits.
    pub queue: QueueSettings,
    /// After how many requests a process is replaced; never by default.
    pub lifetime: Option<Lifetime>,
    /// The time between two processes' starts; none by default.
    pub spawn_interval: Duration,
    /// Bytes of memory (resident) after which a process is replaced; none by default.
    pub memory_limit: Option<u64>,
    /// How long a process may take to stop, 30 s: a copy of a program to finish its requests before it gets TERM, and
    /// then to exit before it is killed; a worker to exit after its last request. An application may have threads that
    /// never end.
    pub grace: Duration,
    /// The soft limit of open files for processes, if it differs from that of this process.
    pub open_files: Option<u64>,
    /// Trusted proxies, whose `X-Forwarded-*` fields are honoured; programs on this machine by default. Applications do
    /// not see these fields of other peers.
    pub trusted: TrustedProxies,
    /// Whether responses may name what is sent in their place.
    pub internal_redirects: InternalRedirects,
    /// Where bodies of requests are kept until they are whole.
    pub buffer: BufferSettings,
    /// Where processes' lines go; to the log by default.
    pub output: Output,
    /// Whether responses have [`Attempts`](serow_gateway::Attempts) in their extensions, for the access log.
    pub note_attempts: bool,
}

/// After how many requests a process is replaced: a random number between these, so that not all are replaced at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// At least so many.
    pub least: u64,
    /// At most so many.
    pub most: u64,
}

/// Where the lines go that processes write on their standard output and error.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Takes the application's name, the process's number and the line. 0 is the process that workers are forked from.
    pub take: fn(&str, usize, &str),
}

impl RunSettings {
    /// The defaults for an application in this folder, with so many processes.
    #[must_use]
    pub fn new(name: impl Into<String>, folder: PathBuf, processes: NonZero<usize>) -> Self {
        Self {
            name: name.into(),
            folder,
            environment: Vec::new(),
            processes,
            timeout: Duration::from_secs(60),
            transfer_timeout: None,
            start_timeout: Duration::from_secs(60),
            queue: QueueSettings::default(),
            lifetime: None,
            spawn_interval: Duration::ZERO,
            memory_limit: None,
            grace: Duration::from_secs(30),
            open_files: None,
            trusted: TrustedProxies::local(),
            internal_redirects: InternalRedirects::default(),
            buffer: BufferSettings::default(),
            output: Output::default(),
            note_attempts: false,
        }
    }
}

impl Lifetime {
    /// A number within the bounds, another for each process.
    pub fn random(self) -> u64 {
        let span = self.most.saturating_sub(self.least).saturating_add(1).max(1);
        let chance = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), 0_u8);
        self.least + chance % span
    }
}

impl Default for Output {
    fn default() -> Self {
        Self { take: |application, process, line| tracing::info!("{application} {process}: {line}") }
    }
}
