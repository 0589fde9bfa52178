//! The files that a settings file includes.

use std::{
    collections::BTreeSet,
    fs, io,
    ops::Range,
    path::{Component, Path, PathBuf},
};

use serow_variables::{Letters, ValuePattern};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    bundle::AddedFiles,
    environment,
    fault::Fault,
    file::{self, Source},
    sources::Sources,
};

/// Where included files are found.
pub trait Files {
    /// The files that a pattern names, sorted.
    fn expand(&mut self, pattern: &Path) -> Result<Vec<PathBuf>, String>;

    /// The text of a file.
    fn read(&mut self, path: &Path) -> Result<String, String>;
}

/// The files of the system.
pub struct Disk;

impl Files for Disk {
    fn expand(&mut self, pattern: &Path) -> Result<Vec<PathBuf>, String> {
        expand(pattern)
    }

    fn read(&mut self, path: &Path) -> Result<String, String> {
        if !path.exists() {
            return Err(format!("there is no file {}: write it, or leave it out", path.display()));
        }
        file::bytes(path, Source::File).and_then(|bytes| file::text_of(path, bytes))
    }
}

/// A settings file and all that it includes, directly or not. Paths are relative to the file that names them.
pub fn gather(path: &Path, text: String, files: &mut impl Files) -> (Sources, Vec<Fault>) {
    let mut gathering = Gathering {
        sources: Sources::of(&path.display().to_string(), text.clone()),
        included: BTreeSet::from([path.to_owned()]),
        faults: Vec::new(),
        files,
    };
    gathering.include(path, &text, 0, 1);
    (gathering.sources, gathering.faults)
}

/// Adds files that are not on the disk to the sources, each by its name.
pub fn gather_added(sources: &mut Sources, added: AddedFiles) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (name, text) in added {
        let include = text.contains(KEY).then(|| included(&text)).flatten();
        let start = sources.add(name.as_str(), text);
        faults.extend(include.map(|span| Fault {
            span: Some(start + span.start..start + span.end),
            text: format!(
                "`{KEY}` belongs to files of the disk: an added file has [[site]], [[upstream]], [[map]] and [[limit]]"
            ),
        }));
    }
    faults
}

/// Where a text names files to include. Errors of the text are found when it is read.
fn included(text: &str) -> Option<Range<usize>> {
    let (root, _) = DeTable::parse_recoverable(text);
    root.get_ref().get_key_value(KEY).map(|(key, _)| key.span())
}

struct Gathering<'f, F> {
    sources: Sources,
    included: BTreeSet<PathBuf>,
    faults: Vec<Fault>,
    files: &'f mut F,
}

impl<F: Files> Gathering<'_, F> {
    /// Adds what a text includes, whose first byte has this offset.
    fn include(&mut self, path: &Path, text: &str, start: usize, depth: usize) {
        if !text.contains(KEY) {
            return;
        }
        // Errors of the text are found when it is read.
        let (root, _) = DeTable::parse_recoverable(text);
        let Some(value) = root.get_ref().get(KEY) else { return };
        let elements = match value.get_ref() {
            DeValue::Array(elements) => elements.iter().collect(),
            _ => vec![value],
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        for element in elements {
            let Some(pattern) = element.get_ref().as_str() else { continue };
            if let Err(problem) = self.include_pattern(folder, pattern, depth) {
                let span = element.span();
                let span = Some(start + span.start..start + span.end);
                self.faults.push(Fault { span, text: format!("`{KEY}`: {problem}") });
            }
        }
    }

    fn include_pattern(&mut self, folder: &Path, pattern: &str, depth: usize) -> Result<(), String> {
        let pattern = environment::expand(pattern, false)?;
        if pattern.is_empty() {
            return Err("the path is empty: name a file, or several as in sites/*.toml".to_owned());
        }
        if depth > MAX_DEPTH {
            return Err(format!("files include one another more than {MAX_DEPTH} deep: include them from one file"));
        }
        for path in self.files.expand(&folder.join(&*pattern))? {
            if !self.included.insert(path.clone()) {
                return Err(format!("{} is included already: include it once", path.display()));
            }
            if self.included.len() > MAX_FILES {
                return Err(format!("there are more than {MAX_FILES} files: include fewer"));
            }
            let text = self.files.read(&path)?;
            if self.sources.length() + text.len() > MAX_LENGTH {
                return Err("the files are larger than 64M together, which no settings are: include fewer".to_owned());
            }
            let start = self.sources.add(&path.display().to_string(), text.clone());
            self.include(&path, &text, start, depth + 1);
        }
        Ok(())
    }
}

