//! Settings of CGI programs.

use std::{ffi::OsString, num::NonZero, path::PathBuf, time::Duration};

use serow_gateway::{BufferSettings, QueueSettings, TrustedProxies};

/// Which programs run, and how.
#[derive(Clone, Debug)]
pub struct CgiSettings {
    /// The programs.
    pub programs: Programs,
    /// The path that leads to them, which SCRIPT_NAME begins with: `/cgi-bin`, or an empty one.
    pub prefix: String,
    /// Variables in addition to those of the request.
    pub environment: Vec<(OsString, OsString)>,
    /// How many may run at a time; 4. More would let a few hundred clients fill the memory of the machine.
    pub processes: NonZero<usize>,
    /// How requests wait while as many run.
    pub queue: QueueSettings,
    /// The time until a response begins, between its parts, and from its end to that of the program; 60 s.
    pub timeout: Duration,
    /// The proxies that say who the client is.
    pub trusted: TrustedProxies,
    /// How bodies are kept that wait for a program.
    pub buffer: BufferSettings,
    /// The launcher before the program, which ends in `serow_supervisor::become_program`: with it, programs end with this
    /// process.
    pub launcher: Vec<OsString>,
    /// How many files a program may have open, where it differs from the limit of this process.
    pub open_files: Option<u64>,
}

/// The programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Programs {
    /// Those in this folder: the path names one.
    Folder(PathBuf),
    /// This one, for all paths.
    One(PathBuf),
}

impl CgiSettings {
    /// The defaults.
    #[must_use]
    pub fn new(programs: Programs) -> Self {
        Self {
            programs,
            prefix: String::new(),
            environment: Vec::new(),
            processes: const { NonZero::new(4).unwrap() },
            queue: QueueSettings { timeout: Duration::from_secs(30), ..QueueSettings::default() },
            timeout: Duration::from_secs(60),
            trusted: TrustedProxies::default(),
            buffer: BufferSettings::default(),
            launcher: Vec::new(),
            open_files: None,
        }
    }
}
