//! Applications.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FromTable, TableReading, mounting};
use crate::{SettingError, options::ApplicationOptions};

/// An application that answers requests.
#[derive(Debug, PartialEq, Eq)]
pub struct AppTable {
    /// Its own keys.
    pub settings: AppSettings,
    /// Its keys that are options of the command line, too.
    pub arguments: ApplicationOptions,
}

/// Which application answers.
#[derive(Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct AppSettings {
    /// config.ru, app.psgi, or for Python module:callable, as in project.wsgi:application.
    ///
    /// Routes that say the same of an application share its workers.
    pub application: Option<String>,

    /// Any program that serves HTTP, and its arguments, as in ["node", "server.js"]; {port} and {socket} stand for
    /// where it is to listen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
}

impl FromTable for AppTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        let (settings, arguments) = (table.settings(), table.settings());
        mounting::of_application(table);
        Some(Self { settings: settings?, arguments: arguments? })
    }
}

/// How an application is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppKind<'a> {
    /// An interpreter calls the application with this name.
    Called(&'a str),
    /// A program, and its arguments, serves HTTP itself.
    Program(&'a [String]),
}

impl AppTable {
    /// How it is run.
    ///
    /// # Errors
    ///
    /// Two ways are given, or none; the key is empty then.
    pub fn kind(&self) -> Result<AppKind<'_>, SettingError> {
        match (&self.settings.application, &self.settings.command[..]) {
            (Some(application), []) => Ok(AppKind::Called(application)),
            (None, command @ [_, ..]) => Ok(AppKind::Program(command)),
            (Some(_), _) => Err(SettingError::new("command", "either `application` or `command`: leave one out")),
            (None, []) => {
                let text = "there is nothing to run: write `application` with a file, or `command` with a program";
                Err(SettingError::new("", text))
            }
        }
    }
}
