//! The decision about a response of the origin: it is stored, or passed on.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use serow::{Body, Handler, KnownHeader, Response};
use serow_cache::{
    ArrivingResponse, ExchangeTimes, Extent, FillLeader, FillOutcome, GrowingContent, NotStored, Reuse, Selection,
    Storable, StorableHead, TagNames, is_part_of_use, reuse, select, storable,
};
use serow_gateway::{ErrorReason, LimitRate, NamesReplacement, UnframedBody};
use serow_message::{BodyKind, StatusCode};

use super::{
    arriving_body::ArrivingBody,
    counters::CacheEvent,
    delivery::{deliver_whole, not_satisfiable, part_of, unmodified, with_head},
    fetch::{Fetch, FetchMode, is_failure, settle, tags_of},
    filling::Filling,
    filling_file::FillingFile,
};

/// A response that is stored.
pub(super) struct Accepted {
    pub(super) head: StorableHead,
    pub(super) extent: Extent,
    /// Where its content is put.
    pub(super) file: FillingFile,
}

impl<H: Handler> Fetch<H> {
    /// Stores a response if it may be stored, and returns it.
    pub(super) async fn receive(
        self,
        mut response: Response,
        exchange: ExchangeTimes,
        leader: Option<FillLeader>,
    ) -> Response {
        if self.has_outdated_part(&response) {
            return self.send_as_received().await;
        }
        let accepted = match self.accept(&response, exchange) {
            Ok(accepted) if accepted.extent == Extent::Whole => accepted,
            Ok(part) => return self.receive_part(response, part, leader),
            Err(why) => return self.pass_on(response, why, leader).await,
        };
        if accepted.file.is_open() {
            let body = std::mem::take(&mut response.body);
            return self.fill(response, accepted, body, leader).await;
        }
        let body = std::mem::take(&mut response.body);
        let content = match body.into_kind() {
            BodyKind::Empty => Bytes::new(),
            // Copied, since it may be a part of a large buffer of the connection.
            BodyKind::Bytes(content) => Bytes::copy_from_slice(&content),
            BodyKind::File(range) => return self.fill(response, accepted, Body::file(*range), leader).await,
            BodyKind::Incoming(body) => return self.fill(response, accepted, body.into(), leader).await,
            BodyKind::Stream(body) => return self.fill(response, accepted, body.into(), leader).await,
        };
        let (scope, tags, head) = (self.cache.scope, tags_of(&response), accepted.head);
        let storable = Storable { head: head.clone(), body: content.clone().into(), scope, tags };
        let is_stored = self.cache.memory().insert(self.cache_request.key.clone(), self.version, storable);
        self.cache.note(if is_stored { CacheEvent::Stored } else { CacheEvent::NotStored });
        settle(leader.as_ref(), if is_stored { FillOutcome::Stored } else { FillOutcome::Released });
        let response = deliver_whole(&self.head.headers, response, &head, content);
        self.finish(response, self.forwarded(is_stored))
    }

    /// Where a content of this length is put, if that is known.
    fn place(&self, length: Option<u64>) -> Result<FillingFile, NotStored> {
        let length = length.unwrap_or_default();
        if length <= self.cache.store.memory_threshold() as u64 {
            return Ok(FillingFile::Undecided);
        }
        let file = FillingFile::new(&self.cache, &self.cache_request.key, Some(length));
        if file.is_open() || length <= self.cache.memory().max_object() as u64 {
            return Ok(file);
        }
        Err(if self.cache.store.has_place_for(length) { NotStored::NoRoom } else { NotStored::TooLarge })
    }

    /// The parts of a response that are stored; or the reason why none is.
    pub(super) fn accept(&self, response: &Response, exchange: ExchangeTimes) -> Result<Accepted, NotStored> {
        if !is_for_others(response) {
            return Err(NotStored::NotFresh);
        }
        // A part is judged by the request that was forwarded.
        let headers = match response.status {
            StatusCode::PARTIAL_CONTENT if self.mode != FetchMode::AsReceived => {
                Cow::Owned(self.unconditional_headers())
            }
            _ => Cow::Borrowed(&self.head.headers),
        };
        let (request, rules) = (self.storing_request(&headers), &self.cache.settings.rules);
        let (head, extent) = storable(request, response.status, &response.headers, rules, exchange)?;
        let length = response.body.length();
        let is_of_use = match (extent, &self.lookup.part) {
            (Extent::Part(part), Some(before)) => is_part_of_use(&head, part, before),
            _ => true,
        };
        if !extent.may_have(length) || !is_of_use {
            return Err(NotStored::Part);
        }
        Ok(Accepted { head, extent, file: self.place(length)? })
    }

    /// Returns a response that is not stored.
    async fn pass_on(self, response: Response, why: NotStored, leader: Option<FillLeader>) -> Response {
        self.cache.note(CacheEvent::NotStored);
        let is_failure = is_failure(&response);
        settle(leader.as_ref(), if is_failure { FillOutcome::Failed } else { FillOutcome::Released });
        drop(leader);
        // The next request may be another one, and its response one that can be stored.
        let is_of_user = why == NotStored::Credentials && self.cache_request.has_credentials;
        let is_of_request =
            is_of_user || matches!(why, NotStored::Method | NotStored::RequestNoStore | NotStored::NoRoom);
        let is_for_whole = matches!(self.mode, FetchMode::ToStore | FetchMode::InBackground);
        if !is_failure && !is_of_request && is_for_whole {
            let until = self.cache.store.now().after(self.cache.settings.uncacheable_for);
            self.cache.memory().note_uncacheable(&self.cache_request.key, self.cache.scope, until);
        }
        let wants_part = self.mode == FetchMode::ToStore && self.head.headers.contains(KnownHeader::Range);
        if wants_part && response.status == StatusCode::OK {
            // The client has asked for a part, and gets it from the origin.
            drop(response);
            return self.send_as_received().await;
        }
        self.finish(response, self.forwarded(false))
    }

