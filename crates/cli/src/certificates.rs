//! Automatic certificates: the certificate manager of a server, and `serow certificates`.

use std::{thread, time::Duration};

use serow_acme::{AcmeSettings, CertificateAction, CertificateCommand, PreparedManager};
use serow_admin::{AdminClient, LastOrder};
use serow_assembly::{Reachable, ServerSettings};
use serow_net::time;

use crate::{
    admin_client::{self, admin_client},
    arguments::{AcmeArguments, AcmeCommand, CertificateNameArguments, RenewArguments, StatusArguments},
    command_error::CommandError,
    state_folder,
};

/// Prints the automatic certificates of a running server.
pub(crate) fn print(arguments: &StatusArguments) -> Result<(), CommandError> {
    let client = admin_client(&arguments.client)?;
    admin_client::print(if arguments.json { client.certificates() } else { client.certificate_table() })
}

/// Renews or revokes a certificate of a running server.
pub(crate) fn run(arguments: AcmeArguments) -> Result<(), CommandError> {
    let (CertificateNameArguments { name, client }, action, waits) = match arguments.command {
        AcmeCommand::Renew(RenewArguments { certificate, wait }) => (certificate, CertificateAction::Renew, wait),
        AcmeCommand::Revoke(certificate) => (certificate, CertificateAction::Revoke, false),
    };
    let client = admin_client(&client)?;
    let before = waits.then(|| client.last_order(&name)).transpose()?;
    let command = CertificateCommand { certificate: name.clone(), action };
    admin_client::print(client.change_certificate(&command))?;
    before.map_or(Ok(()), |before| wait_for_order(&client, &name, &before))
}

/// Waits until an order has ended after this one.
fn wait_for_order(client: &AdminClient, name: &str, before: &LastOrder) -> Result<(), CommandError> {
    let deadline = time::now() + ORDER_TIMEOUT;
    while time::now() < deadline {
        match client.last_order(name)? {
            LastOrder { end, .. } if end.is_none() || end == before.end => thread::sleep(POLL_INTERVAL),
            LastOrder { failure: Some(failure), .. } => return Err(CommandError::report(format!("{name}: {failure}"))),
            LastOrder { failure: None, .. } => {
                return admin_client::print(Ok(format!("{name} has a new certificate\n")));
            }
        }
    }
    let minutes = ORDER_TIMEOUT.as_secs() / 60;
    Err(CommandError::Failed(
        format!("the order for {name} has not ended after {minutes} minutes: 'serow certificates' shows when it has")
            .into(),
    ))
}

/// Does what the certificate manager of these settings needs root's rights for, if there is one; its folder then
/// belongs to this user and group.
pub(crate) fn prepare(
    settings: &ServerSettings,
    owner: Option<(u32, Option<u32>)>,
) -> Result<Option<PreparedManager>, CommandError> {
    let Some(acme) = acme_settings(settings)? else { return Ok(None) };
    Ok(Some(PreparedManager::new(acme, owner)?))
}

/// The settings of the certificate manager, if there is one.
pub(crate) fn acme_settings(settings: &ServerSettings) -> Result<Option<AcmeSettings>, CommandError> {
    let Some(plan) = &settings.acme else { return Ok(None) };
    let folder = state_folder::of_user().map(|folder| folder.join("acme"));
    match plan.settings(folder, Reachable::of(&settings.listeners)) {
        Some(settings) => Ok(Some(settings)),
        None => Err(CommandError::Usage(
            "there is no folder for certificates, since neither XDG_STATE_HOME nor HOME is set: name one with --acme-dir"
                .to_owned(),
        )),
    }
}

/// An authority that validates names in turn takes minutes at most, and an order with a DNS record as long as that takes to
/// spread.
const ORDER_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Soon enough for a script, and seldom enough for the server.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
