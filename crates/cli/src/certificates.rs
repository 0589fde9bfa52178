//! Automatic certificates: the certificate manager of a server, and `serow certificates`.

use serow_acme::{AcmeSettings, CertificateAction, CertificateCommand, PreparedManager};
use serow_settings::{Reachable, ServerSettings};

use crate::{
    admin_client::{self, admin_client},
    arguments::{AcmeArguments, AcmeCommand, CertificateNameArguments, StatusArguments},
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
    let (CertificateNameArguments { name, client }, action) = match arguments.command {
        AcmeCommand::Renew(certificate) => (certificate, CertificateAction::Renew),
        AcmeCommand::Revoke(certificate) => (certificate, CertificateAction::Revoke),
    };
    let command = CertificateCommand { certificate: name, action };
    admin_client::print(admin_client(&client)?.change_certificate(&command))
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
