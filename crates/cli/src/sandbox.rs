//! Restricting a generation to the files that it needs.
//!
//! Files come and go while it serves: folders are replaced by deployments, certificates by clients of ACME, logs by
//! rotation. So what is allowed is the folder around each of them (`sandbox/places.rs`). Where it cannot be known what
//! has to be opened, nothing is restricted.

mod granted;
mod places;

use std::{
    env, fmt,
    path::{Path, PathBuf},
};

use serow_access_log::Destination;
use serow_acme::StoreSettings;
use serow_assembly::{AcmePlan, Configuration, ServedFolder};
use serow_config::SandboxChoice;
use serow_guards::AccessControl;
use serow_net::sandbox::{AllowedPath, FileAccess, Restriction, Sandbox, Unrestricted};
use serow_site::CacheStore;

use self::{
    granted::Granted,
    places::{PlaceError, existing, places_of},
};
use crate::{certificates, descriptors};

/// Whether the process is restricted, as the status says it.
#[derive(Debug)]
pub(crate) enum SandboxState {
    /// It is, to these files.
    On(Restriction, Granted),
    Off(Reason),
}

/// A restriction that is ready.
pub(crate) struct PreparedSandbox {
    sandbox: Sandbox,
    granted: Granted,
}

/// Why it is not.
#[derive(Debug)]
pub(crate) enum Reason {
    /// The settings say so.
    Settings,
    /// Only generations of `serow run` are.
    OtherCommand,
    /// A restriction is inherited by the programs that a process runs.
    Applications,
    /// CGI programs, likewise.
    Cgi,
    /// The shell and what it starts, likewise.
    LogCommand,
    /// A program that changes DNS records, likewise.
    DnsCommand,
    /// The system's resolver loads libraries of its own choice (nsswitch.conf).
    SyslogName,
    /// It does not exist yet: what is created later has no rule.
    TemporaryFolder,
    /// Symbolic links in this folder may lead anywhere.
    Links(PathBuf),
    /// It is not known what to allow.
    Place(PlaceError),
    /// The kernel has no Landlock, or it failed.
    Kernel(Unrestricted),
}

impl SandboxState {
    /// Restricts this process, or says why it must not serve: where the kernel has no Landlock, a server goes on without
    /// the restriction, but not where only descriptors are missing.
    pub(crate) fn enter(prepared: Result<PreparedSandbox, Reason>) -> Result<Self, String> {
        let enter = |PreparedSandbox { sandbox, granted }| match sandbox.enter() {
            Ok(restriction) => Ok((restriction, granted)),
            Err(unrestricted) => Err(Reason::Kernel(unrestricted)),
        };
        match prepared.and_then(enter) {
            Ok((restriction, granted)) => Ok(Self::On(restriction, granted)),
            Err(reason) if reason.is_exhaustion() => Err(format!(
                "the files that the server can open cannot be restricted ({reason}): raise the limit of open files, or write \
                 sandbox = \"off\""
            )),
            Err(reason) => {
                if let Reason::Kernel(Unrestricted::Failed(_)) | Reason::Place(_) = &reason {
                    tracing::warn!("the server can open all files of its user: {reason}");
                }
                Ok(Self::Off(reason))
            }
        }
    }
}

impl SandboxState {
    /// Why a process in this state cannot serve these settings, or would have more rights than another one; none if it can.
    pub(crate) fn reason_for_process(&self, configuration: &Configuration) -> Option<String> {
        match (self, needed_paths(configuration, &[])) {
            (Self::On(_, granted), Ok(needed)) => {
                let missing = granted.first_missing(&needed)?;
                Some(format!("the sandbox is without {}", missing.display()))
            }
            (Self::On(..), Err(reason)) => Some(format!("the sandbox has to be off: {reason}")),
            (Self::Off(Reason::Settings | Reason::OtherCommand | Reason::Kernel(_)), _) => None,
            (Self::Off(reason), Err(other)) if reason.to_string() == other.to_string() => None,
            (Self::Off(_), _) => Some("the sandbox can be on".to_owned()),
        }
    }
}

impl Reason {
    fn is_exhaustion(&self) -> bool {
        match self {
            Self::Kernel(Unrestricted::Failed(error)) | Self::Place(PlaceError::Unreachable(_, error)) => {
                descriptors::is_exhaustion(error)
            }
            _ => false,
        }
    }
}

/// Opens what a generation with these settings needs, while this may be root still. `folders` are those of key
/// sets and of commands to a fleet.
pub(crate) fn prepare(configuration: &Configuration, folders: &[&Path]) -> Result<PreparedSandbox, Reason> {
    let paths = needed_paths(configuration, folders)?;
    let sandbox = Sandbox::new(&paths).map_err(Reason::Kernel)?;
    Ok(PreparedSandbox { sandbox, granted: Granted::of(paths) })
}

