//! Applications.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FromTable, TableReading, mounting};
use crate::options::ApplicationOptions;

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
