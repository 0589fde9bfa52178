//! `serow import`: a settings file from the configuration of nginx.

mod own_check;
#[cfg(test)]
mod random_words;

use std::{
    error::Error,
    fmt,
    fs::OpenOptions,
    io::{self, Write},
    path::{Path, PathBuf},
};

use serow_comparison::{ComparisonError, Programs};
use serow_nginx_syntax::{disk::Disk, error::ImportError as GrammarError};

use self::own_check::OwnCheck;
use crate::{
    arguments::{DEFAULT_SETTINGS_FILE, ImportArguments},
    command_error::CommandError,
};

/// Writes the settings and the report.
pub(crate) fn run(arguments: &ImportArguments) -> Result<(), CommandError> {
    let main = &arguments.file;
    let folder = main.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let prefix = std::path::absolute(arguments.prefix.as_deref().unwrap_or(folder)).map_err(CommandError::output)?;
    let is_import = !arguments.compare || arguments.output.is_some();
    let missed = if is_import { import(arguments, &prefix)? } else { None };
    if arguments.compare {
        compare(arguments, &prefix)?;
    }
    missed.map_or(Ok(()), |missed| Err(missed.into()))
}

/// Writes the settings and the report. Returns the part of the configuration that they miss.
fn import(arguments: &ImportArguments, prefix: &Path) -> Result<Option<ImportError>, CommandError> {
    let main = &arguments.file;
    let imported = serow_import::nginx(main, prefix, &Disk).map_err(ImportError::Syntax)?;
    let report = if arguments.all { imported.report.all() } else { imported.report.to_string() };
    let path = arguments.output.clone().unwrap_or_else(|| main.with_file_name(DEFAULT_SETTINGS_FILE));
    if !imported.settings.contains("[[site]]") {
        print(&report)?;
        return Err(ImportError::NoServer.into());
    }
    let check = OwnCheck::of(&imported, &path).map_err(CommandError::from)?;
    let report = format!("{report}{check}");
    match &arguments.output {
        _ if arguments.check => {
            print(&report)?;
            if check == OwnCheck::default() {
                print(&format!("The settings for {} are valid.\n", main.display()))?;
            }
        }
        None => {
            print(&imported.settings)?;
            eprint!("{report}");
        }
        Some(path) => {
            // Without `create_new`, another process could have written it meanwhile.
            let file = OpenOptions::new().write(true).create_new(true).open(path);
            file.and_then(|mut file| file.write_all(imported.settings.as_bytes())).map_err(|error| {
                match error.kind() {
                    io::ErrorKind::AlreadyExists => ImportError::Exists(path.clone()),
                    _ => ImportError::Write(path.clone(), error),
                }
            })?;
            print(&report)?;
            print(&format!("{} is written. Next: serow check -c {0}\n", path.display()))?;
        }
    }
    Ok(match (check.defects.len(), imported.report.counts()) {
        (0, [_, _, _, 0]) => None,
        (0, [_, _, _, lost]) => Some(ImportError::Lost(lost)),
        (refused, _) => Some(ImportError::Refused(refused)),
    })
}

/// Compares the responses of nginx with those of this program.
fn compare(arguments: &ImportArguments, prefix: &Path) -> Result<(), CommandError> {
    let serow = std::env::current_exe().map_err(CommandError::output)?;
    let programs = Programs { nginx: arguments.nginx.clone(), serow };
    let comparison = serow_comparison::compare(&arguments.file, prefix, &programs).map_err(ImportError::Comparison)?;
    print(&comparison.to_string())?;
    match comparison.is_same() {
        true => Ok(()),
        false => Err(ImportError::Different.into()),
    }
}

fn print(text: &str) -> Result<(), CommandError> {
    io::stdout().write_all(text.as_bytes()).map_err(CommandError::output)
}

/// A failed import.
#[derive(Debug)]
enum ImportError {
    /// The configuration cannot be read.
    Syntax(GrammarError),
    /// The settings file exists.
    Exists(PathBuf),
    /// The settings file cannot be written.
    Write(PathBuf, io::Error),
    /// The programs cannot be compared.
    Comparison(ComparisonError),
    /// Responses differ for no reason that is known.
    Different,
    /// No server of the configuration becomes a site.
    NoServer,
    /// So many directives are not translated.
    Lost(usize),
    /// So many settings are refused by Serow itself.
    Refused(usize),
}

impl fmt::Display for ImportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(error) => write!(formatter, "{error}"),
            Self::Comparison(error) => write!(formatter, "{error}"),
            Self::Different => formatter.write_str("responses differ without a known reason: the report has each"),
            Self::Exists(path) => {
                write!(formatter, "{} exists: remove it, or name another file with -o", path.display())
            }
            Self::Write(path, _) => write!(formatter, "cannot write {}", path.display()),
            Self::NoServer => formatter.write_str("no `server` of HTTP is translated: there are no settings to write"),
            Self::Refused(count) => {
                let settings = if *count == 1 { "setting" } else { "settings" };
                write!(
                    formatter,
                    "Serow refuses {count} imported {settings}, a defect of the import: the report has the lines"
                )
            }
            Self::Lost(1) => formatter.write_str("1 directive is not translated: the report names it, with the reason"),
            Self::Lost(count) => {
                write!(formatter, "{count} directives are not translated: the report names each, with the reason")
            }
        }
    }
}

impl Error for ImportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Write(_, error) => Some(error),
            Self::Syntax(_)
            | Self::Exists(_)
            | Self::Comparison(_)
            | Self::Different
            | Self::Lost(_)
            | Self::NoServer
            | Self::Refused(_) => None,
        }
    }
}

impl From<ImportError> for CommandError {
    fn from(error: ImportError) -> Self {
        Self::Failed(Box::new(error))
    }
}
