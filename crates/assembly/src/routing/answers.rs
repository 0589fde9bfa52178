//! Applications and other servers that answer for a route.

use serow_config::{
    tables::{applications::AppTable, upstreams::ProxyTable},
    values::NetworkRule,
};
use serow_document::Place;
use serow_router::Action;
use serow_router::ResponseRewriting;
use serow_site::Content;
use serow_variables::Scope;

use super::Routing;
use crate::{proxying::ProxyScopes, rewriting::RewritingReading, route_numbers::trusted};

impl Routing<'_> {
    pub(super) fn proxy(&self, table: ProxyTable, scopes: ProxyScopes<'_>, place: &Place) -> Option<Action<Content>> {
        self.proxying.proxy(table, scopes, place).map(|proxy| Action::Handle(Content::Proxy(proxy)))
    }

    /// The changes in responses of a proxy.
    pub(super) fn rewriting(
        &self,
        table: Option<&ProxyTable>,
        trust: Option<&[NetworkRule]>,
        scope: &Scope,
        place: &Place,
    ) -> Option<ResponseRewriting> {
        let Some(table) = table else { return Some(ResponseRewriting::default()) };
        let reading = RewritingReading { scope, place: &place.key("proxy"), problems: self.problems };
        let rewriting = reading.rewriting(&table.settings)?;
        Some(ResponseRewriting { trusted: trusted(trust.unwrap_or(self.trust)), ..rewriting })
    }

    pub(super) fn app(&self, table: AppTable, has_internal: bool, place: &Place) -> Option<Action<Content>> {
        let application = self.applications.application(table, has_internal, place)?;
        application.content().map(Action::Handle)
    }
}
