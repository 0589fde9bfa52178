//! `serow purge`: removes responses from the cache of a running server.

use serow_admin::{PurgeCommand, PurgedResponses};

use crate::{
    admin_client::{admin_client, print},
    arguments::PurgeArguments,
    command_error::CommandError,
};

/// Runs the command, and prints what the server answers to each part of it.
pub(crate) fn run(arguments: PurgeArguments) -> Result<(), CommandError> {
    let PurgeArguments { urls, prefixes, tags, all, soft, fleet, client } = arguments;
    let urls = urls.into_iter().map(PurgedResponses::Url);
    let prefixes = prefixes.into_iter().map(PurgedResponses::Prefix);
    let tags = tags.into_iter().map(PurgedResponses::Tag);
    let all = all.then_some(PurgedResponses::All);
    let parts = urls.chain(prefixes).chain(tags).chain(all);
    let commands: Vec<_> = parts.map(|purge| PurgeCommand { purge, soft }).collect();
    // All or nothing: nothing is purged if one of them is wrong.
    commands.iter().try_for_each(PurgeCommand::check).map_err(CommandError::Usage)?;
    let client = admin_client(&client)?.for_fleet(fleet.fleet);
    commands.iter().try_for_each(|command| print(client.purge(command)))
}
