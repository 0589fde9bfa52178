//! Applications and other servers that answer for a route.

use serow_config::tables::{applications::AppTable, upstreams::ProxyTable};
use serow_document::Place;
use serow_router::Action;
use serow_site::Content;

use super::Routing;
use crate::proxying::ProxyScopes;

impl Routing<'_> {
    pub(super) fn proxy(&self, table: ProxyTable, scopes: ProxyScopes<'_>, place: &Place) -> Option<Action<Content>> {
        self.proxying.proxy(table, scopes, place).map(|proxy| Action::Handle(Content::Proxy(proxy)))
    }

    pub(super) fn app(&self, table: AppTable, has_internal: bool, place: &Place) -> Option<Action<Content>> {
        let application = self.applications.application(table, has_internal, place)?;
        application.content().map(Action::Handle)
    }
}
