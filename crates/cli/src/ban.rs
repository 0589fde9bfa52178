//! `serow ban`: lists, adds and lifts the bans of a running server.

use serow_admin::{BanAction, BanCommand};

use crate::{
    admin_client::{admin_client, print},
    arguments::{BanAddArguments, BanArguments, BanListArguments, BanRemoveArguments, BanSubcommand},
    command_error::CommandError,
};

/// Runs the command, and prints what the server answers.
pub(crate) fn run(arguments: BanArguments) -> Result<(), CommandError> {
    match arguments.command {
        BanSubcommand::List(BanListArguments { json, client }) => {
            let client = admin_client(&client)?;
            print(if json { client.bans() } else { client.ban_table() })
        }
        BanSubcommand::Add(BanAddArguments { address, length, reason, fleet, client }) => {
            // Less than a second is one.
            let seconds = Some(length.0.as_secs().max(1));
            let command = BanCommand { ban: BanAction::Add, client: address.to_string(), seconds, reason };
            print(admin_client(&client)?.for_fleet(fleet.fleet).change_ban(&command))
        }
        BanSubcommand::Remove(BanRemoveArguments { address, fleet, client }) => {
            let command =
                BanCommand { ban: BanAction::Remove, client: address.to_string(), seconds: None, reason: None };
            print(admin_client(&client)?.for_fleet(fleet.fleet).change_ban(&command))
        }
    }
}
