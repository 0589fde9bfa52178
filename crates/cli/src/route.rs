//! `serow route`: adds, removes and lists routes of a running server that no settings file has.
//!
//! The routes of a host are in an added file that is named after it.

mod listing_table;

use std::{error::Error, fmt};

use serow_admin::{AddedFileName, AdminClient, Precondition};
use serow_route_settings::{FileChange, RouteAddress, RouteError, RouteListing, add_route, remove_route};

use crate::{
    admin_client::{admin_client, print},
    arguments::{RouteAddArguments, RouteArguments, RouteListArguments, RouteRemoveArguments, RouteSubcommand},
    command_error::CommandError,
};

/// The added file with this name was changed at the same time, again and again.
#[derive(Debug)]
struct BusyFileError(AddedFileName);

/// Runs the command, and prints what the server answers.
pub(crate) fn run(arguments: RouteArguments) -> Result<(), CommandError> {
    match arguments.command {
        RouteSubcommand::Add(RouteAddArguments { address, target, fleet, client }) => {
            let client = admin_client(&client)?.for_fleet(fleet.fleet);
            print(Ok(change(&client, &address, |text| add_route(text, &address, &target))?))
        }
        RouteSubcommand::Remove(RouteRemoveArguments { address, fleet, client }) => {
            let client = admin_client(&client)?.for_fleet(fleet.fleet);
            print(Ok(change(&client, &address, |text| remove_route(text, &address))?))
        }
        RouteSubcommand::List(RouteListArguments { json, client }) => {
            let listing = listing(&admin_client(&client)?)?;
            print(Ok(if json { listing.json() } else { listing_table::text(&listing) }))
        }
    }
}

/// Changes the added file of the host, again from the beginning if somebody else changes it meanwhile.
fn change(
    client: &AdminClient,
    address: &RouteAddress,
    edit: impl Fn(Option<&str>) -> Result<FileChange, RouteError>,
) -> Result<String, CommandError> {
    let name = address.file();
    for _ in 0..MAX_TRIES {
        let (text, version) = match client.added_file(name)? {
            Some(file) => (Some(file.text), Precondition::Version(vec![file.etag])),
            None => (None, Precondition::Absent),
        };
        let outcome = match (edit(text.as_deref())?, text) {
            // Other servers may have another text.
            (FileChange::Nothing, Some(text)) if client.is_for_fleet() => {
                client.put_added_file(name, text, version).map(|stored| stored.message)
            }
            (FileChange::Nothing, _) => return Ok(format!("{address} leads there already\n")),
            (FileChange::Put(text), _) => client.put_added_file(name, text, version).map(|stored| stored.message),
            (FileChange::Delete, _) => client.delete_added_file(name, version),
        };
        match outcome {
            Err(error) if error.is_conflict() || error.is_no_added_file() => {}
            outcome => return Ok(outcome?),
        }
    }
    Err(CommandError::Failed(Box::new(BusyFileError(name.clone()))))
}

/// The routes of all added files of a server.
fn listing(client: &AdminClient) -> Result<RouteListing, CommandError> {
    let mut listing = RouteListing::default();
    for listed in client.added_file_list()? {
        // One that was removed meanwhile has no routes.
        if let Some(file) = client.added_file(&listed.name)? {
            listing.push(listed.name, &file.text);
        }
    }
    Ok(listing)
}

impl fmt::Display for BusyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the added file {} changes all the time: try again", self.0)
    }
}

impl Error for BusyFileError {}

impl From<RouteError> for CommandError {
    fn from(error: RouteError) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// Scripts that deploy at the same moment change the file of a host one after the other; whoever meets more of them has
/// met a program that does not stop.
const MAX_TRIES: u32 = 5;
