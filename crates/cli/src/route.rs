//! `serow route`: adds, removes and lists routes of a running server that no settings file has.
//!
//! The routes of a host are in an added file that is named after it.

mod address;
mod document;
mod error;
mod listing;
mod site;
mod target;

use serow_admin::{AdminClient, FilePrecondition};

pub(crate) use self::{address::RouteAddress, error::RouteError, target::RouteTarget};
use self::{document::RouteDocument, listing::RouteListing};
use crate::{
    admin_client::{admin_client, print},
    arguments::{RouteAddArguments, RouteArguments, RouteListArguments, RouteRemoveArguments, RouteSubcommand},
    command_error::CommandError,
};

/// A change of the added file of a host.
#[derive(Debug, PartialEq, Eq)]
enum FileChange {
    /// It has the route already.
    Nothing,
    /// It gets this text.
    Put(String),
    /// It has no content any more.
    Delete,
}

/// Runs the command, and prints what the server answers.
pub(crate) fn run(arguments: RouteArguments) -> Result<(), CommandError> {
    match arguments.command {
        RouteSubcommand::Add(RouteAddArguments { address, target, client }) => {
            let client = admin_client(&client)?;
            let add = |text: Option<&str>| {
                let mut document = RouteDocument::parse(text.unwrap_or_default(), &address)?;
                document.add(&address, &target)?;
                Ok(document.change(text))
            };
            print(Ok(change(&client, &address, add)?))
        }
        RouteSubcommand::Remove(RouteRemoveArguments { address, client }) => {
            let client = admin_client(&client)?;
            let remove = |text: Option<&str>| {
                let mut document = RouteDocument::parse(text.unwrap_or_default(), &address)?;
                document.remove(&address)?;
                Ok(document.change(text))
            };
            print(Ok(change(&client, &address, remove)?))
        }
        RouteSubcommand::List(RouteListArguments { json, client }) => {
            let listing = RouteListing::read(&admin_client(&client)?)?;
            print(Ok(if json { listing.json() } else { listing.table() }))
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
            Some(file) => (Some(file.text), FilePrecondition::Version(file.etag)),
            None => (None, FilePrecondition::Absent),
        };
        let outcome = match edit(text.as_deref())? {
            FileChange::Nothing => return Ok(format!("{address} leads there already\n")),
            FileChange::Put(text) => client.put_added_file(name, text, version).map(|stored| stored.message),
            FileChange::Delete => client.delete_added_file(name, version),
        };
        match outcome {
            Err(error) if error.is_conflict() || error.is_no_added_file() => {}
            outcome => return Ok(outcome?),
        }
    }
    Err(RouteError::Busy(name.to_string()).into())
}

/// Scripts that deploy at the same moment change the file of a host one after the other; whoever meets more of them has
/// met a program that does not stop.
const MAX_TRIES: u32 = 5;
