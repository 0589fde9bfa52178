//! Requests to the admin endpoint that are meant for all servers of a fleet.

use serow::{Request, Response};
use serow_net::time;

use super::{
    added_settings::Precondition,
    audit::Command,
    config_pages,
    fleet_command::{FleetCommand, FleetOutcome, FleetRequest},
    pages::answer,
    subject::Subject,
};

/// Whether a request is meant for the fleet, or what is wrong with its query.
pub(super) fn is_meant(request: &Request) -> Result<bool, &'static str> {
    match request.target.query() {
        None | Some("") => Ok(false),
        Some("fleet") => Ok(true),
        Some(_) => Err("write ?fleet for all servers that share [redis], or nothing for this one"),
    }
}

/// The same command for the fleet, or why there is none.
pub(super) fn for_fleet(command: Command) -> Result<Command, String> {
    let command = match command {
        Command::Maintenance(command) => FleetCommand::Maintenance(command),
        Command::Server(command) => FleetCommand::Server(command),
        Command::Purge(command) => FleetCommand::Purge(command),
        Command::Ban(command) => FleetCommand::ban(command, time::seconds_since_1970()),
        _ => return Err("?fleet is not for this command: send it to each server".to_owned()),
    };
    Ok(Command::Fleet(command))
}

/// Has the fleet execute a command, and answers the request.
pub(super) async fn execute(subject: &Subject, command: FleetCommand, precondition: Precondition) -> Response {
    let request = FleetRequest { fleet: command, precondition };
    match subject.apply_to_fleet(&request).await {
        Ok(FleetOutcome::Done { done, fleet }) => answer("text/plain; charset=utf-8", Ok(format!("{done}\n{fleet}\n"))),
        Ok(FleetOutcome::Changed { changed, fleet }) => config_pages::changed(Ok(changed), &format!("{fleet}\n")),
        Ok(FleetOutcome::NotChanged(error)) => config_pages::changed(Err(error), ""),
        Err(refused) => answer("text/plain; charset=utf-8", Err(refused)),
    }
}
