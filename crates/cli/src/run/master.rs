//! The process that holds the sockets.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use serde::Deserialize;
use serde_json::Value;
use serow::Address;
use serow_admin::{
    AddedSettings, AdminEndpoint, ChangeRefusal, MaintenanceCommand, ServerCommand, SettingsChange,
    SharedAddedSettings, Subject,
};
use serow_config::{Source, values::AdminAddress};
use serow_net::process::forbid_tracing;
use serow_scripts::DICTIONARY_BYTES;
use serow_supervisor::master::{self, AdminPlace, Control, Duties, MasterError, MasterSettings};
use tracing::level_filters::LevelFilter;

use super::program;
use crate::{
    announcement, arguments::RunArguments, command_error::CommandError, descriptors, error_log, runtime_folder,
    state_folder,
};

/// Runs generations of what the file says.
pub(super) fn run(arguments: RunArguments) -> Result<(), CommandError> {
    error_log::begin(LevelFilter::INFO);
    forbid_tracing().map_err(CommandError::system)?;
    descriptors::require(descriptors::OF_MASTER)?;
    let RunArguments { settings, pid_file, .. } = arguments;
    let file = std::path::absolute(settings.file).map_err(CommandError::system)?;
    // Before signals are caught: a pipe may keep this waiting, and Ctrl-C is to end that.
    let first = Some(serow_config::bytes(&file, Source::Any));
    let program = program::path().map_err(CommandError::system)?;
    let folder = state_folder::of_added_settings(&file);
    let added = AddedSettings::open(folder).map_err(|error| {
        CommandError::report(format!("the settings files that were added to this server cannot be read: {error}"))
    })?;
    let duties = Household { program, file, first, endpoint: None, added: SharedAddedSettings::new(added) };
    master::run(&MasterSettings { pid_file, shared_memory: DICTIONARY_BYTES }, duties).map_err(|error| match error {
        MasterError::NotStarted(reason) => CommandError::report(reason),
        MasterError::PidFile(error) => CommandError::from(error),
        MasterError::System(error) => CommandError::system(error),
    })
}

/// The duties of the master that are Serow's own.
struct Household {
    program: PathBuf,
    file: PathBuf,
    /// The content of the file at the start, until it is used.
    first: Option<Result<Vec<u8>, String>>,
    /// The admin endpoint, while it is open.
    endpoint: Option<AdminEndpoint>,
    /// The settings files that were added.
    added: SharedAddedSettings,
}

impl Duties for Household {
    fn settings(&mut self) -> Result<Vec<u8>, String> {
        let bytes = self.first.take().unwrap_or_else(|| serow_config::bytes(&self.file, Source::File))?;
        Ok(serow_config::bundle(&self.file, bytes, self.added.lock().texts()))
    }

    fn propose(&mut self, change: &Value) -> Result<(), Value> {
        let invalid = |error: serde_json::Error| ChangeRefusal::Invalid(error.to_string());
        let proposed = SettingsChange::deserialize(change).map_err(invalid);
        let proposed = proposed.and_then(|change| self.added.lock().propose(change));
        proposed.map_err(|refusal| serde_json::to_value(refusal).unwrap_or_default())
    }

    fn keep(&mut self) -> Result<Value, String> {
        self.added.lock().keep()
    }

    fn withdraw(&mut self) {
        self.added.lock().withdraw();
    }

    fn command(&mut self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("run").arg("--config").arg(&self.file).arg("--generation");
        command
    }

    fn open_admin_socket(&mut self, place: &AdminPlace, token: Option<&str>, control: &Control) -> Result<(), String> {
        let address = match place {
            AdminPlace::Off => None,
            AdminPlace::At(address) => {
                Some(address.parse::<AdminAddress>().map_err(|error| format!("admin: {error}"))?)
            }
            AdminPlace::Default => default_address(&self.file),
        };
        let subject = || Subject::Master { control: control.clone(), added: self.added.clone() };
        let opened = match (&self.endpoint, &address) {
            (Some(endpoint), Some(address)) if endpoint.is_at(address) => {
                endpoint.change_token(token);
                return Ok(());
            }
            (_, None) => None,
            (_, Some(address)) => match AdminEndpoint::open(address, token, subject()) {
                Ok(endpoint) => Some(endpoint),
                Err(error) if *place == AdminPlace::Default => {
                    warn_of_no_socket(&error);
                    None
                }
                Err(error) => return Err(format!("admin: {}", error.to_string().replace("--admin", "admin"))),
            },
        };
        if let Some(old) = std::mem::replace(&mut self.endpoint, opened) {
            // A client that requested this through the old endpoint waits for a response from this thread, so another
            // thread closes the endpoint.
            thread::spawn(move || drop(old));
        }
        Ok(())
    }

    fn announce(&self, announcement: &str) {
        announcement::announce(announcement);
    }

    fn remember(&self, remembered: &mut Vec<Value>, command: &Value) {
        if let Ok(command) = MaintenanceCommand::deserialize(command) {
            command.remember(remembered);
        } else if let Ok(command) = ServerCommand::deserialize(command) {
            command.remember(remembered);
        }
    }

    fn add(&self, total: &mut Value, report: &Value) {
        serow_admin::add_ended(total, report);
    }
}

/// Where clients look for the server of this settings file, if there is a folder for its socket.
fn default_address(file: &Path) -> Option<AdminAddress> {
    match runtime_folder::create() {
        Ok(Some(folder)) => Some(AdminAddress(Address::Unix(folder.join(runtime_folder::socket_name(file))))),
        Ok(None) => {
            tracing::info!(
                "there is no admin socket, since neither RUNTIME_DIRECTORY nor XDG_RUNTIME_DIR is set: for serow status \
                 and reload, write `admin`, as in admin = \"unix:admin.sock\""
            );
            None
        }
        Err(error) => {
            warn_of_no_socket(&error);
            None
        }
    }
}

/// A server without settings for the socket serves without one as well.
fn warn_of_no_socket(error: &dyn fmt::Display) {
    tracing::warn!(
        "the admin socket is not open, so serow status and reload do not work: {error}; write another place, as in \
         admin = \"unix:admin.sock\", or admin = \"off\""
    );
}
