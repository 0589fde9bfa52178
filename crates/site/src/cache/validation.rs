//! The origin's word about stored responses: that one is current (304), or by a response to HEAD.

use std::sync::Arc;

use serow::{Handler, Response};
use serow_cache::{
    ExchangeTimes, HeadVerdict, NotStored, StorableHead, Stored, TagNames, UpdatedHead, head_verdict, updated,
    validated,
};

use super::{
    delivery::deliver_as,
    fetch::{Fetch, tags_of},
    store_decision::is_for_others,
};

impl<H: Handler> Fetch<H> {
    /// The response that a 304 makes of a stored one (RFC 9111 §4.3.4), and whether it is stored so; nothing if it is about
    /// none, or its content is gone.
    pub(super) fn revalidated(&self, response: &Response, exchange: ExchangeTimes) -> Option<(Response, bool)> {
        let stored = &self.lookup.stored;
        let before = &stored[validated(stored.iter().map(|stored| &stored.head), &response.headers)?];
        let UpdatedHead { own, stored: decision } = self.updated(before, response, exchange);
        let is_stored = self.decide(before, decision, &tags_of(response));
        let (method, request) = (&self.head.method, &self.head.headers);
        let delivered = deliver_as(method, request, &own, &before.body, self.cache.store.now()).ok()?;
        Some((self.finish(delivered, self.validated_by(response.status, is_stored)), is_stored))
    }

    /// The head of a stored response, updated by the head of a response to this request.
    fn updated(&self, before: &Stored, response: &Response, exchange: ExchangeTimes) -> UpdatedHead {
        let (request, rules) = (self.storing_request(&self.head.headers), &self.cache.settings.rules);
        updated(&before.head, request, &response.headers, rules, exchange)
    }

    /// Stores the updated head of a stored response, or withdraws that response if it is not for others any more; whether it
    /// is stored.
    fn decide(&self, before: &Arc<Stored>, decision: Result<StorableHead, NotStored>, tags: &TagNames) -> bool {
        let (memory, key) = (self.cache.memory(), &self.cache_request.key);
        match decision {
            Ok(head) if before.head.variant.matches(&self.head.headers) => {
                memory.replace(key, self.version, before, head, tags);
                true
            }
            Ok(head) => {
                // The origin has selected for this request what was stored for others.
                memory.insert_variant(key.clone(), self.version, before, head, tags);
                true
            }
            Err(why) => {
                if !why.is_of_request() {
                    memory.withdraw(key, before);
                }
                false
            }
        }
    }

    /// Updates or outdates what is stored for GET by a response to HEAD (RFC 9111 §4.3.5).
    pub(super) fn compare_head(&self, response: &Response, exchange: ExchangeTimes) {
        let selected = self.lookup.stored.first().filter(|_| self.lookup.is_selected);
        let Some(before) = selected.or(self.lookup.part.as_ref()) else { return };
        let length = before.body.complete_length();
        match head_verdict(&before.head, length, response.status, &response.headers) {
            HeadVerdict::Same if is_for_others(response) => {
                let updated = self.updated(before, response, exchange);
                let _ = self.decide(before, updated.stored, &tags_of(response));
            }
            HeadVerdict::Changed => self.cache.memory().outdate(&self.cache_request.key, self.version, before),
            HeadVerdict::Same | HeadVerdict::Unrelated => {}
        }
    }
}
