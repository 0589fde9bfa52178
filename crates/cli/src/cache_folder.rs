//! The folder in which stored responses outlive the process.

use serow_site::{CacheStore, CacheWriter, prepare_folder};

use crate::command_error::CommandError;

/// Creates the folder of a store, if it has one, for this user and group.
pub(crate) fn prepare(store: Option<&CacheStore>, owner: Option<(u32, Option<u32>)>) -> Result<(), CommandError> {
    match store.and_then(CacheStore::folder) {
        Some(folder) => {
            prepare_folder(&folder.path, owner).map_err(|error| CommandError::Usage(format!("cache: {error}")))
        }
        None => Ok(()),
    }
}

/// Begins to keep responses in the folder, until what this returns is dropped. All processes of a server have its number.
pub(crate) fn keep(store: Option<&CacheStore>, server: u32) -> Result<Option<CacheWriter>, CommandError> {
    match store {
        Some(store) => store.keep(server).map_err(|error| CommandError::Usage(format!("cache: {error}"))),
        None => Ok(None),
    }
}
