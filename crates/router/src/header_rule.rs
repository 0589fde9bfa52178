//! Rules about the fields of requests and responses.

use std::ops::RangeInclusive;

use serow_message::{Headers, KnownHeader, StatusCode, hop_by_hop};
use serow_variables::{Scope, Text};

use crate::header_changes::{Change, ChangeProblem, Operation};

/// A rule that changes a field of requests or responses.
///
/// ```
/// use serow_message::{Headers, StatusCode};
/// use serow_router::{HeaderChanges, HeaderOperation, HeaderRule, RuleSubject};
/// use serow_variables::Scope;
///
/// let rule = HeaderRule {
///     operation: HeaderOperation::Set,
///     name: "Cache-Control".to_owned(),
///     value: "no-store".to_owned(),
///     if_absent: true,
///     statuses: vec![400..=599],
/// };
/// let changes = HeaderChanges::of_rules(&[rule], RuleSubject::Response, &Scope::default()).unwrap();
/// let mut headers = Headers::new();
/// changes.apply(StatusCode::OK, &mut headers);
/// assert!(!headers.contains("cache-control"));
/// changes.apply(StatusCode::NOT_FOUND, &mut headers);
/// assert_eq!(headers.get_str("cache-control"), Some("no-store"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderRule {
    /// The operation.
    pub operation: HeaderOperation,
    /// The name of the field.
    pub name: String,
    /// Its value, which can have variables; nothing for a field that is removed.
    pub value: String,
    /// Whether a field is set or added only if there is none of its name.
    pub if_absent: bool,
    /// The statuses of the responses; none: all.
    pub statuses: Vec<RangeInclusive<u16>>,
}

/// The operation on a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderOperation {
    /// It is set, in place of those of its name.
    Set,
    /// It is added to those of its name.
    Add,
    /// All of its name are removed.
    Remove,
}

/// The messages that a rule applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleSubject {
    /// Requests, before the handler gets them.
    Request,
    /// Responses.
    Response,
}

/// When a rule applies, and what it does then.
#[derive(Clone, Debug)]
pub(crate) struct RuleCondition {
    operation: HeaderOperation,
    if_absent: bool,
    statuses: Box<[RangeInclusive<u16>]>,
}

impl HeaderRule {
    /// The change that the rule makes.
    pub(crate) fn read(&self, subject: RuleSubject, scope: &Scope) -> Result<Change, ChangeProblem> {
        let (name, value) = (self.name.as_str(), self.value.trim_ascii());
        Headers::new().append(name, value)?;
        subject.check(name)?;
        if self.operation != HeaderOperation::Remove && value.is_empty() {
            return Err(ChangeProblem::NoValue);
        }
        if subject == RuleSubject::Request && !self.statuses.is_empty() {
            return Err(ChangeProblem::Status);
        }
        let text = Text::parse(value, scope).map_err(ChangeProblem::Variable)?;
        let Self { operation, if_absent, .. } = *self;
        let condition = RuleCondition { operation, if_absent, statuses: self.statuses.clone().into() };
        Ok(Change::new(name, Operation::Rule(condition), value, Some(text)))
    }
}

impl RuleSubject {
    /// Whether rules may change a field of this name.
    ///
    /// # Errors
    ///
    /// The server sets it, since it says where a message ends or belongs to the connection; in a request, also since it
    /// says who the client is, or what it asks for.
    pub(crate) fn check(self, name: &str) -> Result<(), ChangeProblem> {
        let known = KnownHeader::recognise(name.as_bytes());
        if let Some(known) = known
            && (hop_by_hop::NAMES.contains(&known)
                || matches!(known, KnownHeader::ContentLength | KnownHeader::Trailer))
        {
            return Err(ChangeProblem::Framing);
        }
        match (self, known) {
            (Self::Response, _) => Ok(()),
            (Self::Request, Some(KnownHeader::Host)) => Err(ChangeProblem::Host),
            // The server sends 100 Continue, not the handler.
            (Self::Request, Some(KnownHeader::Expect)) => Err(ChangeProblem::Framing),
            (
                Self::Request,
                Some(
                    KnownHeader::Forwarded
                    | KnownHeader::XForwardedFor
                    | KnownHeader::XForwardedHost
                    | KnownHeader::XForwardedProto,
                ),
            ) => Err(ChangeProblem::Client),
            (Self::Request, _) if hop_by_hop::tells_of_client(name.as_bytes()) => Err(ChangeProblem::Client),
            (Self::Request, _) => Ok(()),
        }
    }
}

impl RuleCondition {
    /// Makes this change, if it applies to a response with this status.
    pub(crate) fn apply(&self, change: &Change, status: Option<StatusCode>, headers: &mut Headers) {
        let is_meant = |status: StatusCode| self.statuses.iter().any(|range| range.contains(&status.as_u16()));
        if !self.statuses.is_empty() && !status.is_some_and(is_meant) {
            return;
        }
        let (name, value) = (&change.name[..], &change.value);
        if self.if_absent && headers.contains(name) {
            return;
        }
        // Name and value were tried when the rule was read.
        match self.operation {
            HeaderOperation::Remove => drop(headers.remove(name)),
            HeaderOperation::Set if value.is_empty() => drop(headers.remove(name)),
            HeaderOperation::Set => drop(headers.insert(name, value)),
            HeaderOperation::Add if value.is_empty() => {}
            HeaderOperation::Add => drop(headers.append(name, value)),
        }
    }
}
