//! The heads of requests and responses: everything but the body.

use http::{Method, StatusCode, Version};

use crate::{Headers, Target};

/// The head of a request.
#[derive(Clone, Debug)]
pub struct RequestHead {
    /// GET, HEAD, POST, …
    pub method: Method,
    /// The target of the request.
    pub target: Target,
    /// The version the client speaks.
    pub version: Version,
    /// The header fields.
    pub headers: Headers,
}

/// The head of a response.
#[derive(Clone, Debug)]
pub struct ResponseHead {
    /// 200, 404, …
    pub status: StatusCode,
    /// The version the server speaks.
    pub version: Version,
    /// The header fields.
    pub headers: Headers,
}
