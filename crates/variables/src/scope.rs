//! Which names a text may use, and what they mean there.

use std::sync::Arc;

use crate::{
    error::{VariableError, near},
    expression::Expression,
    maps::Maps,
    name::Name,
    reserved_names::{HOST_NAME, LOG_ONLY, SERVER_NAME, of_process},
    response_name::ResponseName,
    text::{Part, Piece, Text, push_text, read_pieces},
    variable::Variable,
};

/// Which names a text may use: those of every request, those of maps, and at a route, what its path matched.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    maps: Arc<Maps>,
    server_name: Option<Box<str>>,
    /// Nothing where there is no route. A star has no name.
    captures: Option<Vec<Option<Box<str>>>>,
    /// Whether these are those of a map's value, and not of a route's path.
    is_of_map: bool,
    /// Whether texts are for fields of a response, and may name its values.
    reads_response: bool,
}

impl Text {
    /// Parses a text.
    ///
    /// # Errors
    ///
    /// A `$` without a name, or with one that the scope does not know. The error says what to write.
    pub fn parse(text: &str, scope: &Scope) -> Result<Self, VariableError> {
        let mut parts = Vec::new();
        for piece in read_pieces(text)? {
            match piece {
                Piece::Text(text) => push_text(text, &mut parts),
                Piece::Name(name) => match scope.find(name)? {
                    Part::Text(text) => push_text(&text, &mut parts),
                    variable => parts.push(variable),
                },
            }
        }
        Ok(Self::of_parts(parts))
    }
}

impl Scope {
    /// A scope with these maps.
    #[must_use]
    pub fn new(maps: Arc<Maps>) -> Self {
        Self { maps, ..Self::default() }
    }

    /// The scope of a site, whose first host is `$server_name`.
    #[must_use]
    pub fn of_site(&self, server_name: &str) -> Self {
        Self { server_name: Some(server_name.into()), ..self.clone() }
    }

    /// The scope of a route whose path has so many stars.
    #[must_use]
    pub fn of_stars(&self, stars: usize) -> Self {
        Self { captures: Some(vec![None; stars]), ..self.clone() }
    }

    /// The scope of a route whose path matches an expression.
    #[must_use]
    pub fn of_expression(&self, expression: &Expression) -> Self {
        let names = expression.group_names().map(|name| name.map(Into::into));
        Self { captures: Some(names.collect()), ..self.clone() }
    }

    /// The scope of the value that a map has for texts that match an expression.
    pub(crate) fn of_map_value(&self, expression: &Expression) -> Self {
        Self { is_of_map: true, ..self.of_expression(expression) }
    }

    /// The same for fields of responses, which may name values of the response.
    #[must_use]
    pub fn of_response(&self) -> Self {
        Self { reads_response: true, ..self.clone() }
    }

    /// Returns the meaning of a name: a variable, or a text that no request changes.
    ///
    /// # Errors
    ///
    /// An unknown name, with a suggestion.
    pub fn find(&self, written: &str) -> Result<Part, VariableError> {
        if let Some(number) = self.capture(written)? {
            return Ok(Part::Variable(Variable::Capture(number)));
        }
        if written.eq_ignore_ascii_case(SERVER_NAME)
            && let Some(name) = &self.server_name
        {
            return Ok(Part::Text(name.clone()));
        }
        if let Some(text) = of_process(written) {
            return Ok(Part::Text(text));
        }
        if let Some(name) = ResponseName::find(written).filter(|_| self.reads_response) {
            return Ok(Part::Variable(Variable::Response(name)));
        }
        let map = || self.maps.find(written).map(Variable::Map);
        match Variable::find(written).or_else(map) {
            Some(variable) => Ok(Part::Variable(variable)),
            None => Err(self.unknown(written)),
        }
    }

    /// The number of the capture with this name or number.
    fn capture(&self, written: &str) -> Result<Option<usize>, VariableError> {
        let captures = self.captures.as_deref().unwrap_or_default();
        if written.is_empty() || !written.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(captures.iter().position(|name| name.as_deref() == Some(written)));
        }
        let number = written.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        if let Some(number) = number.filter(|number| *number < captures.len()) {
            return Ok(Some(number));
        }
        let text = match (&self.captures, captures.len()) {
            (None, _) => "belongs to a route, or to the expression of a map's value; write $$ for a dollar".to_owned(),
            (_, count) if self.is_of_map => {
                let groups =
                    ["no group", "one group, $1"].get(count).map_or(format!("{count} groups"), ToString::to_string);
                format!("is not there: the expression has {groups}; write $$ for a dollar")
            }
            (_, 0) => {
                "stands for the first * or group of the route's path, which has none; write $$ for a dollar".to_owned()
            }
            (_, 1) => "is not there: the path of the route has one * or group, $1; write $$ for a dollar".to_owned(),
            (_, count) => {
                format!("is not there: the path of the route has {count} stars or groups; write $$ for a dollar")
            }
        };
        Err(VariableError(format!("${written} {text}")))
    }

    /// Names without a part of their own, for suggestions; not $pid, which every short name is near to.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let captures = self.captures.iter().flatten().flatten().map(|name| &**name);
        let names = captures.chain(self.maps.names()).chain(Name::all().map(|name| -> &str { name }));
        let of_response = ResponseName::all().filter(|_| self.reads_response).map(|name| -> &str { name });
        names.chain(self.server_name.is_some().then_some(SERVER_NAME)).chain([HOST_NAME]).chain(of_response)
    }

    /// The names of captures, and their numbers from 1 on.
    pub fn capture_names(&self) -> impl Iterator<Item = String> {
        let captures = self.captures.iter().flatten().enumerate();
        captures.flat_map(|(number, name)| name.iter().map(ToString::to_string).chain([(number + 1).to_string()]))
    }

    fn unknown(&self, written: &str) -> VariableError {
        let name = written.to_ascii_lowercase();
        let of_upstream = name.starts_with("upstream_") && !self.reads_response;
        if LOG_ONLY.contains(&&*name) || of_upstream || name.starts_with("sent_http_") {
            let text = match ResponseName::find(&name) {
                Some(_) => "to fields of the response and to the access log",
                None => "to the access log",
            };
            return VariableError(format!("${written} is known only when the response is sent, {text}"));
        }
        VariableError(match near(&name, self.names()) {
            Some(near) => format!("there is no ${written}; did you mean ${near}?"),
            None => format!("there is no ${written}; docs/matching.md has the names, and $$ is a dollar"),
        })
    }
}
