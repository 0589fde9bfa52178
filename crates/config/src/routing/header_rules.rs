//! The meaning of rules about header fields.

use std::collections::BTreeMap;

use serow_document::{Place, Problem, Problems};
use serow_router::{ChangeProblem, HeaderChanges, HeaderOperation, HeaderRule, InvalidChange, RuleSubject};
use serow_variables::Scope;

use crate::tables::header_rules::{HeaderRuleSettings, HeaderRuleTable};

/// Finds out what changes of header fields mean, and notes what means nothing.
pub struct HeaderReading<'a> {
    /// Which variables values may name.
    pub scope: &'a Scope,
    /// Where problems are reported.
    pub problems: &'a Problems,
}

/// The changes that a site or a route makes to header fields.
#[derive(Clone)]
pub struct HeaderMeaning {
    /// Those of responses.
    pub responses: HeaderChanges,
    /// Those of requests.
    pub requests: HeaderChanges,
}

impl HeaderReading<'_> {
    /// The changes of a site or a route that stands here; nothing where something is wrong.
    pub fn changes(
        &self,
        set: &BTreeMap<String, String>,
        rules: &HeaderRuleSettings,
        place: &Place,
    ) -> Option<HeaderMeaning> {
        let scope = self.scope.of_response();
        let of_response = HeaderReading { scope: &scope, problems: self.problems };
        let set = of_response.set(set, &place.key("headers"));
        let responses =
            of_response.rules(&rules.response_headers, RuleSubject::Response, &place.key("response-headers"));
        let requests = self.rules(&rules.request_headers, RuleSubject::Request, &place.key("request-headers"));
        Some(HeaderMeaning { responses: set?.followed_by(&responses?), requests: requests? })
    }

    fn set(&self, table: &BTreeMap<String, String>, place: &Place) -> Option<HeaderChanges> {
        let problem = |error: InvalidChange| Problem::of_value(place.key(error.name), error.problem.to_string());
        // Each alone first, so that all that is wrong is found.
        let wrong =
            table.iter().filter_map(|field| HeaderChanges::with_variables([field], self.scope).err().map(problem));
        match wrong.map(|problem| self.problems.add(problem)).count() {
            0 => self.noted(HeaderChanges::with_variables(table, self.scope).map_err(problem)),
            _ => None,
        }
    }

    fn rules(&self, tables: &[HeaderRuleTable], subject: RuleSubject, place: &Place) -> Option<HeaderChanges> {
        let mut rules = Vec::new();
        for (number, table) in tables.iter().enumerate() {
            let place = place.element(number);
            let rule = rule(table, &place).and_then(|(key, rule)| {
                // Each alone, so that all that is wrong is found.
                match HeaderChanges::of_rules(std::slice::from_ref(&rule), subject, self.scope) {
                    Ok(_) => Ok(rule),
                    Err((_, problem)) => {
                        let text = match &problem {
                            ChangeProblem::Variable(_) | ChangeProblem::NoValue | ChangeProblem::Status => {
                                problem.to_string()
                            }
                            problem => format!("{:?}: {problem}", rule.name),
                        };
                        let key = match problem {
                            ChangeProblem::Variable(_) => "value",
                            ChangeProblem::NoValue if table.value.is_some() => "value",
                            ChangeProblem::Status => "status",
                            _ => key,
                        };
                        Err(Problem::of_value(place.key(key), text))
                    }
                }
            });
            rules.push(self.noted(rule));
        }
        let rules: Vec<HeaderRule> = rules.into_iter().collect::<Option<_>>()?;
        HeaderChanges::of_rules(&rules, subject, self.scope).ok()
    }

    fn noted<T>(&self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.problems.add(problem)).ok()
    }
}

/// The rule, and the key that names its field.
fn rule(table: &HeaderRuleTable, place: &Place) -> Result<(&'static str, HeaderRule), Problem> {
    let HeaderRuleTable { set, add, remove, value, if_absent, status } = table;
    let operations = [
        ("set", set, HeaderOperation::Set),
        ("add", add, HeaderOperation::Add),
        ("remove", remove, HeaderOperation::Remove),
    ];
    let mut given = operations.into_iter().filter_map(|(key, name, operation)| Some((key, name.as_ref()?, operation)));
    let (key, name, operation) = match (given.next(), given.next()) {
        (Some(only), None) => only,
        (Some((first, ..)), Some((other, ..))) => {
            let text = format!("a rule has either `{first}` or `{other}`: make a second rule for the other");
            return Err(Problem::of_key(place.key(other), text));
        }
        (None, _) => {
            let text = "the rule changes nothing: write `set`, `add` or `remove` with the name of a field";
            return Err(Problem::of_key(place.clone(), text));
        }
    };
    if operation == HeaderOperation::Remove {
        let useless = [("value", value.is_some()), ("if-absent", *if_absent)];
        if let Some((other, _)) = useless.into_iter().find(|(_, is_given)| *is_given) {
            let text = format!("`remove` needs no `{other}`: leave it out, or write `set`");
            return Err(Problem::of_key(place.key(other), text));
        }
    }
    let rule = HeaderRule {
        operation,
        name: name.clone(),
        value: value.clone().unwrap_or_default(),
        if_absent: *if_absent,
        statuses: status.iter().map(|range| range.0.clone()).collect(),
    };
    Ok((key, rule))
}
