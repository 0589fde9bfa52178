//! The other path that a request goes on with.

use std::{error::Error, fmt, str::FromStr};

use serow_message::Template;
use serow_variables::{Encoding, Name, Part as TextPart, Scope, Source, Text, Variable, VariableError};

use crate::{
    path_pattern::{InvalidPath, check},
    url::{append_decoded, append_query, append_url},
};

/// The path that a request goes on with: decoded, each `*` filled with what the `*` of the route's path stood for, in
/// order.
///
/// ```
/// use serow_router::RewriteTarget;
/// use serow_variables::Scope;
///
/// assert!("/static/*.png".parse::<RewriteTarget>().is_ok());
/// assert!(RewriteTarget::with_variables("/user?id=$1", &Scope::default().of_stars(1)).is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteTarget {
    text: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A path with stars.
    Stars(Template),
    /// A path with variables, and a query, if it has one of its own.
    Parts { path: Vec<Part>, query: Option<Vec<Part>> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Box<str>),
    /// The text that the star with this number stood for.
    Star(usize),
    Variable(Variable),
}

impl RewriteTarget {
    /// A target with variables, and perhaps with a query: `/user?id=$id`. Without a `?`, the query of the request is
    /// kept; `$args` takes it into another one.
    ///
    /// # Errors
    ///
    /// A text that cannot be a path, or names an unknown variable.
    pub fn with_variables(text: &str, scope: &Scope) -> Result<Self, InvalidRewrite> {
        let (path, query) = text.split_once('?').map_or((text, None), |(path, query)| (path, Some(query)));
        let path_text = Text::parse(path, scope)?;
        if query.is_none() && path_text.constant().is_some_and(|constant| constant == path) {
            return Ok(path.parse()?);
        }
        let stars = path.matches('*').count();
        let path = parts(&path_text, 0);
        let example: String = path.iter().map(Part::example).collect();
        match path.first() {
            Some(Part::Variable(variable)) if variable.begins_path() => {}
            Some(Part::Variable(variable)) if variable.encoding() == Encoding::Trusted => {}
            _ if example.starts_with('/') => {}
            _ => return Err(InvalidPath::WithoutSlash.into()),
        }
        check(&example)?;
        let query = query.map(|query| Text::parse(query, scope).map(|query| parts(&query, stars))).transpose()?;
        let is_target = |part: &Part| matches!(part, Part::Variable(Variable::Named(Name::RequestUri)));
        if path.iter().chain(query.iter().flatten()).any(is_target) {
            return Err(InvalidRewrite::RequestUri);
        }
        Ok(Self { text: text.to_owned(), kind: Kind::Parts { path, query } })
    }

    /// The path for stars that stand for this; of one with variables, nothing.
    pub(crate) fn fill(&self, captures: &[&[u8]]) -> Vec<u8> {
        match &self.kind {
            Kind::Stars(template) => template.fill(captures),
            Kind::Parts { .. } => Vec::new(),
        }
    }

    /// The path for a request, not clean yet, and the query, if it gets another one.
    pub(crate) fn filled(&self, source: &Source<'_>) -> (Vec<u8>, Option<String>) {
        let Kind::Parts { path, query } = &self.kind else { return (self.fill(source.captures), None) };
        let mut made = Vec::new();
        for part in path {
            match part {
                Part::Variable(variable) if variable.encoding() == Encoding::Encoded => {
                    let mut value = Vec::new();
                    variable.append(source, &mut value);
                    append_decoded(&value, &mut made);
                }
                part => part.append(source, &mut made),
            }
        }
        (made, query.as_ref().map(|query| fill_query(query, source)))
    }

    /// Whether the path of a request alone decides about the path that it makes.
    pub(crate) fn follows_path(&self) -> bool {
        let is_known = |part: &Part| match part {
            Part::Text(_) | Part::Star(_) => true,
            Part::Variable(variable) => matches!(variable, Variable::Named(Name::Uri) | Variable::Capture(_)),
        };
        match &self.kind {
            Kind::Stars(_) => true,
            Kind::Parts { path, .. } => path.iter().all(is_known),
        }
    }

    pub(crate) fn has_variables(&self) -> bool {
        matches!(self.kind, Kind::Parts { .. })
    }

