//! Origins, preflights, and what becomes of an application's own fields.

use super::*;

fn cors() -> Cors {
    Cors {
        origins: vec![Pattern::new("https://a.example"), Pattern::new("https://*.b.example")],
        any_origin: false,
        methods: None,
        headers: None,
        expose: Some("X-Total".to_owned()),
        credentials: true,
        max_age: Some(600),
    }
}

fn request(method: Method, fields: &[(&str, &str)]) -> Request {
    let mut request = Request::get("/");
    request.method = method;
    for (name, value) in fields {
        request.headers.append(*name, value).unwrap();
    }
    request
}

/// Name and value of all fields, in order.
fn fields(headers: &Headers) -> String {
    let fields = headers.iter().map(|(name, value)| {
        let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value));
        format!("{}: {value}", name.trim_start_matches("access-control-"))
    });
    fields.collect::<Vec<_>>().join("; ")
}

#[test]
fn only_named_origins_may_read_responses() {
    for (origin, expected) in [
        (None, "vary: Origin"),
        (
            Some("https://a.example"),
            "vary: Origin; allow-origin: https://a.example; allow-credentials: true; expose-headers: X-Total",
        ),
        (
            Some("https://x.b.example"),
            "vary: Origin; allow-origin: https://x.b.example; allow-credentials: true; expose-headers: X-Total",
        ),
        (Some("https://b.example"), "vary: Origin"),
        (Some("http://a.example"), "vary: Origin"),
        (Some("https://a.example.evil"), "vary: Origin"),
        (Some("https://evilb.example"), "vary: Origin"),
        (Some("null"), "vary: Origin"),
    ] {
        let origin = origin.map(|origin| ("origin", origin));
        let request = CorsRequest::of(&request(Method::GET, origin.as_slice()));
        let mut headers = Headers::new();
        // Two of them would be refused by browsers.
        headers.append(ALLOW_ORIGIN, "*").unwrap();
        cors().apply(request.as_ref(), &mut headers);
        assert_eq!(fields(&headers), expected, "{origin:?}");
        assert!(request.is_none_or(|request| cors().preflight(&request).is_none()));
    }
}

#[test]
fn all_origins_need_no_vary() {
    let cors = Cors { any_origin: true, credentials: false, expose: None, ..cors() };
    for origin in [&[][..], &[("origin", "null")], &[("origin", "https://c.example")]] {
        let request = CorsRequest::of(&request(Method::GET, origin));
        let mut headers = Headers::new();
        cors.apply(request.as_ref(), &mut headers);
        assert_eq!(fields(&headers), if origin.is_empty() { "" } else { "allow-origin: *" });
    }
}

#[test]
fn preflights_are_answered() {
    let varies = "vary: Access-Control-Request-Method; vary: Access-Control-Request-Headers";
    for (origin, methods, status, expected) in [
        (
            "https://a.example",
            None,
            204,
            format!(
                "vary: Origin; allow-origin: https://a.example; allow-credentials: true; {varies}; allow-methods: PUT; \
                 allow-headers: x-a,x-b; max-age: 600"
            ),
        ),
        (
            "https://a.example",
            Some("GET, DELETE"),
            204,
            format!(
                "vary: Origin; allow-origin: https://a.example; allow-credentials: true; {varies}; allow-methods: GET, \
                 DELETE; allow-headers: x-a,x-b; max-age: 600"
            ),
        ),
        ("https://c.example", None, 403, format!("vary: Origin; {varies}")),
    ] {
        let asked = [("origin", origin), (REQUEST_METHOD, "PUT"), (REQUEST_HEADERS, "x-a,x-b")];
        let request = CorsRequest::of(&request(Method::OPTIONS, &asked)).unwrap();
        let cors = Cors { methods: methods.map(str::to_owned), ..cors() };
        let response = cors.preflight(&request).unwrap();
        assert_eq!((response.status.as_u16(), fields(&response.headers)), (status, expected), "{origin}");
    }
}
