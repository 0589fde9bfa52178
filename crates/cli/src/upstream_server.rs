//! `serow up`, `down`, `weight`, `add` and `remove`: change a server of an upstream while the server runs.

use serow_admin::{Action, ServerCommand};
use serow_config::values::Count;

use crate::{
    admin_client::{admin_client, print},
    arguments::ServerCommandArguments,
    command_error::CommandError,
};

/// Changes a server of an upstream.
pub(crate) fn run(
    arguments: ServerCommandArguments,
    action: Action,
    weight: Option<Count<1, 65_535>>,
) -> Result<(), CommandError> {
    let ServerCommandArguments { upstream, server, persist, client } = arguments;
    let weight = weight.and_then(|weight| u16::try_from(weight.get()).ok());
    let command = ServerCommand { upstream, server, action, weight, persist: persist.persist };
    print(admin_client(&client)?.change_server(&command))
}
