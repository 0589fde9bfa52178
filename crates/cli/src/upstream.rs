//! `serow upstream`: lists and changes the servers of an upstream while it runs.

use crate::{
    admin::{self, Action, Wish},
    arguments::{ServerChangeArguments, UpstreamCommand, UpstreamCommandArguments},
    failure::Failure,
    written::Count,
};

/// Runs the command, and prints what the server answers.
pub(crate) fn run(arguments: UpstreamCommandArguments) -> Result<(), Failure> {
    match arguments.command {
        UpstreamCommand::List(arguments) => admin::list_upstreams(&arguments),
        UpstreamCommand::Up(change) => send(change, Action::Up, None),
        UpstreamCommand::Down(change) => send(change, Action::Down, None),
        UpstreamCommand::Drain(change) => send(change, Action::Drain, None),
        UpstreamCommand::Weight(arguments) => send(arguments.change, Action::Weight, Some(arguments.weight)),
        UpstreamCommand::Add(change) => send(change, Action::Add, None),
        UpstreamCommand::Remove(change) => send(change, Action::Remove, None),
    }
}

fn send(change: ServerChangeArguments, action: Action, weight: Option<Count<1, 65_535>>) -> Result<(), Failure> {
    let ServerChangeArguments { name, server, persistence, admin_socket } = change;
    let weight = weight.and_then(|weight| u16::try_from(weight.get()).ok());
    let command = Wish { upstream: name, server, action, weight, persist: persistence.persist };
    admin::change_server(&command, &admin_socket)
}
