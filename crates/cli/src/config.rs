//! `serow config`: lists, prints, adds and removes the added settings files of a running server.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use serow_admin::Precondition;

use crate::{
    admin_client::{admin_client, print},
    arguments::{
        ConfigArguments, ConfigDeleteArguments, ConfigGetArguments, ConfigListArguments, ConfigPutArguments,
        ConfigSubcommand,
    },
    command_error::CommandError,
};

/// Runs the command, and prints what the server answers.
pub(crate) fn run(arguments: ConfigArguments) -> Result<(), CommandError> {
    match arguments.command {
        ConfigSubcommand::List(ConfigListArguments { json, client }) => {
            let client = admin_client(&client)?;
            print(if json { client.added_files() } else { client.added_file_table() })
        }
        ConfigSubcommand::Get(ConfigGetArguments { name, client }) => {
            let client = admin_client(&client)?;
            let file = client.added_file(&name)?;
            print(file.map(|file| file.text).ok_or_else(|| client.no_added_file(&name)))
        }
        ConfigSubcommand::Put(ConfigPutArguments { name, file, new, etag, fleet, client }) => {
            let text = text_of(&file)?;
            let precondition = match (new, etag) {
                (true, _) => Precondition::Absent,
                (false, etag) => version(etag),
            };
            let stored = admin_client(&client)?.for_fleet(fleet.fleet).put_added_file(&name, text, precondition);
            print(stored.map(|stored| stored.message))
        }
        ConfigSubcommand::Delete(ConfigDeleteArguments { name, etag, fleet, client }) => {
            print(admin_client(&client)?.for_fleet(fleet.fleet).delete_added_file(&name, version(etag)))
        }
    }
}

/// The text of a file, or of standard input.
fn text_of(file: &Path) -> Result<String, CommandError> {
    let (name, read) = match file.to_str() {
        Some("-") => {
            let mut text = String::new();
            ("standard input".to_owned(), io::stdin().read_to_string(&mut text).map(|_| text))
        }
        _ => (file.display().to_string(), fs::read_to_string(file)),
    };
    read.map_err(|error| CommandError::Usage(format!("cannot read {name}: {error}")))
}

/// The version that a user names; a shell removes the quotes of an ETag (RFC 9110 §8.8.3).
fn version(etag: Option<String>) -> Precondition {
    match etag {
        None => Precondition::None,
        Some(etag) if etag.ends_with('"') => Precondition::Version(vec![etag]),
        Some(etag) => Precondition::Version(vec![format!("\"{etag}\"")]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_need_no_quotes() {
        for (written, expected) in [("abc", "\"abc\""), ("\"abc\"", "\"abc\""), ("W/\"abc\"", "W/\"abc\"")] {
            assert_eq!(version(Some(written.to_owned())), Precondition::Version(vec![expected.to_owned()]));
        }
        assert_eq!(version(None), Precondition::None);
    }
}
