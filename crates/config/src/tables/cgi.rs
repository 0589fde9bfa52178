//! CGI programs, as they are written.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    options::{ApplicationOptions, without_options},
    tables::{FromTable, TableReading},
    values::{Count, Span, Variable},
};

/// CGI programs.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct CgiTable {
    /// Folder of programs: the first name of the path below that of the route which is an executable file runs. Nothing in
    /// it is sent as a file.
    pub root: Option<PathBuf>,

    /// One program that answers all requests, in place of `root`: "/usr/lib/git-core/git-http-backend".
    pub program: Option<PathBuf>,

    /// Environment variables of the programs, as in ["GIT_PROJECT_ROOT=/srv/git"]. Of the server's own environment, they
    /// have none.
    pub env: Vec<Variable>,

    /// Programs that may run at a time.
    pub processes: Count<1, 1024>,

    /// Requests that may wait while as many programs run; further ones receive 503.
    pub queue: Count<0, 0xffff_ffff>,

    /// How long a request may wait for a process; after that it receives 503 with Retry-After.
    pub queue_timeout: Span,

    /// Time limit until a response begins, between two parts of it, and from its end to that of the program; after that the
    /// program is killed.
    pub timeout: Span,
}

impl Default for CgiTable {
    fn default() -> Self {
        let ApplicationOptions { queue, queue_timeout, app_timeout, .. } = without_options();
        Self {
            root: None,
            program: None,
            env: Vec::new(),
            processes: Count::of(4),
            queue,
            queue_timeout,
            timeout: app_timeout,
        }
    }
}

impl FromTable for CgiTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        table.settings()
    }
}
