//! The question whether a name may have a certificate.

use std::{cell::Cell, time::Duration};

use serow_tls::TlsConnector;
use tokio::time::timeout;

use super::OnDemandPermission;
use crate::transport::AuthorityClient;

/// Asks whether names may have a certificate.
pub(crate) struct PermissionClient {
    source: Source,
    /// The last question was not answered.
    is_unreachable: Cell<bool>,
}

enum Source {
    Url(String, AuthorityClient),
    Function(super::PermissionFunction),
}

/// Whether a name may have a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    Granted,
    Refused,
    /// The source of permissions does not answer at present.
    Unanswered,
}

impl PermissionClient {
    /// A client on this thread, which runs a local runtime.
    pub(crate) fn start(permission: &OnDemandPermission, connector: TlsConnector) -> Self {
        let source = match permission {
            OnDemandPermission::Url(url) => Source::Url(url.clone(), AuthorityClient::start(connector)),
            OnDemandPermission::Function(function) => Source::Function(function.clone()),
        };
        Self { source, is_unreachable: Cell::new(false) }
    }

    /// Asks about a name that needs no encoding.
    pub(crate) async fn ask(&self, name: &str) -> Permission {
        let (url, client) = match &self.source {
            Source::Url(url, client) => (url, client),
            Source::Function(function) => {
                return match timeout(TIMEOUT, function(name)).await {
                    Ok(true) => Permission::Granted,
                    Ok(false) => Permission::Refused,
                    Err(_) => Permission::Unanswered,
                };
            }
        };
        let answer = timeout(TIMEOUT, client.status(&format!("{url}{name}"))).await;
        let answer = answer.unwrap_or_else(|_| Err(format!("did not answer within {TIMEOUT:?}")));
        if let Err(problem) = &answer
            && !self.is_unreachable.replace(true)
        {
            tracing::error!(
                "no certificates are ordered on demand: {url} {problem}; start the program that answers there, or \
                 correct `acme-on-demand`"
            );
        }
        if answer.is_ok() && self.is_unreachable.replace(false) {
            tracing::info!("certificates are ordered on demand again: {url} answers");
        }
        match answer {
            Ok(status) if status.is_success() => Permission::Granted,
            Ok(_) => Permission::Refused,
            Err(_) => Permission::Unanswered,
        }
    }
}

/// A program that looks into a database answers sooner; handshakes wait meanwhile.
const TIMEOUT: Duration = Duration::from_secs(5);
