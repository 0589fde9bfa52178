//! Settings of a program.

use std::{env, ffi::OsString, num::NonZero, os::unix::ffi::OsStrExt, path::PathBuf};

use rustix::fs::{Access, access};
use serow_gateway::FieldNames;
use serow_processes::RunSettings;

/// A program that serves HTTP, and how it is run.
#[derive(Clone, Debug)]
pub struct CommandSettings {
    /// How its copies are run; 1 by default. `lifetime` and `memory_limit` are not for [`Binding::Inherit`], where
    /// nobody knows which copy answers.
    pub run: RunSettings,
    /// The program and its arguments; `{port}` and `{socket}` are replaced by the address on which a copy has to
    /// listen.
    pub command: Vec<OsString>,
    /// The launcher before the command, which ends in `serow_supervisor::become_program`: with it, copies exit with
    /// this process and can inherit a socket. If it is empty they do not and cannot.
    pub launcher: Vec<OsString>,
    /// How copies are reached.
    pub binding: Binding,
    /// A path that a copy has to answer with a status below 400 before it counts as ready; by default it has to accept
    /// a connection.
    pub check_path: Option<String>,
    /// Requests that a copy answers at a time; any number by default.
    pub concurrency: Option<NonZero<u32>>,
    /// Which names fields of requests may have.
    pub field_names: FieldNames,
}

/// How copies are reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    /// On a free port of 127.0.0.1, a different one for each copy; `PORT` contains it.
    #[default]
    Port,
    /// On a unix socket, a different one for each copy; `SOCKET` contains its path.
    Unix,
    /// At one socket that all copies inherit, by the protocols of Server::Starter and systemd.
    Inherit,
}

impl CommandSettings {
    /// The defaults for this command in this folder.
    #[must_use]
    pub fn new(name: impl Into<String>, command: Vec<OsString>, folder: PathBuf) -> Self {
        Self {
            run: RunSettings::new(name, folder, NonZero::<usize>::MIN),
            command,
            launcher: Vec::new(),
            binding: Binding::default(),
            check_path: None,
            concurrency: None,
            field_names: FieldNames::default(),
        }
    }

    /// Where the program is found: as the system does, in PATH unless its name has a slash; nothing where it is not.
    #[must_use]
    pub fn executable(&self) -> Option<PathBuf> {
        let program = self.command.first()?;
        let is_there = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
        if program.as_bytes().contains(&b'/') {
            return Some(self.run.folder.join(program)).filter(is_there);
        }
        let written = self.run.environment.iter().rev().find(|(name, _)| name == "PATH");
        let path = written.map(|(_, path)| path.clone()).or_else(|| env::var_os("PATH"))?;
        env::split_paths(&path).map(|folder| self.run.folder.join(folder).join(program)).find(is_there)
    }
}