/// The files that a generation with these settings needs, each once.
fn needed_paths(configuration: &Configuration, folders: &[&Path]) -> Result<Vec<AllowedPath>, Reason> {
    let logs = configuration.logs.destinations();
    require_no_programs(configuration, &logs)?;
    let mut paths = Vec::new();
    for ServedFolder { path, is_written, links_leave, .. } in &configuration.folders {
        if *links_leave {
            return Err(Reason::Links(path.clone()));
        }
        paths.extend(places_of(path, FileAccess::Read)?);
        if *is_written {
            // The folder as such: what is put in its place later can be read only, until a reload.
            paths.extend(existing(path)?.map(|path| AllowedPath { path, access: FileAccess::Change }));
        }
    }
    for path in &configuration.renewed_files {
        paths.extend(places_of(path, FileAccess::Read)?);
    }
    for log in logs {
        if let Destination::File(path) = log {
            paths.extend(places_of(path, FileAccess::Write)?);
        }
    }
    // They exist: as root, they were created a moment ago. Their files are listed and synchronized with their folder,
    // and a folder in them that somebody has removed is created again.
    for folder in own_folders(configuration, folders) {
        let path = existing(&folder)?.unwrap_or(folder);
        paths.push(AllowedPath { path, access: FileAccess::Change });
    }
    if looks_names_up(configuration) {
        for path in NAMES {
            paths.extend(places_of(path.as_ref(), FileAccess::Read)?);
        }
        paths.push(AllowedPath { path: INTERFACES.into(), access: FileAccess::Read });
    }
    if !configuration.upstreams.is_empty() || configuration.docker.is_some() {
        // Where bodies are spooled; a folder as such, which nobody replaces.
        let path = existing(&env::temp_dir())?.ok_or(Reason::TemporaryFolder)?;
        paths.push(AllowedPath { path, access: FileAccess::Write });
    }
    if configuration.server.listen_options.share {
        paths.push(AllowedPath { path: LISTENERS.into(), access: FileAccess::Read });
    }
    paths.extend(RANDOMNESS.map(|path| AllowedPath { path: PathBuf::from(path), access: FileAccess::Read }));
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// The folders that belong to the server alone: certificates, these, stored responses.
fn own_folders(configuration: &Configuration, folders: &[&Path]) -> impl Iterator<Item = PathBuf> {
    let certificates = certificates::acme_settings(&configuration.server).ok().flatten();
    let certificates = certificates.and_then(|certificates| match certificates.store {
        StoreSettings::Directory(folder) => Some(folder),
        StoreSettings::Redis(redis) => redis.copy().filter(|folder| folder.exists()),
    });
    let cache = configuration.cache.as_ref().and_then(CacheStore::folder).map(|folder| folder.path.clone());
    certificates.into_iter().chain(folders.iter().map(|folder| (*folder).to_owned())).chain(cache)
}

/// Whether the server connects to others whose names it has to look up.
fn looks_names_up(configuration: &Configuration) -> bool {
    let Configuration { server, access, upstreams, docker, .. } = configuration;
    let AccessControl { fleet, logins, remote_keys, .. } = access;
    server.acme.is_some()
        || fleet.is_some()
        || !logins.is_empty()
        || !remote_keys.is_empty()
        || !upstreams.is_empty()
        || docker.is_some()
}

/// Programs have to reach files of their own.
fn require_no_programs(configuration: &Configuration, logs: &[&Destination]) -> Result<(), Reason> {
    if configuration.sandbox == SandboxChoice::Off {
        return Err(Reason::Settings);
    }
    if !configuration.applications.is_empty() {
        return Err(Reason::Applications);
    }
    if configuration.has_cgi {
        return Err(Reason::Cgi);
    }
    if configuration.server.acme.as_ref().is_some_and(AcmePlan::runs_program) {
        return Err(Reason::DnsCommand);
    }
    let reason = logs.iter().find_map(|log| match log {
        Destination::Command(_) => Some(Reason::LogCommand),
        Destination::Syslog(address) if address.has_name() => Some(Reason::SyslogName),
        _ => None,
    });
    reason.map_or(Ok(()), Err)
}

impl From<PlaceError> for Reason {
    fn from(error: PlaceError) -> Self {
        Self::Place(error)
    }
}

impl fmt::Display for SandboxState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On(restriction, _) => restriction.fmt(f),
            Self::Off(reason) => write!(f, "off: {reason}"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings => f.write_str("the settings say so"),
            Self::OtherCommand => f.write_str("only 'serow run' has one"),
            Self::Applications => f.write_str("applications run programs"),
            Self::Cgi => f.write_str("CGI programs run"),
            Self::DnsCommand => f.write_str("a program changes DNS records"),
            Self::LogCommand => f.write_str("the access log runs a command"),
            Self::SyslogName => f.write_str("the name of the syslog server is resolved by libraries of the system"),
            Self::Links(path) => write!(f, "symbolic links may lead out of {} (`symlinks`)", path.display()),
            Self::TemporaryFolder => f.write_str("the folder for spooled bodies (TMPDIR) does not exist"),
            Self::Place(error) => error.fmt(f),
            Self::Kernel(unrestricted) => unrestricted.fmt(f),
        }
    }
}

/// Files in which names are looked up, each time (`NameSettings` of the proxy); other programs replace them.
const NAMES: [&str; 2] = ["/etc/resolv.conf", "/etc/hosts"];

/// Where `/sys/class/net` leads, for the number of an interface behind a `%` in resolv.conf.
const INTERFACES: &str = "/sys/devices";

/// Where `self/net/tcp` says who else listens on a port that is shared, which a generation that leaves it has to know.
/// All of /proc: the folder of a process is another object whenever the kernel has forgotten it.
const LISTENERS: &str = "/proc";

/// Files that AWS-LC may open at any time where getrandom(2) is not enough: its source of randomness, and the device
/// that says whether a virtual machine was copied.
const RANDOMNESS: [&str; 2] = ["/dev/urandom", "/dev/sysgenid"];
