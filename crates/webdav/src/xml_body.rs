//! The XML of a request, in memory.

use bytes::Bytes;
use serow_message::Body;

use crate::refusal::Refusal;

/// Receives the body of a request that has XML.
///
/// # Errors
///
/// A body that is not complete, or has more than 64 KiB (413).
pub(crate) async fn xml_body(body: Body) -> Result<Bytes, Refusal> {
    body.collect(MAX_BODY).await.map_err(|error| Refusal::of_body(&error))
}

/// Clients send some hundred bytes; properties of this size do not fit into extended attributes anyway.
const MAX_BODY: usize = 64 << 10;
