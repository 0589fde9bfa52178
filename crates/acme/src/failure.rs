//! Why a certificate was not obtained, and what that means for the next attempt.

use std::{error::Error, fmt, time::Duration};

use instant_acme::Problem;

use crate::storage::StorageError;

/// Why a certificate was not obtained.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    /// One line that says what to do.
    pub(crate) text: String,
    /// How long the authority asks to wait.
    pub(crate) retry_after: Option<Duration>,
    /// The stored state that is of no use any more.
    pub(crate) stale: Option<StaleState>,
}

/// The kind of a failure: it decides about the delay before the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum FailureKind {
    /// The authority does not answer, or not as one.
    Unreachable,
    /// It validates the name without success, or refuses the order.
    Refused,
    /// It has validated the names, and what it then issues cannot be used.
    Unusable,
    /// It has had too many orders.
    RateLimited,
    /// This machine is at fault.
    Local,
    /// The store cannot be used now, or another process has taken over: the order goes on.
    Interrupted,
}

/// Stored state that the authority does not know any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StaleState {
    /// The order that was begun.
    Order,
    /// Perhaps the order: it is continued, until it has failed several times in a row.
    SuspectOrder,
    /// The account.
    Account,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        Self { kind, text: one_line(&text.into()), retry_after: None, stale: None }
    }

    pub(crate) fn local(text: impl fmt::Display) -> Self {
        Self::new(FailureKind::Local, text.to_string())
    }

    pub(crate) fn refused(text: impl fmt::Display) -> Self {
        Self::new(FailureKind::Refused, text.to_string())
    }

    /// These records, one for each name, are missing in the DNS; they are never shortened, since they are to be copied.
    pub(crate) fn missing_records(records: &[String]) -> Self {
        let text = format!("add to the DNS: {}", records.join(", and: "));
        Self { text, ..Self::local("") }
    }

    /// After an authority has not accepted these records, says what it must find.
    pub(crate) fn with_records(self, records: &[String]) -> Self {
        if records.is_empty() || self.kind != FailureKind::Refused {
            return self;
        }
        Self { text: format!("{}; it must find in the DNS: {}", self.text, records.join(", and: ")), ..self }
    }

    /// The authority has issued a certificate that cannot be used, for this reason.
    pub(crate) fn unusable(text: impl fmt::Display) -> Self {
        Self::new(FailureKind::Unusable, text.to_string())
    }

    /// The failure of a request for an order.
    pub(crate) fn of_authority(error: &instant_acme::Error) -> Self {
        use instant_acme::Error as Kind;
        match error {
            Kind::Api(problem) => Self::of_problem(problem),
            Kind::Crypto | Kind::KeyRejected => Self::local(format!("{error}: remove the stored account")),
            Kind::Unsupported(what) => Self::refused(format!("the authority does not support {what}")),
            Kind::Timeout(_) => Self::new(FailureKind::Unreachable, "the authority has not finished the order in time"),
            Kind::Json(_) | Kind::Str(_) => {
                Self::new(FailureKind::Unreachable, format!("the authority's answer is not valid ACME ({error})"))
            }
            Kind::Other(inner) => Self::new(FailureKind::Unreachable, inner.to_string()),
            error => Self::new(FailureKind::Unreachable, format!("the request to the authority failed: {error}")),
        }
    }

    /// A problem document of the authority (RFC 8555 §6.7).
    pub(crate) fn of_problem(problem: &Problem) -> Self {
        let kind = problem.r#type.as_deref().and_then(|kind| kind.strip_prefix("urn:ietf:params:acme:error:"));
        let text = problem_text(problem);
        match kind.unwrap_or_default() {
            "rateLimited" => Self::new(FailureKind::RateLimited, format!("the authority limits the rate: {text}")),
            "serverInternal" | "badNonce" => {
                Self::new(FailureKind::Unreachable, format!("the authority failed: {text}"))
            }
            "accountDoesNotExist" => Self {
                stale: Some(StaleState::Account),
                ..Self::new(FailureKind::Unreachable, format!("the authority does not know the account: {text}"))
            },
            "externalAccountRequired" => Self::refused(format!(
                "the authority wants an account of its own: set `eab-kid` and `eab-key-file` in `[acme]` \
                 (--acme-eab-kid, --acme-eab-key-file), or for the fallback `fallback-eab-kid` and `fallback-eab-key-file` \
                 ({text})"
            )),
            "dns" => Self::refused(format!("the name does not resolve: {text}; look at its DNS records")),
            "connection" => Self::refused(format!(
                "the authority cannot connect to this server: {text}; look at the DNS records and the firewall"
            )),
            "caa" => Self::refused(format!("a CAA record forbids this authority: {text}")),
            "" if problem.status.is_some_and(|status| status >= 500) => {
                Self::new(FailureKind::Unreachable, format!("the authority failed: {text}"))
            }
            _ => Self::refused(format!("the authority refuses: {text}")),
        }
    }

    /// Whether another authority may succeed where this one has not. The account that this one has forgotten is created
    /// again at the next attempt.
    pub(crate) fn is_of_authority(&self) -> bool {
        match self.kind {
            FailureKind::Unreachable | FailureKind::Refused | FailureKind::Unusable | FailureKind::RateLimited => {
                self.stale != Some(StaleState::Account)
            }
            FailureKind::Local | FailureKind::Interrupted => false,
        }
    }

    /// Whether a restart may have removed the cause: settings, files and the network of this machine. A refusal costs the
    /// authority as much again, and it counts them.
    pub(crate) fn ends_with_restart(&self) -> bool {
        matches!(self.kind, FailureKind::Local | FailureKind::Unreachable) && self.retry_after.is_none()
    }

    /// The order is of no use any more.
    pub(crate) fn of_order(self) -> Self {
        Self { stale: self.stale.or(Some(StaleState::Order)), ..self }
    }

    /// The order may be of no use.
    pub(crate) fn of_suspect_order(self) -> Self {
        Self { stale: self.stale.or(Some(StaleState::SuspectOrder)), ..self }
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        let kind = if error.is_interruption() { FailureKind::Interrupted } else { FailureKind::Local };
        Self::new(kind, error.to_string())
    }
}

fn problem_text(problem: &Problem) -> String {
    let mut text = problem.detail.clone().unwrap_or_else(|| "no reason given".to_owned());
    for subproblem in &problem.subproblems {
        text.push_str(&format!("; {subproblem}"));
    }
    match problem.r#type.as_deref().and_then(|kind| kind.rsplit(':').next()) {
        Some(kind) => format!("{text} ({kind})"),
        None => text,
    }
}

/// Text of others on one line of the log, without control characters, and not longer than a line should be.
fn one_line(text: &str) -> String {
    let clean: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    match clean.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}

/// Characters of a failure: an authority's explanations rarely have more than 300.
const MAX_TEXT: usize = 600;

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Error for Failure {}
