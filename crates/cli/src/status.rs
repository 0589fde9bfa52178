//! `serow status`: prints the status of a running server.

use crate::{
    admin_client::{admin_client, print},
    arguments::StatusArguments,
    command_error::CommandError,
};

/// Prints the status of a running server, as lines or as JSON.
pub(crate) fn run(arguments: &StatusArguments) -> Result<(), CommandError> {
    let client = admin_client(&arguments.client)?;
    print(if arguments.json { client.status() } else { client.summary() })
}
