//! From the tables of a settings file, or the options of a command line, to the running parts of [Serow](serow): listeners,
//! sites, upstreams, applications, logs, certificates.
//!
//! | step | file |
//! | --- | --- |
//! | a settings file as a whole, in the order in which its parts need each other | `configuration.rs` |
//! | the root: server, listeners, TLS, certificates, account | `server.rs`, `tls.rs`, `acme.rs`, `account.rs` |
//! | handlers: folders, upstreams, applications | `folder.rs`, `upstream.rs`, `proxy.rs`, `application.rs`, `bridged.rs`, `program.rs`, `php.rs` |
//! | sites and routes, with the phases around their content | `routing.rs`, `routing/`, `policies.rs`, `access.rs`, `caching.rs` |
//! | other settings for a server that serves: what goes on, what is not even read again, and what needs another process | `kept_parts.rs`, `kept_upstreams.rs`, `independence.rs`, `independent_sites.rs`, `fixed_parts.rs` |
//! | access logs, and which routes are counted | `logs.rs`, `route_numbers.rs` |
//!
//! The crate [`serow_config`] reads the tables. Problems that only the parts can find (a file that is missing, a route behind
//! another with the same path) are reported at the same places.
#![forbid(unsafe_code)]

mod access;
mod account;
mod acme;
pub mod admin_token;
mod applications;
mod body_limits;
mod bridged;
mod caching;
mod cgi_variables;
mod check;
mod configuration;
mod dav_scopes;
pub mod descriptor_shares;
mod docker;
mod fixed_parts;
mod fleet;
mod folder;
mod forward_auth;
mod independence;
mod independent_sites;
mod internal_roots;
mod kept_parts;
mod kept_upstreams;
mod login;
mod logs;
#[cfg(test)]
mod mutations;
mod notes;
mod php;
mod policies;
mod process;
mod program;
mod proxy;
mod proxying;
#[cfg(test)]
mod random_changes;
mod rewriting;
mod route_numbers;
mod routing;
mod running;
mod script_fetch;
mod script_redis;
mod scripting;
mod served_folder;
mod server;
mod shared_logins;
mod site_listeners;
mod tls;
mod upstream;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serow_access_log::LogRules;
use serow_config::{
    ConfigurationError, SandboxChoice, gather, gather_bundle, routing as settings_routing, with_tables,
};
use serow_document::{Disk, Fault, Problems, Sources, file};
use serow_guards::AccessControl;
use serow_proxy::Upstream;
use serow_site::{Application, CacheStore, CountedRoute, Mirror, Sites};

use self::kept_parts::Staying;

pub use self::{
    account::Account,
    acme::{AcmePlan, Reachable},
    bridged::{application, is_module},
    docker::Docker,
    fixed_parts::FixedParts,
    folder::{folder_error, folder_settings, write_settings},
    kept_parts::KeptParts,
    php::{PhpPlace, php_fpm},
    process::ApplicationHost,
    program::program,
    proxy::{forwarding_settings, reads_attempts},
    script_fetch::ScriptServers,
    served_folder::{ServedFolder, UnreadableFolder, open_to_changes},
    server::{ServerSettings, listening, shares},
    tls::{DevelopmentCertificate, Encryption},
    upstream::upstream_settings,
};

/// A settings file, read and checked.
pub struct Configuration {
    /// The settings of the server as a whole.
    pub server: ServerSettings,
    /// The access logs.
    pub logs: LogRules,
    /// The handler: sites and routes. The TLS settings around it are in [`ServerSettings::encryption`].
    pub site: Sites,
    /// The routes whose requests are counted, by their numbers, if any are.
    pub counted_routes: Option<Vec<CountedRoute>>,
    /// Its upstreams.
    pub upstreams: Vec<Upstream>,
    /// Those of them that the settings before, if there were any, did not have.
    pub made_upstreams: Vec<Upstream>,
    /// Its applications.
    pub applications: Vec<Application>,
    /// Whether requests run CGI programs.
    pub has_cgi: bool,
    /// The mirrors, which copy requests.
    pub mirrors: Vec<Mirror>,
    /// Where responses are stored, if any are.
    pub cache: Option<CacheStore>,
    /// The containers that become routes.
    pub docker: Option<Docker>,
    /// The hosts of all sites.
    pub hosts: Vec<String>,
    /// How many sites there are.
    pub sites: usize,
    /// How many routes the sites have together.
    pub routes: usize,
    /// The user that the server becomes once the sockets are open and the files are read; `None` keeps the user that
    /// started it.
    pub account: Option<Account>,
    /// The served folders.
    pub folders: Vec<ServedFolder>,
    /// The parts of access control that the server needs while it runs.
    pub access: AccessControl,
    /// The files of certificates and of access control, which are read again when they change.
    pub renewed_files: Vec<PathBuf>,
    /// Whether the server is restricted to the files that it needs.
    pub sandbox: SandboxChoice,
    /// How long requests in flight may take in a generation that a reload replaced.
    pub reload_grace: Duration,
    /// Settings that are valid and probably not meant, with their places: a line for each.
    pub notes: Vec<String>,
    /// The parts that only another process can have.
    pub fixed: FixedParts,
    /// The parts that go on where others of the same process follow these settings.
    pub kept: KeptParts,
}

