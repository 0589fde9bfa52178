//! The client of the admin endpoint that the options name.

use std::{
    io::{self, Write},
    path::Path,
};

use serow::Address;
use serow_admin::{AdminClient, AdminClientError};
use serow_config::values::{AdminAddress, AdminSocket};

use crate::{
    arguments::{AdminClientArguments, DEFAULT_SETTINGS_FILE},
    command_error::CommandError,
    runtime_folder,
};

/// A client of the admin endpoint that the options name, directly or by the settings file of the server.
pub(crate) fn admin_client(arguments: &AdminClientArguments) -> Result<AdminClient, CommandError> {
    let token = |file: Option<&Path>| {
        let token = file.map(serow_assembly::admin_token::read).transpose();
        token.map_err(|reason| CommandError::Usage(format!("--admin-token-file: {reason}")))
    };
    let token_file = arguments.admin_token_file.as_deref();
    let default_file = Path::new(DEFAULT_SETTINGS_FILE);
    let file = match (&arguments.admin, &arguments.config) {
        (Some(address), _) => return Ok(AdminClient::new(address.clone(), token(token_file)?)),
        (None, Some(file)) => file,
        (None, None) if default_file.exists() => default_file,
        (None, None) => {
            let place = runtime_folder::places(runtime_folder::SYSTEM_SOCKET).find(|place| place.exists());
            let place = place.unwrap_or_else(runtime_folder::system_socket);
            return Ok(AdminClient::new(Address::Unix(place), token(token_file)?));
        }
    };
    let settings = serow_config::admin_settings(file)?;
    match settings.socket {
        Some(AdminSocket::At(AdminAddress(address))) => {
            Ok(AdminClient::new(address, token(token_file.or(settings.token_file.as_deref()))?))
        }
        Some(AdminSocket::Off) => Err(CommandError::Usage(format!(
            "{} has admin = \"off\": remove it and restart the server, or use signals: HUP reloads, TERM stops",
            file.display()
        ))),
        None => of_settings_file(file),
    }
}

/// A client for the server of a settings file that does not name the socket.
fn of_settings_file(file: &Path) -> Result<AdminClient, CommandError> {
    let absolute = std::path::absolute(file).map_err(CommandError::system)?;
    // The server may have been started by another name of the file.
    let canonical = file.canonicalize().ok().filter(|canonical| *canonical != absolute);
    let names =
        [Some(&absolute), canonical.as_ref()].into_iter().flatten().map(|file| runtime_folder::socket_name(file));
    let places = names.flat_map(|name| runtime_folder::places(&name).collect::<Vec<_>>()).collect();
    Ok(AdminClient::of_settings_file(file.to_owned(), places))
}

/// Prints what the server answered.
pub(crate) fn print(answer: Result<String, AdminClientError>) -> Result<(), CommandError> {
    io::stdout().write_all(answer?.as_bytes()).map_err(CommandError::output)
}
