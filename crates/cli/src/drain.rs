//! `serow drain`: stops a running server gracefully, or drains a server of one of its upstreams.

use serow_admin::Action;

use crate::{
    admin_client::{admin_client, print},
    arguments::{DrainArguments, ServerCommandArguments},
    command_error::CommandError,
    upstream_server,
};

/// Stops a running server gracefully, or drains a server of one of its upstreams.
pub(crate) fn run(arguments: DrainArguments) -> Result<(), CommandError> {
    let DrainArguments { upstream, server, persist, client } = arguments;
    match (upstream, server) {
        (Some(upstream), Some(server)) => {
            let arguments = ServerCommandArguments { upstream, server, persist, client };
            upstream_server::run(arguments, Action::Drain, None)
        }
        _ if persist.persist => {
            Err(CommandError::Usage("--persist is for a server of an upstream: name both, or leave it out".to_owned()))
        }
        _ => print(admin_client(&client)?.drain()),
    }
}
