//! The expression and methods that a route matches, and its answers other than those of a folder.

use serow_config::tables::{
    applications::AppTable,
    handlers::{RedirectTable, RespondTable},
    upstreams::ProxyTable,
};
use serow_document::{Place, Problem};
use serow_router::{Action, FixedResponse, InvalidRedirect, InvalidResponse, Methods, Redirect, RewriteTarget};
use serow_site::Content;
use serow_variables::{Expression, Scope, Text};

use super::Routing;
use crate::proxying::ProxyScopes;

impl Routing<'_> {
    pub(super) fn expression(&self, text: &str, place: &Place) -> Option<Expression> {
        self.noted(text.parse().map_err(|error| Problem::of_value(place.clone(), format!("{text:?} {error}"))))
    }

    pub(super) fn rewrite(&self, text: &str, scope: &Scope, place: &Place) -> Option<Action<Content>> {
        let target = RewriteTarget::with_variables(text, scope);
        let target = target.map_err(|error| Problem::of_value(place.clone(), format!("{text:?}: {error}")));
        self.noted(target).map(Action::Rewrite)
    }

    pub(super) fn methods(&self, table: Option<&[String]>, place: &Place) -> Option<Methods> {
        let Some(table) = table else { return Some(Methods::default()) };
        if table.is_empty() {
            let text = "there is no method: name one, or leave the key out for all";
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        self.noted(Methods::new(table).map_err(|error| Problem::of_value(place.clone(), error.to_string())))
    }

    pub(super) fn redirect(&self, table: &RedirectTable, scope: &Scope, place: &Place) -> Option<Action<Content>> {
        let redirect = Redirect::with_variables(&table.to, table.status.0, scope).map_err(|error| match error {
            InvalidRedirect::Status => Problem::of_value(place.key("status"), error.to_string()),
            _ => Problem::of_value(place.key("to"), format!("{:?}: {error}", table.to)),
        });
        self.noted(redirect).map(Action::Redirect)
    }

    pub(super) fn respond(&self, table: RespondTable, scope: &Scope, place: &Place) -> Option<Action<Content>> {
        let RespondTable { status, body, media_type } = table;
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

    pub(super) fn proxy(&self, table: ProxyTable, scopes: ProxyScopes<'_>, place: &Place) -> Option<Action<Content>> {
        self.proxying.proxy(table, scopes, place).map(|proxy| Action::Handle(Content::Proxy(proxy)))
    }

    pub(super) fn app(&self, table: AppTable, has_internal: bool, place: &Place) -> Option<Action<Content>> {
        let application = self.applications.application(table, has_internal, place)?;
        application.content().map(Action::Handle)
    }
}
