//! `serow man`: the manual as man pages.

use std::{
    error::Error,
    fmt, fs, io,
    path::{Path, PathBuf},
};

use clap::CommandFactory;
use serow_manual::ManPage;

use crate::{arguments::ManArguments, command_error::CommandError, command_line::CommandLine};

/// Writes all pages into a folder.
pub(crate) fn write(arguments: &ManArguments) -> Result<(), CommandError> {
    let folder = &arguments.folder;
    let failed = |path: &Path, error| CommandError::from(ManError { path: path.to_owned(), error });
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for page in pages() {
        let path = folder.join(page.file_name());
        fs::write(&path, page.text()).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

fn pages() -> Vec<ManPage> {
    serow_manual::man_pages(CommandLine::command())
}

/// A page cannot be written.
#[derive(Debug)]
struct ManError {
    path: PathBuf,
    error: io::Error,
}

impl fmt::Display for ManError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: cannot write the man pages: {}; name another folder", self.path.display(), self.error)
    }
}

impl Error for ManError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

impl From<ManError> for CommandError {
    fn from(error: ManError) -> Self {
        Self::Failed(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_whose_lines_are_text_or_requests() {
        let pages = pages();
        let names: Vec<_> = pages.iter().map(ManPage::file_name).collect();
        for name in ["serow.1", "serow-files.1", "serow-upstream.1", "serow-run.1", "serow.toml.5"] {
            assert!(names.iter().any(|page| page == name), "{name}: {names:?}");
        }
        for name in &names {
            assert!(!name.contains("__complete") && !name.contains("upstream-"), "{name}");
        }
        for page in &pages {
            let text = page.text();
            assert!(text.is_ascii() && text.contains("\n.SH NAME\n"), "{}", page.file_name());
            for line in text.lines().filter(|line| line.starts_with('.')) {
                let request = line.split(' ').next().unwrap();
                let known = [
                    ".\\\"", ".TH", ".SH", ".SS", ".TP", ".PP", ".IP", ".nf", ".fi", ".RS", ".RE", ".BR", ".nh", ".ad",
                ];
                assert!(known.contains(&request), "{}: {line}", page.file_name());
            }
        }
    }
}
