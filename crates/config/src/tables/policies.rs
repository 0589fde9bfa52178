//! The policy of a site or a route around its handler, as it is written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    tables::{cache::CacheSetting, compression::CompressionSetting, error_pages::ErrorPageTable, mirror::MirrorTable},
    values::{Size, SizeLimit, Span, TextOr},
};

/// The policy of a site or a route around its handler; for a key that a route leaves out, that of its site counts.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct PolicySettings {
    /// Whether to compress responses with zstd, brotli or gzip, as the client prefers: true, or a table that says how
    /// [default: folders are compressed, applications and other servers are not]
    ///
    /// Streams are sent as they arrive. Responses that are compressed already, or have Cache-Control: no-transform, stay
    /// as they are. In a route, it overrides that of the site. Do not compress pages that repeat parts of a request next
    /// to secrets: their length gives the secrets away (BREACH).
    pub compress: Option<CompressionSetting>,

    /// Pages to send in place of error messages: { 404 = "404.html", "502-504" = { path = "/sorry" } }.
    ///
    /// { route = "NAME" } is the page that the routes of the site with this name make of the request, { path = "/PATH" } that of GET
    /// of this path, among internal routes as well. With status = 200 or status = "route", the page has this status, or its own.
    ///
    /// Otherwise, the status stays. Files, .html, .json, .txt or .svg, are read when the server starts. Clients that prefer JSON
    /// get problem details (RFC 9457) instead, unless the file is JSON. Pages of a route take precedence over those of its
    /// site, and all of them over `not-found` of `files`.
    pub error_pages: BTreeMap<String, TextOr<ErrorPageTable>>,

    /// Whether `error-pages` also replace errors that come from applications and other servers [default: false]
    ///
    /// Without it, they replace what Serow says itself: that there is no such file, or that an application does not
    /// answer.
    pub intercept: Option<bool>,

    /// Which other sites may use the responses in a browser (CORS): { origins = ["https://a.example"] }.
    ///
    /// Preflight requests are answered without the handler, and the fields replace those of an application.
    pub cors: Option<CorsTable>,

    /// Whether to add X-Content-Type-Options: nosniff, X-Frame-Options: SAMEORIGIN and Referrer-Policy:
    /// strict-origin-when-cross-origin to responses that do not have them [default: false]
    pub security_headers: Option<bool>,

    /// Maximum size of a request body, or unlimited; larger bodies receive 413 [default: `max-body` at the root; without
    /// it, 10M, and unlimited for folders that clients may change]
    ///
    /// 0 allows no body at all.
    pub max_body: Option<SizeLimit>,

    /// Maximum bandwidth of each response, in bytes per second, or unlimited [default: unlimited]
    ///
    /// Other responses on the same connection are not held up. Files are then read and sent piece by piece, not with
    /// sendfile. A client that opens several connections gets the rate for each response.
    pub rate: Option<SizeLimit>,

    /// Size of the beginning of each response that `rate` does not limit [default: 0]
    pub rate_after: Option<Size>,

    /// Time limit for each 4k of a request body [default: `body-timeout` at the root]
    ///
    /// The client has this time while the handler waits for the body. Responses have the limit of the root.
    pub body_timeout: Option<Span>,

    /// Upstream that receives copies of the requests, and whose responses are discarded: { upstream = "staging", share =
    /// 10 } copies 10 percent.
    ///
    /// Clients do not wait for the copies. A copy is left out if its body is longer than `max-body` (1M) or is never
    /// complete, or while 512 copies are in flight; serow status counts these. Upgrades such as WebSockets are not copied.
    pub mirror: Option<MirrorTable>,

    /// Whether to cache the responses of applications and other servers in the memory of `[cache]`: true, or a table that
    /// says how [default: false]
    ///
    /// By default, only responses decide: by Cache-Control, Expires or a validator (RFC 9111). They are cached before
    /// `compress`, `error-pages` and the other keys here change them, and after access was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheSetting>,
}

/// Which other sites may use the responses.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[serde(expecting = "a table, as in { origins = [\"https://a.example\"] }")]
pub struct CorsTable {
    /// Origins that may read responses: https://a.example, https://*.b.example, or * for all.
    pub origins: Vec<String>,

    /// Methods that need permission [default: each that a preflight request asks for]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>>,

    /// Header fields of requests [default: each that a preflight request asks for]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<Vec<String>>,

    /// Header fields of responses that scripts may read, beside the usual ones [default: none]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expose: Option<Vec<String>>,

    /// Whether browsers send cookies and other credentials.
    #[serde(default)]
    pub credentials: bool,

    /// How long browsers remember the answer to a preflight request [default: 5s, as browsers do]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age: Option<Span>,
}

impl PolicySettings {
    /// The keys that are given.
    pub fn given(&self) -> Vec<&'static str> {
        let Self {
            compress,
            error_pages,
            intercept,
            cors,
            security_headers,
            max_body,
            rate,
            rate_after,
            body_timeout,
            mirror,
            cache,
        } = self;
        let keys = [
            ("compress", compress.is_some()),
            ("error-pages", !error_pages.is_empty()),
            ("intercept", intercept.is_some()),
            ("cors", cors.is_some()),
            ("security-headers", security_headers.is_some()),
            ("max-body", max_body.is_some()),
            ("rate", rate.is_some()),
            ("rate-after", rate_after.is_some()),
            ("body-timeout", body_timeout.is_some()),
            ("mirror", mirror.is_some()),
            ("cache", cache.is_some()),
        ];
        keys.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key).collect()
    }
}
