//! Which other sites may use the responses in a browser: CORS (WHATWG Fetch §3.3).

use serow_message::{Headers, KnownHeader, Method, Pattern, Request, Response, StatusCode};

use super::{put, vary};

/// Which other sites may use the responses in a browser. It answers preflight requests itself, and takes the place of
/// what an application says about it.
#[derive(Clone, Debug)]
pub struct Cors {
    /// The origins, as in `https://a.example`; a `*` stands for any text, and alone for all.
    pub origins: Vec<Pattern>,
    /// Whether all origins are allowed.
    pub any_origin: bool,
    /// The methods of requests that need a preflight; if empty, each one that a client asks for.
    pub methods: Option<String>,
    /// The header fields of requests that need a preflight; if empty, each one that a client asks for.
    pub headers: Option<String>,
    /// The header fields of responses that scripts may read beside the usual ones.
    pub expose: Option<String>,
    /// Whether cookies and other credentials are sent with requests.
    pub credentials: bool,
    /// How long browsers keep the answer to a preflight, in seconds; none: their default, 5 s.
    pub max_age: Option<u64>,
}

/// The fields of a request about CORS.
#[derive(Debug)]
pub(crate) struct CorsRequest {
    origin: Vec<u8>,
    preflight: Option<Preflight>,
}

/// The method and headers that a preflight asks for.
#[derive(Debug)]
struct Preflight {
    method: Vec<u8>,
    headers: Option<Vec<u8>>,
}

impl CorsRequest {
    /// The fields of this request; nothing if it comes from no other site.
    pub(super) fn of(request: &Request) -> Option<Self> {
        let origin = request.headers.get(KnownHeader::Origin)?.to_vec();
        let method = request.headers.get(REQUEST_METHOD).filter(|_| request.method == Method::OPTIONS);
        let preflight = method.map(|method| Preflight {
            method: method.to_vec(),
            headers: request.headers.get(REQUEST_HEADERS).map(<[u8]>::to_vec),
        });
        Some(Self { origin, preflight })
    }
}

impl CorsRequest {
    /// Whether a browser asks what it may, without credentials.
    pub(crate) fn is_preflight(&self) -> bool {
        self.preflight.is_some()
    }
}

impl Cors {
    /// The answer to a preflight, which does not reach the handler.
    pub(super) fn preflight(&self, request: &CorsRequest) -> Option<Response> {
        let preflight = request.preflight.as_ref()?;
        let mut response = Response::new(StatusCode::NO_CONTENT);
        let headers = &mut response.headers;
        self.allow_origin(request, headers);
        for name in ["Access-Control-Request-Method", "Access-Control-Request-Headers"] {
            vary(headers, name);
        }
        if !self.allows(&request.origin) {
            response.status = StatusCode::FORBIDDEN;
            return Some(response);
        }
        let methods = self.methods.as_ref().map_or(&preflight.method[..], String::as_bytes);
        put(headers, "access-control-allow-methods", methods);
        let asked = preflight.headers.as_deref();
        if let Some(names) = self.headers.as_ref().map(String::as_bytes).or(asked) {
            put(headers, "access-control-allow-headers", names);
        }
        if let Some(seconds) = self.max_age {
            put(headers, "access-control-max-age", seconds.to_string());
        }
        Some(response)
    }

    /// Allows the site of the request to use a response.
    pub(super) fn apply(&self, request: Option<&CorsRequest>, headers: &mut Headers) {
        for name in OF_RESPONSES {
            headers.remove(name);
        }
        let Some(request) = request else {
            // A cache must not give this response to another site.
            if !self.allows_all() {
                vary(headers, "Origin");
            }
            return;
        };
        self.allow_origin(request, headers);
        if let Some(names) = self.expose.as_ref().filter(|_| self.allows(&request.origin)) {
            put(headers, "access-control-expose-headers", names);
        }
    }

    fn allow_origin(&self, request: &CorsRequest, headers: &mut Headers) {
        if self.allows_all() {
            return put(headers, ALLOW_ORIGIN, "*");
        }
        vary(headers, "Origin");
        if self.allows(&request.origin) {
            put(headers, ALLOW_ORIGIN, &request.origin);
            if self.credentials {
                put(headers, "access-control-allow-credentials", "true");
            }
        }
    }

    fn allows_all(&self) -> bool {
        self.any_origin && !self.credentials
    }

    fn allows(&self, origin: &[u8]) -> bool {
        self.allows_all() || self.origins.iter().any(|pattern| pattern.matches(&origin.to_ascii_lowercase()))
    }
}

const REQUEST_METHOD: &str = "access-control-request-method";
const REQUEST_HEADERS: &str = "access-control-request-headers";
const ALLOW_ORIGIN: &str = "access-control-allow-origin";

/// Fields that an application may have set, and that a response must not have from two sources.
const OF_RESPONSES: [&str; 3] = [ALLOW_ORIGIN, "access-control-allow-credentials", "access-control-expose-headers"];

#[cfg(test)]
mod tests;
