//! The folder in which stored responses outlive the process.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
};

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

/// Begins to keep responses in the folder, until what this returns is dropped. All processes of a server give the same
/// [`server_number`].
pub(crate) fn keep(store: Option<&CacheStore>, server: u64) -> Result<Option<CacheWriter>, CommandError> {
    match store {
        Some(store) => store.keep(server).map_err(|error| CommandError::Usage(format!("cache: {error}"))),
        None => Ok(None),
    }
}

/// The number of a server, by its first process: in containers, all have the process 1, so that its start and namespace
/// count as well. A sandbox hides the start.
pub(crate) fn server_number(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name of the program, which may contain spaces (proc(5)).
    let start = status.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(STARTTIME)).unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    (start, namespace).hash(&mut hasher);
    hasher.finish() << 32 | u64::from(process)
}

/// The field `starttime` of /proc/PID/stat, counted from behind the name.
const STARTTIME: usize = 19;
