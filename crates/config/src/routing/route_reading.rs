//! The parts of sites and routes that the router needs, read from their tables.

use std::{fmt::Display, str::FromStr};

use serow_document::{Place, Problem, Problems};
use serow_router::{
    Action, FixedResponse, HostPattern, InvalidRedirect, InvalidResponse, Methods, Redirect, RewriteTarget,
};
use serow_variables::{Expression, Scope, Text};

use crate::{
    tables::handlers::{RedirectTable, RespondTable, RewriteSettings},
    values::TextOr,
};

/// Reads parts of sites and routes; `None` where one is wrong, which is reported.
#[derive(Clone, Copy, Debug)]
pub struct RouteReading<'a> {
    /// Where problems are reported.
    pub problems: &'a Problems,
}

impl RouteReading<'_> {
    /// The expression that a path matches.
    pub fn expression(&self, text: &str, place: &Place) -> Option<Expression> {
        self.noted(text.parse().map_err(|error| Problem::of_value(place.clone(), format!("{text:?} {error}"))))
    }

    /// The path that replaces that of a request.
    fn rewrite(&self, table: &RewriteSettings, scope: &Scope, place: &Place) -> Option<RewriteTarget> {
        let (text, place) = (table.to(), place.key("rewrite"));
        let place = if matches!(table.rewrite, TextOr::Table(_)) { place.key("to") } else { place };
        let target = RewriteTarget::with_variables(text, scope);
        self.noted(target.map_err(|error| Problem::of_value(place.clone(), format!("{text:?}: {error}"))))
    }

    /// The change of the path of a route without a handler.
    pub fn rewriting<T>(&self, table: &RewriteSettings, scope: &Scope, place: &Place) -> Option<Action<T>> {
        let action = if table.restarts() { Action::Restart } else { Action::Rewrite };
        self.rewrite(table, scope, place).map(action)
    }

    /// The path that the handler of a route gets, if it is not that of the request.
    pub fn own_rewrite(
        &self,
        table: Option<&RewriteSettings>,
        scope: &Scope,
        place: &Place,
    ) -> Option<Option<RewriteTarget>> {
        match table {
            None => Some(None),
            Some(table) => self.rewrite(table, scope, place).map(Some),
        }
    }

    /// The methods that a route takes.
    pub fn methods(&self, table: Option<&[String]>, place: &Place) -> Option<Methods> {
        let Some(table) = table else { return Some(Methods::default()) };
        if table.is_empty() {
            let text = "there is no method: name one, or leave the key out for all";
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        self.noted(Methods::new(table).map_err(|error| Problem::of_value(place.clone(), error.to_string())))
    }

    /// The redirect that answers.
    pub fn redirect<T>(&self, table: &RedirectTable, scope: &Scope, place: &Place) -> Option<Action<T>> {
        let redirect = Redirect::with_variables(&table.to, table.status.0, scope).map_err(|error| match error {
            InvalidRedirect::Status => Problem::of_value(place.key("status"), error.to_string()),
            _ => Problem::of_value(place.key("to"), format!("{:?}: {error}", table.to)),
        });
        self.noted(redirect).map(Action::Redirect)
    }

    /// The fixed response that answers.
    pub fn respond<T>(&self, table: RespondTable, scope: &Scope, place: &Place) -> Option<Action<T>> {
        let RespondTable { status, body, media_type, close } = table;
        if close && (body.is_some() || status.get() != 200) {
            let key = if body.is_some() { "body" } else { "status" };
            let text = format!("with `close`, the client gets no response: leave out `{key}`, or `close`");
            return self.noted(Err(Problem::of_key(place.key(key), text)));
        }
        if close {
            return Some(Action::Respond(FixedResponse::unanswered()));
        }
        let body = match body.map(|body| Text::parse(&body, scope)).transpose() {
            Ok(body) => body,
            Err(error) => return self.noted(Err(Problem::of_value(place.key("body"), error.to_string()))),
        };
        let response = FixedResponse::new(status.get() as u16).and_then(|response| match body {
            Some(body) => response.with_text(body, &media_type),
            None => Ok(response),
        });
        let problem = |error: InvalidResponse| {
            let key = match error {
                InvalidResponse::Status => "status",
                InvalidResponse::Body => "body",
                InvalidResponse::MediaType(_) => "type",
            };
            Problem::of_value(place.key(key), error.to_string())
        };
        self.noted(response.map_err(problem)).map(Action::Respond)
    }

    /// The hosts of a site.
    pub fn hosts(&self, table: Option<Vec<String>>, place: &Place) -> Option<Vec<HostPattern>> {
        let Some(table) = table else { return Some(Vec::new()) };
        if table.is_empty() {
            let text = "there is no host: name one, or leave the key out for all hosts that no other site has";
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        let hosts = table.iter().enumerate();
        let hosts: Vec<_> = hosts.map(|(number, host)| self.text(host, &place.element(number))).collect();
        hosts.into_iter().collect()
    }

    /// A text that says what is wrong with it.
    pub fn text<T: FromStr<Err: Display>>(&self, text: &str, place: &Place) -> Option<T> {
        self.noted(text.parse().map_err(|error| Problem::of_value(place.clone(), format!("{text:?}: {error}"))))
    }

    fn noted<T>(&self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.problems.add(problem)).ok()
    }
}
