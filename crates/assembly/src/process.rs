//! Properties that applications take from the process that runs them.

use std::ffi::OsString;

use serow_processes::Output;

/// Properties that applications take from the process that runs them. They are not in the settings; the program that
/// reads the settings provides them.
#[derive(Clone, Debug, Default)]
pub struct ApplicationHost {
    /// The command that a program and its arguments are appended to: it starts the program and ends it with this
    /// process.
    pub launcher: Vec<OsString>,
    /// Where the lines go that workers and programs write on their standard output and error.
    pub output: Output,
    /// How many files the processes may have open (the soft limit), where it differs from the limit of this process.
    pub open_files: Option<u64>,
    /// Whether the access log names the workers that had a request, and their times.
    pub note_attempts: bool,
}
