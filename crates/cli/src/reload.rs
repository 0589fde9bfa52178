//! `serow reload`: makes a running server read its settings file again.

use serow_supervisor::master::WantedProcess;

use crate::{
    admin_client::{admin_client, print},
    arguments::ReloadArguments,
    command_error::CommandError,
};

/// Reloads a running server, and waits until it has.
pub(crate) fn run(arguments: &ReloadArguments) -> Result<(), CommandError> {
    let process = if arguments.new_process { WantedProcess::New } else { WantedProcess::IfNeeded };
    print(admin_client(&arguments.client)?.reload(process))
}