    /// Stores a response while its body arrives.
    async fn fill(self, response: Response, accepted: Accepted, body: Body, leader: Option<FillLeader>) -> Response {
        let length = body.length();
        let selection = select(&self.head.method, &self.head.headers, &accepted.head, length);
        let is_wanted_in_parts =
            selection != Selection::Whole && length.is_none_or(|length| self.cache.store.is_fetched_for_parts(length));
        let is_wanted_anyway = self.mode == FetchMode::InBackground || is_wanted_in_parts;
        let is_awaited = leader.as_ref().is_some_and(|leader| leader.watch().has_followers());
        if !is_wanted_anyway && !is_awaited && is_small(&selection, length) {
            // The whole would be cut off behind the part, and nothing stored.
            settle(leader.as_ref(), FillOutcome::Released);
            drop((response, body, accepted, leader));
            return self.send_as_received().await;
        }
        let (mut filling, content) = Filling::new(&self, accepted, body, tags_of(&response));
        let is_far = is_far(&selection, 0);
        // A content that has just begun has readers.
        let response =
            arriving(response, &content, selection).unwrap_or_else(|| Response::plain_status(StatusCode::BAD_GATEWAY));
        if let Some(leader) = &leader {
            let (head, tags, version) = (filling.head.clone(), filling.tags.clone(), self.version);
            let arriving = ArrivingResponse { head, content, tags, version };
            leader.settle(FillOutcome::Arriving(Arc::new(arriving)));
        }
        (filling.leader, filling.is_wanted_anyway) = (leader, is_wanted_anyway);
        filling.start();
        if !is_far {
            return self.finish(response, self.forwarded(true));
        }
        // The rest must not wait for a reader that nobody reads from.
        drop(response);
        if !is_wanted_anyway {
            return self.send_as_received().await;
        }
        let (response, _) = self.send(self.head.headers.clone()).await;
        self.finish(response, self.forwarded(true))
    }

    /// The response that is arriving for another request, if this one gets the same.
    ///
    /// # Errors
    ///
    /// How the request is forwarded instead.
    pub(super) fn share(&self, shared: &ArrivingResponse) -> Result<Response, FetchMode> {
        let (head, content, now) = (&shared.head, &shared.content, self.cache.store.now());
        let reuse = reuse(head, &self.cache_request.control, &self.cache.settings.rules, now);
        if !head.variant.matches(&self.head.headers)
            || reuse != Reuse::Send
            || self.cache.memory().were_purged(&shared.tags, shared.version)
        {
            return Err(self.mode);
        }
        let length = content.length();
        if length.is_none() && self.head.headers.contains(KnownHeader::Range) {
            return Err(self.mode);
        }
        let selection = select(&self.head.method, &self.head.headers, head, length);
        if is_far(&selection, content.arrived()) {
            return Err(FetchMode::AsReceived);
        }
        let response = arriving(with_head(head, now), content, selection).ok_or(self.mode)?;
        Ok(self.finish(response, self.collapsed()))
    }
}

/// Whether a response of the origin is one that others may get, as far as this server knows more than its head says.
pub(super) fn is_for_others(response: &Response) -> bool {
    let extensions = &response.extensions;
    let is_own_error = extensions.get::<ErrorReason>().is_some();
    // A body that may have been cut off, or in place of which another one is sent.
    let is_not_all = extensions.get::<UnframedBody>().is_some() || extensions.get::<NamesReplacement>().is_some();
    // A stored one would be sent without its limit.
    let is_limited = extensions.get::<LimitRate>().is_some();
    let has_too_many_tags = extensions.get::<TagNames>().is_some_and(TagNames::is_over_limit);
    !(is_own_error || is_not_all || is_limited || has_too_many_tags)
}

/// The response to a client that selects this part of an arriving content, with the head of `response`; nothing if the
/// beginning of the content is not kept any more.
fn arriving(response: Response, content: &GrowingContent, selection: Selection) -> Option<Response> {
    let length = content.length();
    let body = |offset, length| Some(Body::stream(ArrivingBody::new(content.reader(offset)?, length)));
    Some(match selection {
        Selection::Whole => response.body(body(0, length)?),
        Selection::Part(range) => {
            let body = body(range.start, Some(range.end - range.start))?;
            part_of(response, &range, length.unwrap_or_default()).body(body)
        }
        Selection::NotModified => unmodified(response),
        Selection::NotSatisfiable => {
            Response { extensions: response.extensions, ..not_satisfiable(length.unwrap_or_default()) }
        }
    })
}

/// Whether the client wants a part that will arrive much later, and gets it from the origin.
fn is_far(selection: &Selection, arrived: u64) -> bool {
    matches!(selection, Selection::Part(range) if range.start > arrived + FAR)
}

/// Whether the client wants a part of less than half of the whole.
fn is_small(selection: &Selection, length: Option<u64>) -> bool {
    matches!(selection, Selection::Part(range) if length.is_some_and(|length| range.end - range.start < length / 2))
}

/// Bytes that an origin sends in about the time of another request.
const FAR: u64 = 1 << 20;
