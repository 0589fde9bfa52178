//! The folders of internal routes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serow_config::{
    paths::resolved,
    tables::{handlers::HandlerTable, sites::RouteTable},
};
use serow_site::InternalRoot;

/// The folders of internal routes, where the settings file is in this folder: as they are written, since applications
/// may name files so, and without links, since others ask the system.
pub(crate) fn roots(routes: &[RouteTable], folder: &Path) -> Vec<InternalRoot> {
    let mut roots: Vec<InternalRoot> = Vec::new();
    for route in routes {
        let HandlerTable::Files(files) = &route.handler else { continue };
        let path = route.settings.only_path().unwrap_or_default();
        let prefix = if files.settings.strip_prefix { path.trim_end_matches("/*") } else { "" };
        let written = resolved(&files.settings.root, folder);
        let folders = [std::path::absolute(&written).ok(), fs::canonicalize(&written).ok()];
        for folder in folders.into_iter().flatten().map(without_dots) {
            let root = InternalRoot { folder, prefix: prefix.to_owned() };
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
    }
    roots
}

/// The same path without `.`, with which no application names files.
fn without_dots(path: PathBuf) -> PathBuf {
    path.components().filter(|part| *part != std::path::Component::CurDir).collect()
}
