//! What can be set of a program.

use std::{ffi::OsString, num::NonZero, path::PathBuf, time::Duration};

use serow_proxy::{BufferSettings, QueueSettings};

use crate::settings::{Lifetime, Output};

/// A program that serves HTTP, and how it is run.
#[derive(Clone, Debug)]
pub struct CommandSettings {
    /// How it is called in logs and in the status.
    pub name: String,
    /// The program and its arguments, in which `{port}` and `{socket}` stand for where a copy is to listen.
    pub command: Vec<OsString>,
    /// What stands before it: a command that ends in [`serow_supervisor::become_program`], so that copies end with this
    /// process, and can inherit a socket. Where it is empty they do not, and cannot.
    pub launcher: Vec<OsString>,
    /// The folder it runs in.
    pub folder: PathBuf,
    /// What is added to its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Copies; 1 by default.
    pub copies: NonZero<usize>,
    /// How copies are reached.
    pub binding: Binding,
    /// A path that a copy has to answer with a status below 400 before it counts as ready; by default it has to accept a
    /// connection.
    pub check_path: Option<String>,
    /// Requests that a copy answers at a time; any number by default.
    pub concurrency: Option<NonZero<u32>>,
    /// How long a copy may take until its response begins; 60 s.
    pub timeout: Duration,
    /// How long a copy may take until it is ready; 60 s.
    pub start_timeout: Duration,
    /// How requests wait while all copies have as many as they may.
    pub queue: QueueSettings,
    /// After how many requests a copy is replaced; never by default. Not with [`Binding::Inherit`], where nobody knows which
    /// copy answers.
    pub lifetime: Option<Lifetime>,
    /// The time between two copies' starts; none by default.
    pub spawn_interval: Duration,
    /// Bytes of memory (resident) after which a copy is replaced; none by default. Not with [`Binding::Inherit`].
    pub memory_limit: Option<u64>,
    /// How many files copies may have open (the soft limit), where that is not what this process may.
    pub open_files: Option<u64>,
    /// How long a copy that leaves may finish what it has before it gets TERM, and after that before it is killed; 30 s.
    pub grace: Duration,
    /// Where bodies of requests are kept until they are whole.
    pub buffer: BufferSettings,
    /// Where copies' lines go; to the log by default.
    pub output: Output,
}

/// How copies are reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    /// At a port of 127.0.0.1 that was free, another for each copy; `PORT` says it.
    #[default]
    Port,
    /// At a unix socket, another for each copy; `SOCKET` says its path.
    Unix,
    /// At one socket that all copies inherit, by the protocols of Server::Starter and systemd.
    Inherit,
}

impl CommandSettings {
    /// The defaults for this command in this folder.
    #[must_use]
    pub fn new(name: impl Into<String>, command: Vec<OsString>, folder: PathBuf) -> Self {
        Self {
            name: name.into(),
            command,
            launcher: Vec::new(),
            folder,
            environment: Vec::new(),
            copies: NonZero::<usize>::MIN,
            binding: Binding::default(),
            check_path: None,
            concurrency: None,
            timeout: Duration::from_secs(60),
            start_timeout: Duration::from_secs(60),
            queue: QueueSettings::default(),
            lifetime: None,
            spawn_interval: Duration::ZERO,
            memory_limit: None,
            open_files: None,
            grace: Duration::from_secs(30),
            buffer: BufferSettings::default(),
            output: Output::default(),
        }
    }
}
