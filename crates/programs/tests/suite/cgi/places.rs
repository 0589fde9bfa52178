//! Folders of programs, and servers that run them.

use std::{
    fs,
    ops::Deref,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serow_programs::cgi::{Cgi, CgiSettings, Programs};
use tempfile::TempDir;

use crate::answering::{Answering, eventually};

/// A server that runs the programs of a folder, until this is dropped.
pub(crate) struct Programmed {
    folder: TempDir,
    server: Answering,
}

impl Programmed {
    /// Runs these shell scripts.
    pub(crate) fn new(scripts: &[(&str, &str)]) -> Self {
        Self::with(scripts, |_| {})
    }

    /// The same with other settings.
    pub(crate) fn with(scripts: &[(&str, &str)], change: impl FnOnce(&mut CgiSettings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in scripts {
            write_program(&folder.path().join(name), &format!("#!/bin/sh\n{text}\n"));
        }
        let mut settings = CgiSettings::new(Programs::Folder(folder.path().to_owned()));
        settings.prefix = "/cgi-bin".to_owned();
        change(&mut settings);
        let server = Answering::new(Cgi::new(settings).unwrap());
        Self { folder, server }
    }

    /// One shell script, whose name is `a`.
    pub(crate) fn one(script: &str) -> Self {
        Self::new(&[("a", script)])
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Waits for a file, and reads it.
    pub(crate) fn written(&self, name: &str) -> String {
        eventually(|| match fs::read_to_string(self.path(name)) {
            Ok(text) if text.ends_with('\n') => Ok(text.trim().to_owned()),
            other => Err(format!("{name}: {other:?}")),
        })
    }
}

impl Deref for Programmed {
    type Target = Answering;

    fn deref(&self) -> &Answering {
        &self.server
    }
}

/// Writes an executable file.
pub(crate) fn write_program(path: &Path, text: &str) {
    // Renamed into place: a process that forks meanwhile would hold it open for writing (ETXTBSY).
    let draft = path.with_extension("draft");
    fs::write(&draft, text).unwrap();
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(draft, path).unwrap();
}
