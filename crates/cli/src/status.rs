//! `serow status`: prints the status of a running server.

use crate::{
    admin_client::{admin_client, print},
    arguments::ServerStatusArguments,
    command_error::CommandError,
};

/// Prints the status of a running server or its fleet, as lines or as JSON.
pub(crate) fn run(ServerStatusArguments { fleet, status }: &ServerStatusArguments) -> Result<(), CommandError> {
    let client = admin_client(&status.client)?;
    print(match (fleet, status.json) {
        (false, false) => client.summary(),
        (false, true) => client.status(),
        (true, false) => client.fleet_table(),
        (true, true) => client.fleet(),
    })
}
