//! The cores of workers: `auto`, `0-3`, `0,2,4-7`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_message::{WorkerCores, WorkerCoresTextError};

use crate::{in_settings_file, values::SettingValue};

/// The cores that worker threads are pinned to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores(pub WorkerCores);

impl FromStr for Cores {
    type Err = WorkerCoresTextError;

    fn from_str(text: &str) -> Result<Self, WorkerCoresTextError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl SettingValue for Cores {
    fn expected() -> String {
        r#""auto" or a list of cores in quotes, as in "0-3" or "0,2,4-7""#.to_owned()
    }

    fn schema() -> Value {
        let range = " *[0-9]+(-[0-9]+)? *";
        json!({ "anyOf": [{ "const": "auto" }, { "type": "string", "pattern": format!("^{range}(,{range})*$") }] })
    }

    /// A bare number may have been meant as a number of cores.
    fn suggestion(_: &str) -> Option<String> {
        None
    }
}

in_settings_file!(Cores, "Cores");