/// The files that a path names, in whose names a star stands for any text; sorted. As in a shell, a star stands for no
/// dot at the start of a name.
fn expand(pattern: &Path) -> Result<Vec<PathBuf>, String> {
    let mut paths = vec![PathBuf::new()];
    let mut has_stars = false;
    for component in pattern.components() {
        let name = component.as_os_str().to_str().filter(|name| name.contains('*'));
        let (Some(name), Component::Normal(_)) = (name, component) else {
            paths.iter_mut().for_each(|path| path.push(component));
            continue;
        };
        has_stars = true;
        let mut found = Vec::new();
        for folder in &paths {
            found.extend(matching(folder, name)?);
        }
        paths = found;
    }
    if has_stars {
        paths.retain(|path| !path.is_dir());
    }
    paths.sort();
    Ok(paths)
}

/// The entries of a folder whose names match.
fn matching(folder: &Path, pattern: &str) -> Result<Vec<PathBuf>, String> {
    let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = match fs::read_dir(shown) {
        Ok(entries) => entries,
        // With a star in its path, it may be a file, or be gone.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(Vec::new()),
        Err(error) => return Err(format!("cannot read the folder {}: {error}", shown.display())),
    };
    let pattern_of_name =
        ValuePattern::parse(pattern, Letters::Exact).map_err(|error| format!("{pattern:?} {error}"))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| format!("cannot read the folder {}: {error}", shown.display()))?;
        let name = entry.file_name();
        let is_hidden = name.as_encoded_bytes().starts_with(b".") && !pattern.starts_with('.');
        if !is_hidden && pattern_of_name.matches(Some(name.as_encoded_bytes())) {
            found.push(folder.join(name));
        }
    }
    Ok(found)
}

/// Adds the trees of included texts to that of the settings file.
pub(crate) fn add<'t>(root: &mut DeTable<'t>, included: DeTable<'t>, tables: &[&str]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (key, value) in included {
        let name = key.get_ref().to_string();
        if name == KEY {
            continue;
        }
        if !tables.contains(&&*name) {
            let tables: Vec<_> = tables.iter().map(|table| format!("[[{table}]]")).collect();
            let text = format!(
                "`{name}` belongs to the main settings file: an included file has {} and `{KEY}`",
                tables.join(", ")
            );
            faults.push(Fault { span: Some(key.span()), text });
            continue;
        }
        match (root.get_mut(name.as_str()).map(Spanned::get_mut), value.get_ref()) {
            (Some(DeValue::Array(all)), DeValue::Array(_)) => {
                if let DeValue::Array(elements) = value.into_inner() {
                    elements.into_iter().for_each(|element| all.push(element));
                }
            }
            // Something else than tables is wrong, and is found where it stands.
            _ => drop(root.insert(key, value)),
        }
    }
    faults
}

/// The key with the paths.
pub const KEY: &str = "include";

/// Deeper than people nest; a file that includes itself by another path, such as a link, ends here.
const MAX_DEPTH: usize = 8;

/// More than files of sites; a pattern that names all files of a machine by mistake ends here.
const MAX_FILES: usize = 10_000;

/// The same for large files.
const MAX_LENGTH: usize = 64 << 20;
