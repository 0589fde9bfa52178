//! Commands for a running certificate manager, and the state of its certificates.

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::{CertificateReport, report::CertificateReports};

/// Reports on the certificates of a manager, and takes commands for it; clones are for the same one. By default there is
/// no manager.
#[derive(Clone, Debug, Default)]
pub struct CertificateControl {
    reports: CertificateReports,
    commands: Option<mpsc::UnboundedSender<CertificateCommand>>,
}

/// A command for the certificate of a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CertificateCommand {
    /// One of its names.
    pub certificate: String,
    /// The action.
    pub action: CertificateAction,
}

/// An action on a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateAction {
    /// Order a new one now, although the present one is still valid.
    Renew,
    /// Have the authority revoke it, since its key may be known to others, and order a new one with another key.
    Revoke,
}

impl CertificateControl {
    pub(crate) fn new(reports: CertificateReports) -> (Self, mpsc::UnboundedReceiver<CertificateCommand>) {
        let (sender, commands) = mpsc::unbounded_channel();
        (Self { reports, commands: Some(sender) }, commands)
    }

    /// The state of each certificate.
    #[must_use]
    pub fn reports(&self) -> Vec<CertificateReport> {
        self.reports.all()
    }

    /// Has the manager do something, and returns a line about it at once; the error log says how it ended.
    ///
    /// # Errors
    ///
    /// There is no such certificate, or no manager.
    pub fn apply(&self, command: CertificateCommand) -> Result<String, String> {
        let CertificateCommand { certificate, action } = &command;
        if !self.reports.has(certificate) {
            let reports = self.reports();
            let names: Vec<_> = reports.iter().map(|report| report.names.join(",")).collect();
            return Err(match names.is_empty() {
                true => "the server has no automatic certificates: see --acme".to_owned(),
                false => format!("there is no certificate for {certificate:?}; there are: {}", shortened(&names)),
            });
        }
        let done = match action {
            CertificateAction::Renew => format!("a new certificate for {certificate} is being ordered"),
            CertificateAction::Revoke => {
                format!("the certificate for {certificate} is being revoked, and a new one ordered")
            }
        };
        let sent = self.commands.as_ref().is_some_and(|commands| commands.send(command).is_ok());
        if sent { Ok(done) } else { Err("the certificate manager has ended".to_owned()) }
    }
}

/// The first names of a list that may be long.
pub(crate) fn shortened(names: &[String]) -> String {
    match names.len() {
        0..=SHOWN => names.join(", "),
        count => format!("{} and {} more", names[..SHOWN].join(", "), count - SHOWN),
    }
}

/// Names on one line of the log.
const SHOWN: usize = 8;
