//! `serow maintenance`: begins and ends maintenance of a running server.

use serow_admin::{MaintenanceCommand, MaintenanceState};

use crate::{
    admin_client::{admin_client, print},
    arguments::{MaintenanceArguments, MaintenanceOnArguments, MaintenanceSubcommand},
    command_error::CommandError,
};

/// Runs the command, and prints what the server answers.
pub(crate) fn run(arguments: MaintenanceArguments) -> Result<(), CommandError> {
    let (command, client) = match arguments.command {
        MaintenanceSubcommand::On(MaintenanceOnArguments { retry_after, allow, client }) => {
            let seconds = u32::try_from(retry_after.0.as_secs()).unwrap_or(u32::MAX);
            let allow = allow.iter().map(ToString::to_string).collect();
            (MaintenanceCommand { maintenance: MaintenanceState::On, retry_after: Some(seconds), allow }, client)
        }
        MaintenanceSubcommand::Off(client) => {
            (MaintenanceCommand { maintenance: MaintenanceState::Off, retry_after: None, allow: Vec::new() }, client)
        }
    };
    print(admin_client(&client)?.change_maintenance(&command))
}
