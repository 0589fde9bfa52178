//! The search for the program that a path names.

use std::{
    fs::Metadata,
    io,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::Path,
};

use rustix::fs::{Mode, fstat};
use serow_files::{Located, Root, Symlinks, real_path};
use serow_gateway::{CgiScript, PathNames, decoded_path};

use crate::cgi::settings::{CgiSettings, Programs};

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// This program runs.
    Found(CgiScript),
    /// The path is one that no honest client sends (400).
    Malformed,
    /// There is no program.
    Nothing,
    /// This file is none, since it is not executable.
    NotExecutable(Vec<u8>),
    /// The folder cannot be opened.
    NoFolder,
}

impl CgiSettings {
    /// The program at an encoded path: the first name behind the prefix that is one ends SCRIPT_NAME, PATH_INFO is the rest.
    pub(crate) fn program_at(&self, encoded: &str) -> Search {
        let (Ok(names), Ok(prefix)) = (PathNames::parse(encoded), PathNames::parse(&self.prefix)) else {
            return Search::Malformed;
        };
        // Another spelling that a route takes for its prefix is not one of honest clients.
        let Some(names) = names.below(&prefix) else { return Search::Nothing };
        let prefix = prefix.joined(prefix.count()).filter(|prefix| !prefix.is_empty());
        let prefix = prefix.map_or_else(Vec::new, |prefix| [b"/", prefix.as_slice()].concat());
        match &self.programs {
            Programs::Folder(folder) => in_folder(folder, &names, &prefix, encoded),
            Programs::One(program) => {
                let script = CgiScript {
                    filename: program.as_os_str().as_bytes().to_vec(),
                    name: prefix,
                    path_info: rest(&names, 0, encoded),
                    document_root: folder_of(program).as_os_str().as_bytes().to_vec(),
                };
                Search::Found(script)
            }
        }
    }

    /// Says why the programs cannot run.
    pub(crate) fn check(&self) -> io::Result<()> {
        match &self.programs {
            Programs::Folder(folder) => match std::fs::metadata(folder)? {
                file if !file.is_dir() => Err(io::Error::other("it is not a folder")),
                _ => Root::open(folder, Symlinks::default()).map(drop).map_err(io::Error::other),
            },
            Programs::One(program) => match std::fs::metadata(program)? {
                file if !file.is_file() => Err(io::Error::other("it is not a file")),
                file if !may_run(&file) => Err(io::Error::other("it is not executable: chmod +x makes it so")),
                _ => Ok(()),
            },
        }
    }
}

fn in_folder(folder: &Path, names: &PathNames, prefix: &[u8], encoded: &str) -> Search {
    let Ok(root) = Root::open(folder, Symlinks::default()) else { return Search::NoFolder };
    for (place, name) in names.iter().enumerate() {
        // `.git`, and the files that editors leave behind.
        if name.text.starts_with(b".") {
            return Search::Nothing;
        }
        let Some(path) = names.joined(place + 1) else { return Search::Nothing };
        let file = match root.locate(&path) {
            Some(Located::File(file)) => file,
            Some(Located::Folder(_)) => continue,
            None => return Search::Nothing,
        };
        let document_root = root.real_path();
        let filename = real_path(&file).unwrap_or_else(|| [document_root.as_slice(), b"/", &path].concat());
        let mode = fstat(&file).map_or(Mode::empty(), |stat| Mode::from_raw_mode(stat.st_mode));
        if !mode.intersects(ANYBODY_RUNS) {
            return Search::NotExecutable(filename);
        }
        let name = [prefix, b"/", &path].concat();
        let path_info = rest(names, place + 1, encoded);
        return Search::Found(CgiScript { filename, name, path_info, document_root });
    }
    Search::Nothing
}

/// The decoded path behind the first names.
fn rest(names: &PathNames, count: usize, encoded: &str) -> Option<Vec<u8>> {
    match names.behind(count, encoded) {
        "" if names.is_folder => Some(b"/".to_vec()),
        "" => None,
        rest => Some(decoded_path(rest).into_owned()),
    }
}

