//! Warnings about settings that a server can serve with.

use std::collections::BTreeSet;

use rustix::process::geteuid;
use serow_assembly::{Configuration, ServedFolder, open_to_changes};

/// The warnings about the settings that are in effect.
#[derive(Debug, Default)]
pub(super) struct Warnings(BTreeSet<String>);

impl Warnings {
    /// Logs those about other settings that are in effect from now on, except for those that were logged before.
    pub(super) fn replace(&mut self, configuration: &Configuration) {
        let lines = lines(configuration);
        lines.difference(&self.0).for_each(|line| tracing::warn!("{line}"));
        self.0 = lines;
    }
}

/// Folders that this user cannot read, or that others change, and what the settings probably do not mean.
fn lines(configuration: &Configuration) -> BTreeSet<String> {
    let Configuration { folders, server, notes, applications, .. } = configuration;
    let unreadable = folders.iter().filter_map(ServedFolder::unreadable).map(|folder| folder.to_string());
    let open = open_to_changes(folders, &server.listeners).map(|warning| warning.to_string());
    let as_root = geteuid().is_root() && !applications.is_empty();
    let as_root = as_root.then(|| AS_ROOT.to_owned());
    unreadable.chain(open).chain(notes.iter().cloned()).chain(as_root).collect()
}

const AS_ROOT: &str = "applications run as root, since there is no `user`: write the name of another user at the top of the \
                       file, as in user = \"www-data\"";
