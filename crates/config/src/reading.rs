//! A settings file, from its text to its tables.

use std::{collections::BTreeMap, path::Path};

use serow_document::{
    ConfigurationError, Disk, Document, Fault, Files, Place, Problems, Sources,
    bundle::{self, AddedFiles},
    include,
};

use toml::de::DeTable;

use crate::{
    checks::{self, CheckedTables},
    foreign,
    format::FORMAT,
    tables::{TableReading, root::RootTable},
};

/// The bytes of a settings file with those of the files that it includes, and of added ones, for [`gather_bundle`] in another
/// process.
#[must_use]
pub fn bundle(path: &Path, bytes: Vec<u8>, added: AddedFiles) -> Vec<u8> {
    bundle::write(path, bytes, added)
}

/// The text of a settings file at this path, and those that it includes, of the disk or of a bundle.
///
/// # Errors
///
/// The bytes are not text, or a file that is included cannot be read.
pub fn gather_bundle(path: &Path, bytes: Vec<u8>) -> Result<Sources, ConfigurationError> {
    match bundle::read(path, bytes).map_err(ConfigurationError::Unreadable)? {
        (text, Some(mut bundle)) => {
            let mut added = bundle.take_added();
            // The text may be long.
            let are_of_containers = added.keys().any(|name| name.is_of_container());
            if are_of_containers && !has_docker(&text) {
                added.retain(|name, _| !name.is_of_container());
            }
            let mut sources = gather(path, text, &mut bundle)?;
            let faults = include::gather_added(&mut sources, added);
            if faults.is_empty() { Ok(sources) } else { Err(ConfigurationError::of_faults(&sources, &faults)) }
        }
        (text, None) => gather(path, text, &mut Disk),
    }
}

/// The files of containers that a bundle of settings has ([`bundle()`]), by their names. Without `[docker]` they do not count.
#[must_use]
pub fn container_files(path: &Path, bytes: Vec<u8>) -> BTreeMap<String, String> {
    let Ok((_, Some(mut bundle))) = bundle::read(path, bytes) else { return BTreeMap::new() };
    let added = bundle.take_added().into_iter().filter(|(name, _)| name.is_of_container());
    added.map(|(name, text)| (name.into(), text)).collect()
}

/// Whether a settings file has the table `[docker]`. Errors of the text are found when it is read.
fn has_docker(text: &str) -> bool {
    DeTable::parse_recoverable(text).0.get_ref().contains_key("docker")
}

/// The text of a settings file at this path, and those that it includes.
///
/// # Errors
///
/// A file that is included cannot be read.
pub fn gather(path: &Path, text: String, files: &mut impl Files) -> Result<Sources, ConfigurationError> {
    let (sources, faults) = include::gather(path, text, files);
    if faults.is_empty() { Ok(sources) } else { Err(ConfigurationError::of_faults(&sources, &faults)) }
}

/// Reads and checks the tables of these texts, whose paths are relative to this folder, and does something with them, which
/// may find further problems.
///
/// # Errors
///
/// All problems, with their places.
pub fn with_tables<T>(
    sources: &Sources,
    folder: &Path,
    act: impl FnOnce(CheckedTables, &Document<'_>, &Problems) -> Option<T>,
) -> Result<T, Vec<Fault>> {
    with_document(sources, |document, problems| {
        let table = read_root(document, problems)?;
        // A table that is read only in part would seem to mean less than it does.
        if !problems.is_empty() {
            return None;
        }
        act(checks::check(table, folder, problems), document, problems)
    })
}

/// Reads the tables of these texts.
///
/// # Errors
///
/// All problems, with their places.
pub fn root_table(sources: &Sources) -> Result<RootTable, Vec<Fault>> {
    with_document(sources, read_root)
}

/// Takes the texts apart and does something with the tree, unless there are problems.
fn with_document<T>(
    sources: &Sources,
    act: impl FnOnce(&Document<'_>, &Problems) -> Option<T>,
) -> Result<T, Vec<Fault>> {
    let document = Document::of(sources, &FORMAT).map_err(|faults| foreign::explained(sources, faults))?;
    let problems = Problems::default();
    match act(&document, &problems) {
        Some(result) if problems.is_empty() => Ok(result),
        _ => Err(problems.faults(&document)),
    }
}

/// Reads the root and all below it.
fn read_root(document: &Document<'_>, problems: &Problems) -> Option<RootTable> {
    TableReading::new(document.root(), Place::default(), problems).read()
}
