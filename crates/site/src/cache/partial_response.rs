//! A partial response of the origin (206): it is stored, and passed on as it is.

use serow::{Body, Handler, Response};
use serow_cache::{FillLeader, FillOutcome, is_range_current};
use serow_message::StatusCode;

use super::{
    arriving_body::ArrivingBody,
    counters::CacheEvent,
    fetch::{Fetch, FetchMode, settle, tags_of},
    filling::Filling,
    store_decision::Accepted,
};

impl<H: Handler> Fetch<H> {
    /// Stores a part while its body arrives. The client gets what the origin has sent; requests that wait for the whole
    /// are forwarded for themselves.
    pub(super) fn receive_part(self, response: Response, accepted: Accepted, leader: Option<FillLeader>) -> Response {
        settle(leader.as_ref(), FillOutcome::Released);
        drop(leader);
        self.fill_part(response, accepted)
    }

    fn fill_part(&self, mut response: Response, accepted: Accepted) -> Response {
        let body = std::mem::take(&mut response.body);
        let length = body.length();
        let (filling, content) = Filling::new(self, accepted, body, tags_of(&response));
        // A content that has just begun has readers.
        if let Some(reader) = content.reader(0) {
            response.body = Body::stream(ArrivingBody::new(reader, length));
        }
        filling.start();
        self.finish(response, self.forwarded(true))
    }

    /// Whether the client has a part of another version than that of this part, and wants all of it. Its condition was not
    /// forwarded.
    pub(super) fn has_outdated_part(&self, response: &Response) -> bool {
        self.mode == FetchMode::InParts
            && response.status == StatusCode::PARTIAL_CONTENT
            && !is_range_current(&self.head.headers, &response.headers)
    }

    /// Forwards the request again, with the conditions and ranges of the client. The response is stored if it is a part.
    pub(super) async fn send_as_received(mut self) -> Response {
        self.mode = FetchMode::AsReceived;
        let (response, exchange) = self.send(self.head.headers.clone()).await;
        if response.status == StatusCode::PARTIAL_CONTENT {
            match self.accept(&response, exchange) {
                Ok(part) => return self.fill_part(response, part),
                Err(_) => self.cache.note(CacheEvent::NotStored),
            }
        }
        self.finish(response, self.forwarded(false))
    }
}
