//! Changes to the header of a response or a request.

use std::{error::Error, fmt, sync::Arc};

use bytes::Bytes;
use serow_message::{Extensions, Headers, InvalidHeader, Response, StatusCode};
use serow_variables::{Form, Part, ResponseName, Scope, Source, Text, Variable, VariableError};

use crate::header_rule::{HeaderRule, RuleCondition, RuleSubject};

/// Fields that are set in a response, in place of those of the same name, or removed; and [rules](HeaderRule), which
/// follow them in their order.
///
/// ```
/// use serow_message::{Headers, StatusCode};
/// use serow_router::HeaderChanges;
///
/// let changes = HeaderChanges::new([("Cache-Control", "no-store"), ("Server", "")])?;
/// let mut headers = Headers::new();
/// headers.append("cache-control", "max-age=60").unwrap();
/// headers.append("server", "Serow").unwrap();
/// changes.apply(StatusCode::OK, &mut headers);
/// assert_eq!(headers.get_str("cache-control"), Some("no-store"));
/// assert!(!headers.contains("server"));
/// # Ok::<(), serow_router::InvalidChange>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct HeaderChanges {
    /// None where nothing is changed.
    changes: Option<Arc<[Change]>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) name: Bytes,
    pub(crate) operation: Operation,
    /// The value of a field that is set or added.
    pub(crate) value: Bytes,
    /// The text that the value is made from for each request, if it has variables.
    pub(crate) text: Option<Text>,
    /// The parts of the value, if some of them are known only with the response.
    late: Option<Arc<[LatePart]>>,
}

/// A part of a value.
#[derive(Clone, Debug)]
enum LatePart {
    /// Text with the values of the request.
    Text(Bytes),
    /// A value of the response.
    Response(ResponseName),
}

/// The operation on a field.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// It is set, in place of those of its name.
    Set,
    /// It is removed.
    Remove,
    /// A rule decides.
    Rule(RuleCondition),
}

