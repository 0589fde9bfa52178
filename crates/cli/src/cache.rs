//! `serow cache`: what the cache of a running server holds.

use crate::{
    admin_client::{admin_client, print},
    arguments::{CacheArguments, CacheOrderChoice},
    command_error::CommandError,
};
use serow_admin::{CacheInquiry, CacheOrder};

/// Prints what the cache holds, as lines or as JSON.
pub(crate) fn run(arguments: &CacheArguments) -> Result<(), CommandError> {
    let client = admin_client(&arguments.client)?;
    let by = match arguments.by {
        CacheOrderChoice::Largest => CacheOrder::Largest,
        CacheOrderChoice::Requested => CacheOrder::Requested,
        CacheOrderChoice::Host => CacheOrder::Host,
        CacheOrderChoice::Tag => CacheOrder::Tag,
    };
    let inquiry = CacheInquiry { by };
    print(if arguments.json { client.cache(inquiry) } else { client.cache_table(inquiry) })
}
