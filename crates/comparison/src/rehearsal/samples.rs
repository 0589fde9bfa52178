//! Sample files in the folders that stand for missing ones.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Component, Path},
};

use super::{
    super::{requests::examples, sites},
    paths::Paths,
};
use serow_nginx_syntax::{alias::names_file, directive::Directive};

/// The files in each folder.
pub(crate) const FILES: &[&str] = &[
    "index.html",
    "index.php",
    "robots.txt",
    "style.css",
    "app.js",
    "image.png",
    "data.json",
    "folder/index.html",
    "folder/page.html",
    "folder/script.php",
    "empty/note.txt",
    ".hidden",
];

/// Writes sample files into all folders of the configuration that are in the folder of the rehearsal.
pub(super) fn write(directives: &[Directive], paths: &Paths) -> io::Result<()> {
    let files = paths.files();
    let mut written = BTreeSet::new();
    // The folder of locations without `root`.
    let html = paths.html();
    for name in FILES {
        write_file(&html, &format!("{html}/{name}"), &mut written)?;
    }
    for site in sites::of(directives) {
        let names = names_of(&site);
        for location in &site.locations {
            write_fixed(&files, location, &mut written)?;
            let Some((folder, is_alias)) = location.folder() else { continue };
            for folder in expanded(&with_values(folder, location), &site) {
                let path = match location.kind {
                    sites::Kind::Prefix(path) if !is_alias => format!("{folder}/{path}"),
                    sites::Kind::Exact(path) if !is_alias => {
                        write_file(&files, &format!("{folder}/{path}"), &mut written)?;
                        continue;
                    }
                    _ => folder.clone(),
                };
                let is_file = match location.kind {
                    sites::Kind::Prefix(prefix) => names_file(prefix, &path),
                    _ => path.rsplit('/').next().is_some_and(|name| name.contains('.')),
                };
                if is_file && is_alias {
                    write_file(&files, &path, &mut written)?;
                    continue;
                }
                for name in FILES {
                    write_file(&files, &format!("{path}/{name}"), &mut written)?;
                }
                for name in &names {
                    write_file(&files, &format!("{folder}/{name}"), &mut written)?;
                }
                for script in scripts_of(location).iter().filter(|_| !is_alias) {
                    write_file(&files, &format!("{folder}{script}"), &mut written)?;
                }
            }
        }
    }
    Ok(())
}

/// Writes the script that a location names with its whole path, or the files of its folder.
fn write_fixed(within: &str, location: &sites::Location<'_>, written: &mut BTreeSet<String>) -> io::Result<()> {
    let params = location.nearest("fastcgi_param");
    let script = params.iter().rev().find(|param| param.word(0) == Some("SCRIPT_FILENAME"));
    let Some(script) = script.and_then(|param| param.word(1)) else { return Ok(()) };
    match script.split_once('$') {
        Some((folder, _)) => FILES.iter().try_for_each(|name| write_file(within, &format!("{folder}/{name}"), written)),
        None => write_file(within, script, written),
    }
}

/// The paths of scripts that a location's own expression suggests.
fn scripts_of(location: &sites::Location<'_>) -> Vec<String> {
    let sites::Kind::Expression { pattern, ignores_case } = location.kind else { return Vec::new() };
    let mut scripts = examples::of(pattern, ignores_case);
    scripts.retain(|path| path.starts_with('/') && path.ends_with(".php"));
    scripts
}

/// A path with the values that `set` gives its variables.
pub(crate) fn with_values(path: &str, location: &sites::Location<'_>) -> String {
    let mut path = path.to_owned();
    for block in location.around.iter().rev() {
        for set in block.children().iter().filter(|inner| inner.name() == "set") {
            if let (Some(name), Some(value)) = (set.word(0), set.word(1)) {
                path = path.replace(name, value);
            }
        }
    }
    path
}

/// The folders that a path with variables may mean.
fn expanded(folder: &str, site: &sites::Site<'_>) -> Vec<String> {
    if !folder.contains('$') {
        return vec![folder.to_owned()];
    }
    let mut folders = Vec::new();
    for host in site.names.iter().filter(|name| !name.contains(['*', '~', '$', '_'])).take(3) {
        let mut path = folder.to_owned();
        for variable in ["$host", "$http_host", "$server_name", "${host}"] {
            path = path.replace(variable, host);
        }
        if !path.contains('$') && !folders.contains(&path) {
            folders.push(path);
        }
    }
    folders
}

/// The names of files that a server's directives have: error pages, candidates of `try_files`, pages of `index`, and scripts
/// that all of them and `rewrite` lead to.
fn names_of(site: &sites::Site<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for location in &site.locations {
        for name in ["error_page", "try_files", "index", "rewrite"] {
            for directive in location.nearest(name) {
                for word in directive.texts().skip(usize::from(name == "rewrite")) {
                    let word = script_of(word).unwrap_or_else(|| word.split('?').next().unwrap_or_default());
                    let is_file = word.contains('.') && !word.contains(['$', '@', '=', ':', '{', '(']);
                    if is_file && !names.iter().any(|name| name == word) {
                        names.push(word.to_owned());
                    }
                }
            }
        }
    }
    names
}

/// The script in a path such as `/app.php/$1` or `/app.php$is_args$args`.
fn script_of(word: &str) -> Option<&str> {
    word.find(".php").map(|start| &word[..start + ".php".len()])
}

fn write_file(within: &str, path: &str, written: &mut BTreeSet<String>) -> io::Result<()> {
    let is_safe = Path::new(path).components().all(|component| component != Component::ParentDir);
    if !path.starts_with(within)
        || !is_safe
        || path.ends_with('/')
        || written.len() >= MAX_FILES
        || !written.insert(path.to_owned())
    {
        return Ok(());
    }
    let path = Path::new(path);
    // A file may be in the place of a folder of the same name: the first one stays.
    let Some(folder) = path.parent() else { return Ok(()) };
    if fs::create_dir_all(folder).is_err() || path.exists() {
        return Ok(());
    }
    let name = path.strip_prefix(within).unwrap_or(path).display().to_string().replace("//", "/");
    fs::write(path, format!("sample {name}\n"))
}

/// Enough for a thousand folders.
const MAX_FILES: usize = 20_000;
