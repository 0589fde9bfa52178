//! What is changed in the header of a response.

use std::{error::Error, fmt, sync::Arc};

use bytes::Bytes;
use serow_message::{FieldName, Headers, InvalidHeader, KnownHeader, hop_by_hop};
use serow_variables::{Form, Scope, Source, Text, VariableError};

/// Fields that are set in a response, in place of those of the same name, or removed.
///
/// ```
/// use serow_message::Headers;
/// use serow_router::HeaderChanges;
///
/// let changes = HeaderChanges::new([("Cache-Control", "no-store"), ("Server", "")])?;
/// let mut headers = Headers::new();
/// headers.append("cache-control", "max-age=60").unwrap();
/// headers.append("server", "Serow").unwrap();
/// changes.apply(&mut headers);
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
struct Change {
    name: Bytes,
    /// Empty: the field is removed.
    value: Bytes,
    /// What the value is made of for each request, if it has variables.
    text: Option<Text>,
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
            let value = text.as_ref().map_or(Some(value), Text::constant).unwrap_or_default();
            if is_framing(name) {
                return Err(invalid(ChangeProblem::Framing));
            }
            if changes.iter().any(|change| change.name.eq_ignore_ascii_case(name.as_bytes())) {
                return Err(invalid(ChangeProblem::Twice));
            }
            let copy = |text: &str| Bytes::copy_from_slice(text.as_bytes());
            let (name, value) = (copy(name), copy(value));
            changes.push(Change { name, value, text: text.filter(|text| text.constant().is_none()) });
        }
        Ok(Self::of(changes))
    }

    /// Changes a header.
    pub fn apply(&self, headers: &mut Headers) {
        for Change { name, value, .. } in self.iter() {
            match value.is_empty() {
                true => drop(headers.remove(&name[..])),
                // Name and value were tried when this was made.
                false => drop(headers.insert(&name[..], value)),
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
        let fill = |change: &Change| {
            let Some(text) = &change.text else { return change.clone() };
            let mut value = Vec::new();
            text.append(source, Form::Field, &mut value);
            Change { name: change.name.clone(), value: Bytes::from(value.trim_ascii().to_vec()), text: None }
        };
        Self::of(self.iter().map(fill).collect())
    }

    /// These changes and those of another, which go before them.
    pub(crate) fn overridden_by(&self, others: &Self) -> Self {
        let is_theirs = |name: &[u8]| others.iter().any(|change| change.name.eq_ignore_ascii_case(name));
        let ours = self.iter().filter(|change| !is_theirs(&change.name));
        Self::of(ours.chain(others.iter()).cloned().collect())
    }

    fn of(changes: Vec<Change>) -> Self {
        Self { changes: (!changes.is_empty()).then(|| changes.into()) }
    }

    fn iter(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().flat_map(|changes| changes.iter())
    }
}

/// Whether the field says where a message ends or belongs to the connection. The server sets these.
pub(crate) fn is_framing(name: impl FieldName) -> bool {
    name.known().is_some_and(|known| {
        hop_by_hop::NAMES.contains(&known) || matches!(known, KnownHeader::ContentLength | KnownHeader::Trailer)
    })
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
        }
    }
}

impl fmt::Display for InvalidChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: {}", self.name, self.problem)
    }
}

impl Error for InvalidChange {}
