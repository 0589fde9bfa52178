//! `serow reload`: makes a running server read its settings file again.

use crate::{
    admin_client::{admin_client, print},
    arguments::AdminClientArguments,
    command_error::CommandError,
};

/// Reloads a running server, and waits until it has.
pub(crate) fn run(arguments: &AdminClientArguments) -> Result<(), CommandError> {
    print(admin_client(arguments)?.reload())
}
