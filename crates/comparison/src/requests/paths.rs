//! Paths within a location, and those just outside.

use std::{fs, path::Path};

use regex::bytes::RegexBuilder;

use super::{
    super::{
        rehearsal::SAMPLES,
        sites::{Kind, Location, Site},
    },
    examples,
};

/// The paths for a location.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Paths {
    pub(super) inside: Vec<String>,
    pub(super) near: Vec<String>,
}

impl Paths {
    fn inside(&mut self, path: impl Into<String>) {
        let path = path.into();
        if path.starts_with('/') && is_path(&path) && !self.inside.contains(&path) {
            self.inside.push(path);
        }
    }

    fn near(&mut self, path: impl Into<String>) {
        let path = path.into();
        if path.starts_with('/') && is_path(&path) && !self.near.contains(&path) {
            self.near.push(path);
        }
    }
}

/// Whether a text can stand in a request line as it is.
fn is_path(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}#?".contains(&byte))
}

/// The paths for a location.
pub(super) fn of(site: &Site<'_>, location: &Location<'_>) -> Paths {
    let mut paths = Paths::default();
    match location.kind {
        Kind::Named => {}
        Kind::Server => {
            paths.inside("/");
            paths.inside("/index.html");
            paths.near("/missing-page");
        }
        Kind::Exact(path) => {
            paths.inside(path);
            paths.near(format!("{path}x"));
            paths.near(match path.strip_suffix('/') {
                Some(start) => start.to_owned(),
                None => format!("{path}/"),
            });
        }
        Kind::Prefix(path) => {
            prefix(path, location, &mut paths);
        }
        Kind::Expression { pattern, ignores_case } => expression(pattern, ignores_case, site, location, &mut paths),
    }
    paths
}

fn prefix(path: &str, location: &Location<'_>, paths: &mut Paths) {
    let folder = if path.ends_with('/') { path.to_owned() } else { format!("{path}/") };
    paths.inside(path);
    if !location.is_passed() {
        let root = location
            .folder()
            .map(|(folder, is_alias)| if is_alias { folder.to_owned() } else { format!("{folder}{path}") });
        for name in root.iter().flat_map(|root| files_in(Path::new(root))).take(6) {
            paths.inside(format!("{folder}{name}"));
        }
        paths.inside(format!("{folder}folder"));
        paths.inside(format!("{folder}folder/"));
        paths.inside(format!("{folder}empty/"));
    }
    paths.inside(format!("{folder}page/1"));
    paths.near(path.trim_end_matches('/'));
    paths.near(format!("{folder}missing-page"));
    if path != "/" {
        paths.near(format!("{}x", path.trim_end_matches('/')));
    }
    paths.near(format!("{folder}missing.png"));
}

fn expression(pattern: &str, ignores_case: bool, site: &Site<'_>, location: &Location<'_>, paths: &mut Paths) {
    let compiled = RegexBuilder::new(pattern).unicode(false).case_insensitive(ignores_case).build();
    let matches = |path: &str| compiled.as_ref().is_ok_and(|expression| expression.is_match(path.as_bytes()));
    let is_rooted = |example: String| if example.starts_with('/') { example } else { format!("/page{example}") };
    let generated: Vec<String> = examples::of(pattern, ignores_case).into_iter().map(is_rooted).collect();
    let samples = SAMPLES.iter().map(|name| format!("/{name}"));
    let exact = site.locations.iter().filter_map(|location| match location.kind {
        Kind::Exact(path) => Some(path.to_owned()),
        _ => None,
    });
    let existing = location
        .folder()
        .filter(|(_, is_alias)| !is_alias)
        .map(|(folder, _)| files_in(Path::new(folder)))
        .unwrap_or_default();
    let existing = existing.into_iter().map(|name| format!("/{name}"));
    for path in samples.chain(existing).chain(exact).filter(|path| matches(path)).take(3) {
        paths.inside(path);
    }
    for example in &generated {
        paths.inside(example.as_str());
    }
    for example in &generated {
        let shorter: String = example.chars().take(example.chars().count().saturating_sub(1)).collect();
        for near in [shorter, format!("{example}x"), format!("{example}/"), example.to_ascii_uppercase()] {
            if !matches(&near) || near == *example {
                paths.near(near);
            }
        }
    }
    paths.near.truncate(4);
}

/// The files of a folder and of those in it, in the order of their names.
fn files_in(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    append(folder, "", 0, &mut names);
    names
}

fn append(folder: &Path, before: &str, depth: usize, names: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().take(200).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    // The files of a folder are more telling than those of its first subfolder.
    for is_folder in [false, true] {
        for entry in &entries {
            let name = format!("{before}{}", entry.file_name().to_string_lossy());
            match entry.file_type() {
                Ok(kind) if kind.is_file() && !is_folder && names.len() < 30 => names.push(name),
                Ok(kind) if kind.is_dir() && is_folder && depth < 2 => {
                    append(&entry.path(), &format!("{name}/"), depth + 1, names)
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(kind: Kind<'static>) -> Location<'static> {
        Location { kind, around: Vec::new() }
    }

    #[test]
    fn paths_lie_on_both_sides_of_a_location() {
        let site = Site { names: Vec::new(), locations: Vec::new() };
        let paths = of(&site, &location(Kind::Exact("/a")));
        assert_eq!((paths.inside, paths.near), (vec!["/a".to_owned()], vec!["/ax".to_owned(), "/a/".to_owned()]));
        let paths = of(&site, &location(Kind::Prefix("/a/")));
        assert_eq!(paths.inside.first().map(String::as_str), Some("/a/"));
        assert!(paths.near.contains(&"/a".to_owned()) && paths.near.contains(&"/ax".to_owned()));
        let paths = of(&site, &location(Kind::Expression { pattern: r"\.php$", ignores_case: false }));
        assert_eq!(paths.inside.first().map(String::as_str), Some("/index.php"));
        assert!(paths.near.iter().all(|path| !path.ends_with(".php")), "{paths:?}");
    }
}