impl Configuration {
    /// Its upstreams, and the copies of programs that it runs, which are servers as well, for the status and for those who drain
    /// one.
    #[must_use]
    pub fn upstreams_with_programs(&self) -> Vec<Upstream> {
        let programs = self.applications.iter().filter_map(Application::upstream);
        self.upstreams.iter().chain(programs).cloned().collect()
    }
}

/// Reads and checks a settings file. Folders and certificates are opened.
///
/// # Errors
///
/// The file cannot be read, or it has errors; all of them are reported.
pub fn read(path: &Path, host: &ApplicationHost) -> Result<Configuration, ConfigurationError> {
    let text = file::read(path).map_err(ConfigurationError::Unreadable)?;
    let sources = gather(path, text, &mut Disk)?;
    of_sources(path, &sources, host, (&KeptParts::default(), Staying::none_of(&sources)))
}

/// As [`read`], for the bytes of a file that was at this path, or a bundle of it ([`serow_config::bundle`]).
///
/// # Errors
///
/// As for [`read`].
pub fn of_bytes(path: &Path, bytes: Vec<u8>, host: &ApplicationHost) -> Result<Configuration, ConfigurationError> {
    following(path, bytes, host, &KeptParts::default())
}

/// As [`of_bytes`], for a process that has these parts already.
///
/// # Errors
///
/// As for [`read`].
pub fn following(
    path: &Path,
    bytes: Vec<u8>,
    host: &ApplicationHost,
    kept: &KeptParts,
) -> Result<Configuration, ConfigurationError> {
    let sources = gather_bundle(path, bytes)?;
    // Where sites are wrong, or contradict those that stay, all are read, for an error about all of them.
    let changed = kept.staying(&sources).map(|(staying, read)| of_sources(path, &read, host, (kept, staying)));
    if let Some(Ok(configuration)) = changed {
        return Ok(configuration);
    }
    of_sources(path, &sources, host, (kept, Staying::none_of(&sources)))
}

/// Checks the settings of a file, and nothing that only the parts of a server can find.
///
/// # Errors
///
/// As for [`read`].
pub fn check_settings(path: &Path, bytes: Vec<u8>) -> Result<(), ConfigurationError> {
    let sources = gather_bundle(path, bytes)?;
    let faults = faults_of_settings(&sources, path.parent().unwrap_or(Path::new("")));
    if faults.is_empty() { Ok(()) } else { Err(ConfigurationError::of_faults(&sources, &faults)) }
}

/// The faults of settings, wherever they are used.
fn faults_of_settings(sources: &Sources, folder: &Path) -> Vec<Fault> {
    let tables = with_tables(sources, folder, |tables, _, problems| {
        settings_routing::check(&tables, folder, problems);
        Some(())
    });
    tables.err().unwrap_or_default()
}

/// The faults of a settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Those of the settings, wherever they are used.
    pub of_settings: Vec<Fault>,
    /// Those that appear when the parts of the server are made, such as files that do not exist.
    pub of_parts: Vec<Fault>,
}

/// All faults of a file with this text that would be at this path.
///
/// # Errors
///
/// The text is not a settings file at all.
pub fn faults(path: &Path, text: String, host: &ApplicationHost) -> Result<Faults, ConfigurationError> {
    let sources = gather(path, text, &mut Disk)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    // All that is wrong with settings keeps the parts from being made: where these are there, nothing is read again.
    let Err(mut of_parts) = assemble(&sources, folder, host, (&KeptParts::default(), Staying::default())) else {
        return Ok(Faults::default());
    };
    let of_settings = faults_of_settings(&sources, folder);
    of_parts.retain(|fault| !of_settings.contains(fault));
    Ok(Faults { of_settings, of_parts })
}

fn of_sources(
    path: &Path,
    sources: &Sources,
    host: &ApplicationHost,
    before: (&KeptParts, Staying),
) -> Result<Configuration, ConfigurationError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    assemble(sources, folder, host, before).map_err(|faults| ConfigurationError::of_faults(sources, &faults))
}

/// Makes the parts that these texts describe, where paths are relative to the folder.
fn assemble(
    sources: &Sources,
    folder: &Path,
    host: &ApplicationHost,
    (kept, staying): (&KeptParts, Staying),
) -> Result<Configuration, Vec<Fault>> {
    with_tables(sources, folder, |tables, document, problems| {
        let notes = Problems::default();
        let configuration = configuration::of(tables, (document, folder), (host, kept, staying), problems, &notes)?;
        let notes = notes.faults(document).iter().map(|fault| sources.line(fault)).collect();
        Some(Configuration { notes, ..configuration })
    })
}