impl HeaderChanges {
    /// These fields are set; with an empty value, removed.
    ///
    /// # Errors
    ///
    /// An invalid name or value, a duplicate field, or a field that only the server sets.
    pub fn new<N, V>(fields: impl IntoIterator<Item = (N, V)>) -> Result<Self, InvalidChange>
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        Self::read(fields, None)
    }

    /// As [`Self::new`], with variables in the values. A value that is empty for a request removes the field; control
    /// characters of a variable are left out, so that no value begins another line.
    ///
    /// # Errors
    ///
    /// As [`Self::new`], and unknown variables.
    pub fn with_variables<N, V>(fields: impl IntoIterator<Item = (N, V)>, scope: &Scope) -> Result<Self, InvalidChange>
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        Self::read(fields, Some(scope))
    }

    fn read<N, V>(fields: impl IntoIterator<Item = (N, V)>, scope: Option<&Scope>) -> Result<Self, InvalidChange>
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        let mut changes: Vec<Change> = Vec::new();
        for (name, value) in fields {
            let (name, value) = (name.as_ref(), value.as_ref().trim_ascii());
            let invalid = |problem| InvalidChange { name: name.to_owned(), problem };
            Headers::new().append(name, value).map_err(|error| invalid(error.into()))?;
            let text = scope.map(|scope| Text::parse(value, scope)).transpose();
            let text = text.map_err(|error| invalid(ChangeProblem::Variable(error)))?;
            RuleSubject::Response.check(name).map_err(invalid)?;
            if changes.iter().any(|change| change.name.eq_ignore_ascii_case(name.as_bytes())) {
                return Err(invalid(ChangeProblem::Twice));
            }
            changes.push(Change::new(name, Operation::Set, value, text));
        }
        Ok(Self::of(changes))
    }

    /// The changes of these rules, in their order. A field that is to be set to a value that is empty for a request is
    /// removed from it, and none is added; control characters of a variable are left out, so that no value begins
    /// another line.
    ///
    /// # Errors
    ///
    /// The number of a rule that cannot be followed, and why.
    pub fn of_rules(rules: &[HeaderRule], subject: RuleSubject, scope: &Scope) -> Result<Self, (usize, ChangeProblem)> {
        let read =
            |(number, rule): (usize, &HeaderRule)| rule.read(subject, scope).map_err(|problem| (number, problem));
        rules.iter().enumerate().map(read).collect::<Result<_, _>>().map(Self::of)
    }

    /// Changes the header of a response.
    #[inline]
    pub fn apply_to(&self, response: &mut Response) {
        self.change(response.status, &mut response.headers, Some(&response.extensions));
    }

    /// Changes the header of a response with this status, of which nothing else is known.
    pub fn apply(&self, status: StatusCode, headers: &mut Headers) {
        self.change(status, headers, None);
    }

    fn change(&self, status: StatusCode, headers: &mut Headers, extensions: Option<&Extensions>) {
        let mut settled;
        for mut change in self.iter() {
            if let Some(parts) = &change.late {
                settled = change.filled(value_of(parts, extensions).trim_ascii());
                change = &settled;
            }
            // Name and value were tried when this was made.
            match &change.operation {
                Operation::Set => drop(headers.insert(&change.name[..], &change.value)),
                Operation::Remove => drop(headers.remove(&change.name[..])),
                Operation::Rule(condition) => condition.apply(change, Some(status), headers),
            }
        }
    }

    /// Changes the header of a request.
    pub(crate) fn apply_to_request(&self, headers: &mut Headers) {
        for change in self.iter() {
            if let Operation::Rule(condition) = &change.operation {
                condition.apply(change, None, headers);
            }
        }
    }

    /// Whether nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_none()
    }

    /// Whether values have variables, so that they must be [filled in](Self::filled) first.
    pub(crate) fn has_variables(&self) -> bool {
        self.iter().any(|change| change.text.is_some())
    }

    /// Whether a variable is what the route's path matched.
    pub(crate) fn has_captures(&self) -> bool {
        self.iter().any(|change| change.text.as_ref().is_some_and(Text::has_captures))
    }

    /// These changes with the values of a request.
    pub(crate) fn filled(&self, source: &Source<'_>) -> Self {
        if !self.has_variables() {
            return self.clone();
        }
        let fill = |change: &Change| {
            let Some(text) = &change.text else { return change.clone() };
            if text.reads_response() {
                return Change { text: None, late: Some(late_parts(text, source)), ..change.clone() };
            }
            let mut value = Vec::new();
            text.append(source, Form::Field, &mut value);
            change.filled(value.trim_ascii())
        };
        Self::of(self.iter().map(fill).collect())
    }

    /// These changes and those of another, which go before them. Rules stay, and follow all others.
    pub(crate) fn overridden_by(&self, others: &Self) -> Self {
        let is_set = |change: &&Change| !matches!(change.operation, Operation::Rule(_));
        let is_theirs = |name: &[u8]| others.iter().filter(is_set).any(|change| change.name.eq_ignore_ascii_case(name));
        let ours = self.iter().filter(is_set).filter(|change| !is_theirs(&change.name));
        let set = ours.chain(others.iter().filter(is_set));
        let rules = self.iter().chain(others.iter()).filter(|change| !is_set(change));
        Self::of(set.chain(rules).cloned().collect())
    }

    /// These changes, and then those of another.
    #[must_use]
    pub fn followed_by(&self, others: &Self) -> Self {
        match (self.is_empty(), others.is_empty()) {
            (_, true) => self.clone(),
            (true, _) => others.clone(),
            _ => Self::of(self.iter().chain(others.iter()).cloned().collect()),
        }
    }

    fn of(changes: Vec<Change>) -> Self {
        Self { changes: (!changes.is_empty()).then(|| changes.into()) }
    }

    fn iter(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().flat_map(|changes| changes.iter())
    }
}

impl Change {
    /// A change; one that sets a field to nothing removes it.
    pub(crate) fn new(name: &str, operation: Operation, value: &str, text: Option<Text>) -> Self {
        let name = Bytes::copy_from_slice(name.as_bytes());
        let value = text.as_ref().map_or(Some(value), Text::constant).unwrap_or_default();
        let value = Bytes::copy_from_slice(value.as_bytes());
        let text = text.filter(|text| text.constant().is_none());
        let operation = operation.with(&value);
        Self { name, operation, value, text, late: None }
    }

    /// The change with the value of a request.
    fn filled(&self, value: &[u8]) -> Self {
        let value = Bytes::copy_from_slice(value);
        Self { name: self.name.clone(), operation: self.operation.clone().with(&value), value, text: None, late: None }
    }
}

