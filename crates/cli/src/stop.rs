//! `serow stop`: stops a running server gracefully, and waits until it has ended.

use std::{thread, time::Duration};

use serow_net::time;

use crate::{
    admin_client::{admin_client, print},
    arguments::StopArguments,
    command_error::CommandError,
};

/// Stops a running server, and waits until it has ended.
pub(crate) fn run(arguments: &StopArguments) -> Result<(), CommandError> {
    let client = admin_client(&arguments.client)?;
    let server = client.identity().ok();
    print(client.stop())?;
    let timeout = arguments.timeout.0;
    let deadline = time::now() + timeout;
    while !timeout.is_zero() && client.is_running(server) {
        if time::now() >= deadline {
            let address = client.address();
            return Err(CommandError::Failed(
                format!(
                    "the server at {address} still runs: 'serow status --admin {address}' shows what is in progress; \
                     wait longer with --timeout, or shorten the --grace of the server"
                )
                .into(),
            ));
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Soon enough for a script, and nothing beside a graceful stop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
