//! `serow init`: writes a settings file for what a folder contains.
//!
//! The text of the file is in `init/text.rs`; what the folder contains is found by `project.rs`.

mod text;

use std::{
    error::Error,
    fmt,
    fs::OpenOptions,
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{
    arguments::{DEFAULT_SETTINGS_FILE, InitArguments},
    command_error::CommandError,
    project::{self, FoundSources},
};

/// The contents of a folder: one handler that was chosen, and others.
#[derive(Debug, PartialEq, Eq)]
struct Contents {
    chosen: Handler,
    others: Vec<Handler>,
    /// A folder with the files of the chosen application: pictures, scripts, styles.
    assets: Option<&'static str>,
}

/// A part of a folder that can answer requests.
#[derive(Debug, PartialEq, Eq)]
enum Handler {
    Application(project::FoundApplication),
    /// A static site in this folder.
    Site(&'static str),
    /// This folder, which has no index file.
    Folder,
}

/// Writes the file, or prints it.
pub(crate) fn run(arguments: &InitArguments) -> Result<(), CommandError> {
    let folder = &arguments.folder;
    if !folder.is_dir() {
        return Err(InitError::NoFolder(folder.clone()).into());
    }
    let contents = Contents::of(folder);
    if let Handler::Site(".") | Handler::Folder = contents.chosen
        && let Some(found) = project::sources(folder)
    {
        return Err(InitError::Sources(found).into());
    }
    let text = text::of(&contents);
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
    let option = if is_here { String::new() } else { format!(" -c {}", project::quoted(&path.to_string())) };
    let lines = format!("{path} is written: {}\nStart the server: serow run{option}\n", contents.summary());
    io::stdout().write_all(lines.as_bytes()).map_err(CommandError::output)
}

impl Contents {
    fn of(folder: &Path) -> Self {
        let mut handlers: Vec<_> = project::applications(folder).into_iter().map(Handler::Application).collect();
        let site = project::static_folder(folder);
        // The folder `public` of an application has its files, and no site of its own.
        let has_application = handlers.iter().any(|handler| !handler.is_for_development() && !handler.is_php());
        let assets = ["public", "static"].into_iter().find(|name| has_application && folder.join(name).is_dir());
        handlers.extend(site.filter(|site| Some(*site) != assets).map(Handler::Site));
        // A server for development is the last resort.
        handlers.sort_by_key(Handler::is_for_development);
        let mut handlers = handlers.into_iter();
        match handlers.next() {
            Some(chosen) => Self { chosen, others: handlers.collect(), assets },
            None => Self { chosen: Handler::Folder, others: Vec::new(), assets: None },
        }
    }

    /// The handlers that were found and chosen, for the terminal.
    fn summary(&self) -> String {
        let found = |handler: &Handler| match handler {
            Handler::Application(application) => format!("{} ({})", application.kind, application.file),
            Handler::Site(".") => "a static site (index.html)".to_owned(),
            Handler::Site(folder) => format!("a static site ({folder}/index.html)"),
            Handler::Folder => "the files of this folder, which has no index file".to_owned(),
        };
        let others: Vec<_> = self.others.iter().map(found).collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!("; commented out: {}", others.join(", ")),
        };
        format!("{}{others}", found(&self.chosen))
    }
}

impl Handler {
    /// The files beside its scripts are sent anyway.
    fn is_php(&self) -> bool {
        matches!(self, Self::Application(application) if matches!(application.start, project::Start::Php(_)))
    }

    fn is_for_development(&self) -> bool {
        matches!(self, Self::Application(application) if application.is_for_development)
    }
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