    pub(crate) fn stars(&self) -> usize {
        match &self.kind {
            Kind::Stars(template) => template.stars(),
            Kind::Parts { path, query } => {
                path.iter().chain(query.iter().flatten()).filter(|part| matches!(part, Part::Star(_))).count()
            }
        }
    }
}

/// In the extensions of the response to a request that was rewritten more often than any honest one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteLoop {
    /// The path of the route that rewrote it last, or its expression.
    pub route: String,
}

fn fill_query(parts: &[Part], source: &Source<'_>) -> String {
    let mut query = Vec::new();
    for part in parts {
        let mut value = Vec::new();
        part.append(source, &mut value);
        match part {
            Part::Variable(variable) if variable.encoding() == Encoding::Plain => append_query(&value, &mut query),
            Part::Star(_) => append_query(&value, &mut query),
            Part::Text(_) | Part::Variable(_) => append_url(&value, &mut query),
        }
    }
    let ends_with_arguments = matches!(parts.last(), Some(Part::Variable(Variable::Named(Name::Arguments))));
    // A request without a query leaves nothing behind `?page=1&$args`.
    if ends_with_arguments && source.query.is_none_or(str::is_empty) && query.last() == Some(&b'&') {
        query.pop();
    }
    // All of it is ASCII.
    String::from_utf8(query).unwrap_or_default()
}

impl Part {
    fn append(&self, source: &Source<'_>, output: &mut Vec<u8>) {
        match self {
            Self::Text(text) => output.extend_from_slice(text.as_bytes()),
            Self::Star(number) => output.extend_from_slice(source.captures.get(*number).copied().unwrap_or_default()),
            Self::Variable(variable) => drop(variable.append(source, output)),
        }
    }

    /// A text in its place, by which the text around it is checked.
    fn example(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Star(_) => "*",
            Self::Variable(_) => "x",
        }
    }
}

/// The parts of a text in which so many stars stand before it.
fn parts(text: &Text, mut stars: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    for part in text.parts() {
        match part {
            TextPart::Variable(variable) => parts.push(Part::Variable(variable.clone())),
            TextPart::Text(text) => {
                for (number, piece) in text.split('*').enumerate() {
                    if number > 0 {
                        parts.push(Part::Star(stars));
                        stars += 1;
                    }
                    if !piece.is_empty() {
                        parts.push(Part::Text(piece.into()));
                    }
                }
            }
        }
    }
    parts
}

impl FromStr for RewriteTarget {
    type Err = InvalidPath;

    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        if !text.starts_with('/') {
            return Err(InvalidPath::WithoutSlash);
        }
        check(text)?;
        Ok(Self { text: text.to_owned(), kind: Kind::Stars(Template::new(text)) })
    }
}

/// Why a text is not the target of a rewrite. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidRewrite {
    /// The path cannot be one.
    Path(InvalidPath),
    /// A variable is none.
    Variable(VariableError),
    /// `$request_uri` is path and query together.
    RequestUri,
}

impl From<InvalidPath> for InvalidRewrite {
    fn from(error: InvalidPath) -> Self {
        Self::Path(error)
    }
}

impl From<VariableError> for InvalidRewrite {
    fn from(error: VariableError) -> Self {
        Self::Variable(error)
    }
}

impl fmt::Display for InvalidRewrite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(error) => error.fmt(formatter),
            Self::Variable(error) => error.fmt(formatter),
            Self::RequestUri => formatter.write_str("$request_uri is path and query together: write $uri, and ?$args"),
        }
    }
}

impl Error for InvalidRewrite {}

impl fmt::Display for RewriteTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let cases = [
            ("/", None),
            ("/a/*.png", None),
            ("/*/*", None),
            ("", Some(InvalidPath::WithoutSlash)),
            ("*", Some(InvalidPath::WithoutSlash)),
            ("a", Some(InvalidPath::WithoutSlash)),
            ("/a?b", Some(InvalidPath::Query)),
            ("/a%20", Some(InvalidPath::Encoded)),
            ("/../a", Some(InvalidPath::NeverClean)),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<RewriteTarget>().err(), expected, "{text}");
        }
    }
}
