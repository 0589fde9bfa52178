//! Settings of a php-fpm.

use std::{ffi::OsString, num::NonZero, path::PathBuf};

use serow_gateway::FieldNames;
use serow_processes::RunSettings;

use crate::fpm::executable::{Executable, ExecutableError};

/// How php-fpm is run.
#[derive(Clone, Debug)]
pub struct FpmSettings {
    /// How its children are run; at least two, since applications such as WordPress send requests to themselves.
    pub run: RunSettings,
    /// The kind of its scripts, as in `WordPress`; `PHP`.
    pub title: &'static str,
    /// The name or path of the program php-fpm; if nothing is set, `php-fpm` or the newest one that is installed.
    pub program: Option<String>,
    /// The launcher before the program, which ends in `serow_supervisor::become_program`: by it, php-fpm inherits its sockets
    /// and ends with this process.
    pub launcher: Vec<OsString>,
    /// Settings of `php.ini` that differ from those of the file, as names and values.
    pub ini: Vec<(String, String)>,
    /// Which names fields of requests may have.
    pub field_names: FieldNames,
    /// Whether browsers see the errors of scripts, and changed files are used at once.
    pub development: bool,
}

impl FpmSettings {
    /// The defaults for scripts in this folder, with two children.
    #[must_use]
    pub fn new(name: impl Into<String>, folder: PathBuf) -> Self {
        Self {
            run: RunSettings::new(name, folder, LEAST_CHILDREN),
            title: "PHP",
            program: None,
            launcher: Vec::new(),
            ini: Vec::new(),
            field_names: FieldNames::default(),
            development: false,
        }
    }

    /// The program, as it is installed now.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn executable(&self) -> Result<Executable, ExecutableError> {
        match &self.program {
            Some(name) => Executable::named(name),
            None => Executable::installed(),
        }
    }
}

/// While one child runs a page of WordPress, the other answers the request that this page sends to its own site.
pub(crate) const LEAST_CHILDREN: NonZero<usize> = NonZero::new(2).unwrap();
