//! Changes of added settings files that threads of the serving process ask the master for.

use serde::Deserialize;
use serow_admin::{ChangeRefusal, SettingsChange};
use serow_supervisor::master::{ChangeError, ChangeRequests};

/// Why a change was not made.
#[derive(Debug)]
pub(super) enum ChangeFailure {
    /// There is no file to remove: it is gone already.
    Unknown,
    /// The settings are wrong with it, for this reason.
    Refused(String),
    /// It is not possible at the moment, for this reason.
    Unavailable(String),
}

/// Has the master make a change; returns when it is in effect.
pub(super) async fn request(requests: &ChangeRequests, change: SettingsChange) -> Result<(), ChangeFailure> {
    let change = serde_json::to_value(change).map_err(|error| ChangeFailure::Refused(error.to_string()))?;
    let error = match requests.change(&change).await {
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    Err(match error {
        ChangeError::Refused(refusal) => match ChangeRefusal::deserialize(&refusal) {
            Ok(ChangeRefusal::Unknown) => ChangeFailure::Unknown,
            Ok(refusal @ ChangeRefusal::NotKept(_)) => ChangeFailure::Unavailable(refusal.to_string()),
            Ok(refusal) => ChangeFailure::Refused(refusal.to_string()),
            Err(error) => ChangeFailure::Refused(error.to_string()),
        },
        ChangeError::Invalid(reason) => ChangeFailure::Refused(reason),
        ChangeError::NotKept(reason) | ChangeError::NotNow(reason) => ChangeFailure::Unavailable(reason),
    })
}
