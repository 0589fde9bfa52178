//! Descriptions of a certificate for logs and reports.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use super::MaintainedCertificate;
use crate::{
    CertificateReport,
    state::{AuthorityRole, CertificateState, CertificateStep, EarlyRenewal},
};

impl MaintainedCertificate {
    /// The reason why an order waits after earlier failures, if one does.
    pub(crate) fn pending(&self, now: SystemTime) -> Option<String> {
        let state = self.state.borrow();
        let text = self.failure_text(&state)?;
        let wait = state.next_order()?.duration_since(now).ok().filter(|wait| !wait.is_zero())?;
        let name = self.request.names.first()?;
        Some(format!(
            "{self}: the order of a new certificate waits {}, since the last one failed: {text}; 'serow acme renew {name}' \
             tries at once",
            minutes(wait)
        ))
    }

    /// One line with the failures of all authorities, and what comes next.
    pub(super) fn log_failure(&self, state: &CertificateState, now: SystemTime) {
        let text = self.failure_text(state).unwrap_or_default();
        if let (CertificateStep::Order(AuthorityRole::Fallback), Some(fallback)) = (state.next(now), &self.fallback) {
            return tracing::warn!("{self}: {text}; the order goes on at the fallback {}", fallback.directory);
        }
        let wait = state.next_order().and_then(|next| next.duration_since(now).ok()).unwrap_or_default();
        let meanwhile = match state.validity() {
            Some(validity) if validity.contains(now) => "; the present certificate stays in use",
            Some(_) => "; the certificate in use has EXPIRED",
            None => "",
        };
        tracing::warn!("{self}: no new certificate: {text}; the next attempt is in {}{meanwhile}", minutes(wait));
    }

    /// Warns if the certificate in use is due for renewal soon after its order.
    pub(super) fn log_early_renewal(&self, now: SystemTime) {
        let state = self.state.borrow();
        let Some((cause, _)) = state.early_renewal() else { return };
        let wait = state.next_order().and_then(|next| next.duration_since(now).ok()).unwrap_or_default();
        tracing::warn!("{self}: {cause}; the next order is in {}", minutes(wait));
    }

    /// Why the last order failed; with a fallback, why it failed at both authorities.
    fn failure_text(&self, state: &CertificateState) -> Option<String> {
        let first = state.failures(AuthorityRole::First)?.text.clone();
        let Some((fallback, failures)) = self.fallback.as_ref().zip(state.failures(AuthorityRole::Fallback)) else {
            return Some(first);
        };
        Some(format!("{first}; the fallback {}: {}", fallback.directory, failures.text))
    }

    pub(crate) fn report(&self) -> CertificateReport {
        let state = self.state.borrow();
        let early = state.early_renewal();
        CertificateReport {
            names: self.names(),
            issuer: self.issued.borrow().as_ref().map(|issued| issued.issuer.clone()),
            expires: state.validity().map(|validity| validity.not_after),
            next_order: state.next_order(),
            failures: self.roles().filter_map(|role| state.failures(role)).map(|failures| failures.count).sum::<u32>()
                + early.map_or(0, |(_, count)| count),
            last_error: self.failure_text(&state).or_else(|| early.map(|(cause, _)| cause.to_string())),
            last_order_end: self.last_order_end.get(),
            last_order_failed: self.failure_text(&state).is_some(),
            is_on_demand: false,
        }
    }
}

fn minutes(wait: Duration) -> String {
    match wait.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} minutes", seconds / 60),
        seconds => format!("{} hours", seconds / 3600),
    }
}

impl fmt::Display for EarlyRenewal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Clock => {
                "the new certificate is due for renewal already by this machine's clock: set the clock, or choose a profile \
                 of the authority with a longer life"
            }
            Self::Suggested => "the authority suggests to renew the certificate that it has just issued",
        })
    }
}

impl fmt::Display for MaintainedCertificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, name) in self.request.names.iter().enumerate() {
            write!(formatter, "{}{name}", if number == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
