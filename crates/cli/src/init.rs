//! `serow init`: writes a settings file for what a folder contains.

use std::{
    error::Error,
    fmt,
    fs::OpenOptions,
    io::{self, Write},
    path::{Path, PathBuf},
};

use serow_project::{FolderContents, FoundSources, quoted};

use crate::{
    arguments::{DEFAULT_SETTINGS_FILE, InitArguments},
    command_error::CommandError,
};

/// Writes the file, or prints it.
pub(crate) fn run(arguments: &InitArguments) -> Result<(), CommandError> {
    let folder = &arguments.folder;
    if !folder.is_dir() {
        return Err(InitError::NoFolder(folder.clone()).into());
    }
    let contents = FolderContents::of(folder).map_err(InitError::Sources)?;
    let text = contents.settings();
    if arguments.print {
        return io::stdout().write_all(text.as_bytes()).map_err(CommandError::output);
    }
    let path = folder.join(DEFAULT_SETTINGS_FILE);
    let path = path.strip_prefix(".").unwrap_or(&path).to_owned();
    // Without `create_new`, another process could have written it meanwhile.
    let file = OpenOptions::new().write(true).create_new(true).open(&path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => InitError::Exists(path.clone()),
        _ => InitError::Write(path.clone(), error),
    })?;
    let is_here = folder == Path::new(".");
    let path = path.display();
    let option = if is_here { String::new() } else { format!(" -c {}", quoted(&path.to_string())) };
    let lines = format!("{path} is written: {}\nStart the server: serow run{option}\n", contents.summary());
    io::stdout().write_all(lines.as_bytes()).map_err(CommandError::output)
}

/// A settings file cannot be written.
#[derive(Debug)]
enum InitError {
    NoFolder(PathBuf),
    /// All that could be served is source code.
    Sources(FoundSources),
    Exists(PathBuf),
    Write(PathBuf, io::Error),
}

impl fmt::Display for InitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFolder(path) => write!(formatter, "there is no folder {}: name another one", path.display()),
            Self::Sources(FoundSources { file, kind, remedy }) => write!(
                formatter,
                "this folder contains {kind} ({file}), and its files would be published: {remedy}; with that command, \
                 write app = {{ command = [\"…\"] }} below [[site]] into {DEFAULT_SETTINGS_FILE} yourself"
            ),
            Self::Exists(path) => write!(
                formatter,
                "{path} exists and stays as it is: remove it first, or see with --print what would be written",
                path = path.display()
            ),
            Self::Write(path, error) => {
                write!(formatter, "{}: this file cannot be written: {error}; use --print", path.display())
            }
        }
    }
}

impl Error for InitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Write(_, error) => Some(error),
            Self::NoFolder(_) | Self::Exists(_) | Self::Sources(_) => None,
        }
    }
}

impl From<InitError> for CommandError {
    fn from(error: InitError) -> Self {
        Self::Failed(Box::new(error))
    }
}
