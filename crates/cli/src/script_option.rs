//! A script around what a command serves: `--script`.

use std::{iter, path::PathBuf, sync::Arc};

use clap::Args;
use serow_assembly::ScriptServers;
use serow_config::SettingError;
use serow_proxy::TrustedProxies;
use serow_scripts::{RouteChoice, Script, ScriptLimits, Servers};
use serow_site::{ScriptedSites, Scripts, Sites};

use crate::command_error::CommandError;

/// The script of `serow files`, `serow app` and `serow proxy`.
#[derive(Debug, Args)]
pub(crate) struct ScriptOptions {
    /// Script in Lua that gets all requests and their responses; docs/scripts.md says what scripts can do.
    ///
    /// A settings file can have several scripts, with limits of their own, and a reload loads new versions of them.
    #[arg(long = "script", value_name = "FILE", help_heading = "Scripts")]
    file: Option<PathBuf>,
}

/// The script that was read, if there is one.
pub(crate) struct OpenedScript {
    scripts: Scripts,
}

impl ScriptOptions {
    /// Reads the script, and checks that it can be run. These proxies may name the client.
    pub(crate) fn open(self, trusted: TrustedProxies) -> Result<OpenedScript, CommandError> {
        let Some(file) = self.file else { return Ok(OpenedScript { scripts: Scripts::default() }) };
        let servers = Servers { fetch: Arc::new(ScriptServers::new(iter::empty())?), redis: None };
        let script = Script::read(&file, ScriptLimits::default(), trusted, servers)
            .map_err(|error| SettingError::new("script", format!("`script`: {error}")))?;
        Ok(OpenedScript { scripts: Scripts::new(vec![script], RouteChoice::Made) })
    }
}

impl OpenedScript {
    /// This site behind the script.
    pub(crate) fn around(self, sites: Sites) -> Sites {
        if self.scripts.is_empty() { sites } else { Sites::Scripted(ScriptedSites::new(self.scripts, sites)) }
    }
}