/// The parts of a text with the values of a request.
fn late_parts(text: &Text, source: &Source<'_>) -> Arc<[LatePart]> {
    let part = |part: &Part| match part {
        Part::Variable(Variable::Response(name)) => LatePart::Response(*name),
        part => {
            let mut value = Vec::new();
            part.append(source, Form::Field, &mut value);
            LatePart::Text(value.into())
        }
    };
    text.parts().iter().map(part).collect()
}

/// The value of these parts for a response with these extensions.
fn value_of(parts: &[LatePart], extensions: Option<&Extensions>) -> Vec<u8> {
    let mut value = Vec::new();
    for part in parts {
        match (part, extensions) {
            (LatePart::Text(text), _) => value.extend_from_slice(text),
            (LatePart::Response(name), Some(extensions)) => name.append(extensions, &mut value),
            (LatePart::Response(_), None) => {}
        }
    }
    value
}

impl Operation {
    /// The operation with this value.
    fn with(self, value: &Bytes) -> Self {
        match self {
            Self::Set | Self::Remove if value.is_empty() => Self::Remove,
            Self::Set | Self::Remove => Self::Set,
            rule @ Self::Rule(_) => rule,
        }
    }
}

/// Which change of a header cannot be, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidChange {
    /// The name of the field.
    pub name: String,
    /// Why.
    pub problem: ChangeProblem,
}

/// Why a header cannot be changed so. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeProblem {
    /// The name or the value cannot be in a header.
    Text(InvalidHeader),
    /// The field is the server's to set: it says where a message ends, or belongs to the connection.
    Framing,
    /// The name is there before.
    Twice,
    /// The value names no variable.
    Variable(VariableError),
    /// The server says in this field of a request who the client is.
    Client,
    /// The field of a request selects the site.
    Host,
    /// The field is set or added, but not to anything.
    NoValue,
    /// The rule is about the status of a response, but it is a request's.
    Status,
}

impl From<InvalidHeader> for ChangeProblem {
    fn from(error: InvalidHeader) -> Self {
        Self::Text(error)
    }
}

impl fmt::Display for ChangeProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(error) => error.fmt(formatter),
            Self::Framing => formatter.write_str("the server itself sets this field: leave it out"),
            Self::Twice => formatter.write_str("duplicate header field: set it once"),
            Self::Variable(error) => error.fmt(formatter),
            Self::Client => formatter.write_str(
                "servers and applications learn from this field who the client is, so they get it only from Serow: use \
                 `forwarded`, `trust` or `set-header` in `proxy`",
            ),
            Self::Host => formatter.write_str("this field has selected the site: use `host` in `proxy`"),
            Self::NoValue => {
                formatter.write_str("`value` is missing or empty: write one, or remove the field with `remove`")
            }
            Self::Status => formatter.write_str("a request has no status: leave it out"),
        }
    }
}

impl fmt::Display for InvalidChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: {}", self.name, self.problem)
    }
}

impl Error for InvalidChange {}

#[cfg(test)]
mod tests {
    use serow_message::{CacheStatus, HitState, Request};

    use super::*;

    #[test]
    fn values_of_the_response_are_filled_in_when_it_is_there() {
        let scope = Scope::default().of_response();
        let fields =
            [("X-Cache", "$upstream_cache_status for $http_x_name"), ("X-Server", "$upstream_addr"), ("A", "b")];
        let changes = HeaderChanges::with_variables(fields, &scope).unwrap();
        let mut request = Request::get("/");
        request.headers.append("x-name", "\u{e4}").unwrap();
        let filled = changes.filled(&Source::of(&request, b"/"));
        let mut response = Response::new(StatusCode::OK).with("x-server", "inner");
        response.extensions.insert(CacheStatus::Hit { ttl: 1, state: HitState::Fresh });
        filled.apply_to(&mut response);
        assert_eq!(response.headers.get("x-cache"), Some("HIT for \u{e4}".as_bytes()));
        assert_eq!((response.headers.get("x-server"), response.headers.get_str("a")), (None, Some("b")));
        assert!(HeaderChanges::with_variables(fields, &Scope::default()).is_err());
    }
}
