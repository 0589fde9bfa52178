//! The client of the admin endpoint that the options name.

use std::io::{self, Write};

use serow::Address;
use serow_admin::{AdminClient, AdminClientError};

use crate::{arguments::AdminClientArguments, command_error::CommandError};

/// A client of the admin endpoint that the options name, directly or by the settings file of the server.
pub(crate) fn admin_client(arguments: &AdminClientArguments) -> Result<AdminClient, CommandError> {
    let (address, token_file) = match (&arguments.admin, &arguments.config) {
        (Some(address), _) => (address.clone(), None),
        (None, Some(file)) => match serow_config::admin_settings(file)? {
            Some(settings) => (settings.address.0, settings.token_file),
            None => {
                let file = file.display();
                return Err(CommandError::Usage(format!(
                    "{file} has no `admin`: add one, as in admin = {DEFAULT_ADDRESS:?}"
                )));
            }
        },
        (None, None) => (Address::Unix(DEFAULT_ADDRESS.trim_start_matches("unix:").into()), None),
    };
    let token_file = arguments.admin_token_file.clone().or(token_file);
    let token = token_file.map(|file| serow_settings::admin_token::read(&file)).transpose();
    let token = token.map_err(|reason| CommandError::Usage(format!("--admin-token-file: {reason}")))?;
    Ok(AdminClient::new(address, token))
}

/// Prints what the server answered.
pub(crate) fn print(answer: Result<String, AdminClientError>) -> Result<(), CommandError> {
    io::stdout().write_all(answer?.as_bytes()).map_err(CommandError::output)
}

/// The admin socket of a server that the system starts.
const DEFAULT_ADDRESS: &str = "unix:/run/serow/admin.sock";
