//! `serow maintenance`: begins and ends maintenance of a running server.

use serow_admin::{MaintenanceCommand, MaintenanceState};

use crate::{
    admin_client::{admin_client, print},
    arguments::{MaintenanceArguments, MaintenanceOffArguments, MaintenanceOnArguments, MaintenanceSubcommand},
    command_error::CommandError,
};

/// Runs the command, and prints what the server answers.
pub(crate) fn run(arguments: MaintenanceArguments) -> Result<(), CommandError> {
    let (command, fleet, client) = match arguments.command {
        MaintenanceSubcommand::On(MaintenanceOnArguments { retry_after, allow, fleet, client }) => {
            let seconds = u32::try_from(retry_after.0.as_secs()).unwrap_or(u32::MAX);
            let allow = allow.iter().map(ToString::to_string).collect();
            (MaintenanceCommand { maintenance: MaintenanceState::On, retry_after: Some(seconds), allow }, fleet, client)
        }
        MaintenanceSubcommand::Off(MaintenanceOffArguments { fleet, client }) => (
            MaintenanceCommand { maintenance: MaintenanceState::Off, retry_after: None, allow: Vec::new() },
            fleet,
            client,
        ),
    };
    print(admin_client(&client)?.for_fleet(fleet.fleet).change_maintenance(&command))
}
