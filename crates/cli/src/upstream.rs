//! `serow upstream`: lists and changes the servers of an upstream while the server runs.

use serow_admin::{Action, ServerCommand};
use serow_config::values::Count;

use crate::{
    admin_client::{admin_client, print},
    arguments::{ServerChangeArguments, UpstreamCommand, UpstreamCommandArguments, UpstreamListArguments},
    command_error::CommandError,
};

/// Runs the command, and prints what the server answers.
pub(crate) fn run(arguments: UpstreamCommandArguments) -> Result<(), CommandError> {
    match arguments.command {
        UpstreamCommand::List(arguments) => list(&arguments),
        UpstreamCommand::Up(change) => send(change, Action::Up, None),
        UpstreamCommand::Down(change) => send(change, Action::Down, None),
        UpstreamCommand::Drain(change) => send(change, Action::Drain, None),
        UpstreamCommand::Weight(arguments) => send(arguments.change, Action::Weight, Some(arguments.weight)),
        UpstreamCommand::Add(change) => send(change, Action::Add, None),
        UpstreamCommand::Remove(change) => send(change, Action::Remove, None),
    }
}

fn list(arguments: &UpstreamListArguments) -> Result<(), CommandError> {
    let client = admin_client(&arguments.client)?;
    let name = arguments.name.as_deref();
    print(if arguments.json { client.upstreams(name) } else { client.upstream_table(name) })
}

fn send(change: ServerChangeArguments, action: Action, weight: Option<Count<1, 65_535>>) -> Result<(), CommandError> {
    let ServerChangeArguments { name, server, persistence, fleet, client } = change;
    let weight = weight.and_then(|weight| u16::try_from(weight.get()).ok());
    let command = ServerCommand { upstream: name, server, action, weight, persist: persistence.persist };
    print(admin_client(&client)?.for_fleet(fleet.fleet).change_server(&command))
}
