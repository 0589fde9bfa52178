//! The parts of a request that decide about its response.

use serow_coding::{Accepted, Coding};
use serow_gateway::prefers_problem_details;
use serow_message::{KnownHeader, Method, Request, Version};

use crate::error_routes::ForErrorPage;

use super::{RoutePolicy, cors::CorsRequest};

/// The parts of a request that decide about its response. The headers are not kept: with a clone of them, the handler
/// would have to copy all when it changes one.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Whether only the head is sent.
    pub(crate) is_head: bool,
    /// Whether the connection becomes a tunnel.
    pub(crate) is_tunnel: bool,
    /// The best coding for the client among those of the policy.
    pub(crate) coding: Option<Coding>,
    /// The weak entity tags that the client has, each in its quotation marks and with a comma before and behind it.
    pub(crate) weak_tags: Vec<u8>,
    /// Whether errors are sent as JSON, if there is a policy for errors.
    pub(crate) prefers_json: bool,
    /// Whether it is one for an error page, whose errors have none.
    pub(crate) is_for_page: bool,
    /// Its fields of CORS, if there is a policy for them.
    pub(crate) cors: Option<CorsRequest>,
}

impl Asked {
    /// The parts of a request that this policy needs.
    pub(crate) fn new(policy: &RoutePolicy, request: &Request) -> Self {
        let mut asked = Self {
            is_head: request.method == Method::HEAD,
            is_tunnel: request.method == Method::CONNECT,
            coding: None,
            weak_tags: Vec::new(),
            prefers_json: policy.error_pages.is_some() && prefers_problem_details(&request.headers),
            is_for_page: ForErrorPage::marks(request),
            cors: policy.cors.as_ref().and_then(|_| CorsRequest::of(request)),
        };
        if let Some(compression) = &policy.compression {
            // HTTP/1.0 has no chunks: the connection would close behind each response (nginx's `gzip_http_version`).
            let can_be_coded = !matches!(request.version, Version::HTTP_09 | Version::HTTP_10);
            if can_be_coded && request.headers.contains(KnownHeader::AcceptEncoding) {
                asked.coding = Accepted::of(&request.headers).best(compression.codings.iter().copied());
            }
            if asked.coding.is_some() {
                for tag in request.headers.list(KnownHeader::IfNoneMatch).filter_map(|tag| tag.strip_prefix(b"W/")) {
                    asked.weak_tags.extend([b",", tag, b","].concat());
                }
            }
        }
        asked
    }

    /// Whether the client has a response with the weak form of this entity tag.
    pub(crate) fn has_weak(&self, tag: &[u8]) -> bool {
        let wanted = [b",", tag, b","].concat();
        self.weak_tags.windows(wanted.len()).any(|window| window == wanted)
    }
}