/// The folder of a program, in which it runs.
pub(crate) fn folder_of(program: &Path) -> &Path {
    program.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn may_run(file: &Metadata) -> bool {
    Mode::from_raw_mode(file.permissions().mode()).intersects(ANYBODY_RUNS)
}

/// The kernel decides whether this process may; a file without any of these does not run.
const ANYBODY_RUNS: Mode = Mode::XUSR.union(Mode::XGRP).union(Mode::XOTH);

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// The name of the program, and PATH_INFO.
    fn found(settings: &CgiSettings, path: &str) -> Result<(String, Option<String>), &'static str> {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        match settings.program_at(path) {
            Search::Found(script) => Ok((text(script.name), script.path_info.map(text))),
            Search::Malformed => Err("malformed"),
            Search::Nothing => Err("nothing"),
            Search::NotExecutable(_) => Err("not executable"),
            Search::NoFolder => Err("no folder"),
        }
    }

    #[test]
    fn the_first_name_that_is_a_program_runs_and_the_rest_is_path_info() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("cgi-bin");
        fs::create_dir_all(root.join("sub")).unwrap();
        for (name, mode) in [("a", 0o755), ("sub/b", 0o700), ("text", 0o644), (".hidden", 0o755), ("a b", 0o755)] {
            fs::write(root.join(name), "#!/bin/sh\n").unwrap();
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::write(folder.path().join("outside"), "").unwrap();
        fs::set_permissions(folder.path().join("outside"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("../outside", root.join("out")).unwrap();
        symlink("a", root.join("link")).unwrap();
        let mut settings = CgiSettings::new(Programs::Folder(root));
        for (prefix, path, expected) in [
            ("/cgi-bin", "/cgi-bin/a", Ok(("/cgi-bin/a", None))),
            ("/cgi-bin", "/cgi-bin/a/", Ok(("/cgi-bin/a", Some("/")))),
            ("/cgi-bin", "/cgi-bin/a/b%20c/d", Ok(("/cgi-bin/a", Some("/b c/d")))),
            ("/cgi-bin", "/cgi-bin/a/b%2Fc//d", Ok(("/cgi-bin/a", Some("/b/c//d")))),
            ("/cgi-bin", "/cgi-bin/sub/b/c", Ok(("/cgi-bin/sub/b", Some("/c")))),
            ("/cgi-bin", "/cgi-bin/a%20b", Ok(("/cgi-bin/a b", None))),
            ("/cgi-bin", "/cgi-bin/link", Ok(("/cgi-bin/link", None))),
            ("/cgi-bin", "//cgi-bin//%61", Ok(("/cgi-bin/a", None))),
            ("", "/a/x", Ok(("/a", Some("/x")))),
            ("/cgi-bin", "/cgi-bin/", Err("nothing")),
            ("/cgi-bin", "/cgi-bin/sub/", Err("nothing")),
            ("/cgi-bin", "/cgi-bin/none/a", Err("nothing")),
            ("/cgi-bin", "/cgi-bin/.hidden", Err("nothing")),
            ("/cgi-bin", "/cgi-bin/out", Err("nothing")),
            ("/cgi-bin", "/cgi-bin/sub%2Fb", Err("nothing")),
            ("/cgi-bin", "/cgi-bin/./a", Err("nothing")),
            ("/cgi-bin", "/./cgi-bin/a", Err("nothing")),
            ("/cgi-bin", "/cgi-bin/text", Err("not executable")),
            ("/cgi-bin", "/cgi-bin/text/a", Err("not executable")),
            ("/cgi-bin", "/cgi-bin/../a", Err("malformed")),
            ("/cgi-bin", "/cgi-bin/a/..%2fb", Err("malformed")),
            ("/cgi-bin", "/cgi-bin/a%00", Err("malformed")),
        ] {
            prefix.clone_into(&mut settings.prefix);
            let expected = expected.map(|(name, rest)| (name.to_owned(), rest.map(str::to_owned)));
            assert_eq!(found(&settings, path), expected, "{path}");
        }
    }

    #[test]
    fn one_program_gets_all_paths_below_the_prefix() {
        let mut settings = CgiSettings::new(Programs::One("/usr/bin/env".into()));
        for (prefix, path, expected) in [
            ("/git", "/git/a.git/info/refs", Ok(("/git", Some("/a.git/info/refs")))),
            ("/git", "/git/", Ok(("/git", Some("/")))),
            ("/git", "/git", Ok(("/git", None))),
            ("", "/", Ok(("", Some("/")))),
            ("", "/a%20b/", Ok(("", Some("/a b/")))),
            ("/git", "/git/../a", Err("malformed")),
            ("/git", "/other/a", Err("nothing")),
        ] {
            prefix.clone_into(&mut settings.prefix);
            let expected = expected.map(|(name, rest)| (name.to_owned(), rest.map(str::to_owned)));
            assert_eq!(found(&settings, path), expected, "{path}");
        }
    }
}
