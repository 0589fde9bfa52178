//! `serow bench` in a build without the load generator: an error that says where there is one.

use std::ffi::OsString;

use clap::Args;

use crate::command_error::CommandError;

/// Whatever follows `bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _ignored: Vec<OsString>,
}

/// Reports that this build has no load generator.
pub(crate) fn run(_: BenchArguments) -> Result<(), CommandError> {
    Err(CommandError::report(
        "this build of Serow does not contain the load generator: install a package of Serow, or build it with \
         cargo build --release --features bench",
    ))
}
