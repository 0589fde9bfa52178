//! The options of `serow acme`.

use clap::{Args, Subcommand};

use super::AdminClientArguments;

/// The options of `serow acme`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct AcmeArguments {
    #[command(subcommand)]
    pub(crate) command: AcmeCommand,
}

/// A command for an automatic certificate of a running server.
#[derive(Debug, Subcommand)]
pub(crate) enum AcmeCommand {
    /// Order a new certificate now, although the present one is still valid.
    ///
    /// Without this, Serow renews in time. Authorities limit how many certificates of a name they issue in a week.
    Renew(RenewArguments),
    /// Have the authority revoke a certificate whose key others may know, and order a new one with another key.
    Revoke(CertificateNameArguments),
}

/// The options of `serow acme renew`.
#[derive(Debug, Args)]
pub(crate) struct RenewArguments {
    #[command(flatten)]
    pub(crate) certificate: CertificateNameArguments,

    /// Wait until the order has ended; if it failed, print the reason and exit with 1.
    #[arg(long)]
    pub(crate) wait: bool,
}

/// Which certificate.
#[derive(Debug, Args)]
pub(crate) struct CertificateNameArguments {
    /// One of the names of the certificate.
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}
