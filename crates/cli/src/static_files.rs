//! Static files before an application or a proxy: `--static`.

use std::path::PathBuf;

use clap::Args;
use serow_assembly::{ServedFolder, descriptor_shares::Shares, shares};
use serow_config::{SettingError, options::ListeningOptions};
use serow_files::{CacheLimits, Files, FilesSettings};
use serow_site::{RouteHandler, Sites};

use crate::command_error::CommandError;

/// The folder of static files, for `serow app` and `serow proxy`.
#[derive(Debug, Args)]
pub(crate) struct StaticOptions {
    /// Folder of static files: GET and HEAD requests for its files are answered from there, all others as without it.
    ///
    /// Usually public. Files are sent as by serow files, with their precompressed variants and with index.html for a
    /// folder.
    #[arg(long = "static", value_name = "DIR", help_heading = "Static files")]
    folder: Option<PathBuf>,
}

impl StaticOptions {
    /// Divides the descriptors of the process between connections and the files that are kept open.
    pub(crate) fn shares(&self, listening: &ListeningOptions, has_folder: bool) -> Shares {
        let files = if self.folder.is_some() || has_folder { CacheLimits::default().open_files } else { 0 };
        shares(listening, files).with_upstreams()
    }

    /// Refuses the folder beside scripts in PHP, whose folder has the files as well.
    pub(crate) fn refuse_beside_php(&self) -> Result<(), SettingError> {
        match self.folder {
            None => Ok(()),
            Some(_) => {
                let text = "`static`: files beside the scripts are sent anyway: leave it out";
                Err(SettingError::new("static", text))
            }
        }
    }

    /// Opens the folder, if there is one.
    pub(crate) fn open(self, shares: Shares) -> Result<StaticFiles, CommandError> {
        let Some(folder) = self.folder else { return Ok(StaticFiles { files: None }) };
        let cache = CacheLimits { open_files: shares.cached_files, ..CacheLimits::default() };
        let settings = FilesSettings { cache, ..FilesSettings::default() };
        let files = Files::with_settings(&folder, settings)
            .map_err(|error| SettingError::new("static", format!("`static`: {error}")))?;
        let served = ServedFolder { path: folder, is_listed: false, is_written: false, links_leave: false };
        if let Some(unreadable) = served.unreadable() {
            tracing::warn!("{unreadable}");
        }
        Ok(StaticFiles { files: Some(files) })
    }
}

/// The opened folder, if there is one.
pub(crate) struct StaticFiles {
    files: Option<Files>,
}

impl StaticFiles {
    /// This handler, with the files before it.
    pub(crate) fn before(self, handler: RouteHandler) -> Sites {
        match self.files {
            Some(files) => Sites::Static { files, handler },
            None => Sites::Single(handler),
        }
    }
}
