//! The cache of a route, before it has its handler.

use std::sync::Arc;

use serow_cache::scope;

use super::{CacheSettings, CacheStore, ResponseCache, origin::Origin};
use crate::Content;

/// The cache of a route that has no handler yet.
#[derive(Clone, Debug)]
pub struct RouteCache {
    store: CacheStore,
    settings: CacheSettings,
    name: String,
}

impl RouteCache {
    /// The cache of a route, which stores its responses there. `name` tells by which requests the route is reached: what is kept in
    /// a folder is found again by a route with the same name, key and handler. A number by the order of routes must not be in it:
    /// after a reload, another route would have it.
    #[must_use]
    pub fn new(store: CacheStore, settings: CacheSettings, name: String) -> Self {
        Self { store, settings, name }
    }

    /// The cache around this handler.
    pub(crate) fn around(self, handler: &Content) -> ResponseCache {
        self.with_origin(Origin::of(handler))
    }

    /// The cache around a handler of which this is known.
    pub(super) fn with_origin(self, origin: Origin) -> ResponseCache {
        let Self { store, settings, name } = self;
        // With another key, what is kept in a folder would be found for other requests than those it is for.
        let CacheSettings { ignored_query, key_fields, key_cookies, .. } = &settings;
        let scope = scope(&format!("{name:?} {:?} {ignored_query:?} {key_fields:?} {key_cookies:?}", origin.name));
        ResponseCache { store, settings: Arc::new(settings), origin: Arc::new(origin), scope }
    }
}
