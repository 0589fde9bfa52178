//! The scripts in `examples/scripts`: requests and what is expected of the responses.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::{path::Path, sync::Arc};

use serow_message::{
    Body, Connection, Headers, Request, RequestHead, Response, StatusCode, Target, TrustedProxies, Version,
};
use serow_scripts::{Begun, Fetch, FetchFailure, FetchRequest, Fetched, RouteChoice, Script, ScriptLimits, Servers};

/// Two services, of which one is down.
struct Services;

impl Fetch for Services {
    fn fetch(&self, request: FetchRequest) -> Result<Fetched, FetchFailure> {
        let response = match &*request.url {
            "catalogue/products/7" => Response::text("{\"name\":\"lamp\"}"),
            "catalogue/products/8" => Response::new(StatusCode::NOT_FOUND),
            _ => return Err(FetchFailure("the server is down".to_owned())),
        };
        Ok(Box::pin(async move { response }))
    }
}

fn script(name: &str) -> Script {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scripts").join(name);
    let servers = Servers { fetch: Arc::new(Services), redis: None };
    Script::read(&path, ScriptLimits::default(), TrustedProxies::default(), servers).unwrap()
}

/// The response to a GET with these fields; the handler names the user and the version that it sees.
async fn get(script: &Script, target: &str, fields: &[(&str, &str)]) -> Response {
    let target = Target::parse(target.to_owned().into(), false).unwrap();
    let mut headers = Headers::new();
    for (name, value) in fields {
        headers.append(*name, value).unwrap();
    }
    let head = RequestHead { method: "GET".parse().unwrap(), target, version: Version::HTTP_11, headers };
    let begun = match script.begin(Request::new(head, Body::empty(), Connection::default()), RouteChoice::Open) {
        Ok(begun) => begun,
        Err(waiting) => waiting.await,
    };
    let handle = |request: &Request| {
        let field = |name| request.headers.get_str(name).unwrap_or("-").to_owned();
        let response = Response::text(format!("{} {} {}", request.target, field("x-user"), field("x-version")));
        match request.target.path() {
            "/login" => response.with("x-set-user", "anna@example.com"),
            _ => response,
        }
    };
    match begun {
        Begun::Respond(response) => response,
        Begun::Handle(request, None) => handle(&request),
        Begun::Handle(request, Some(watched)) => watched.finish(handle(&request)).await,
    }
}

async fn text(response: Response) -> String {
    String::from_utf8(response.body.collect(1 << 20).await.unwrap().to_vec()).unwrap()
}

#[tokio::test(flavor = "current_thread")]
async fn secure_links_expire_and_cannot_be_changed() {
    let script = script("secure_link.lua");
    let signature = |expires: &str, path: &str| {
        let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, b"change this");
        let tag = aws_lc_rs::hmac::sign(&key, format!("{expires}{path}").as_bytes());
        data_encoding::BASE64URL_NOPAD.encode(tag.as_ref())
    };
    let (later, path) = ("32503680000", "/files/a.pdf");
    for (target, expected) in [
        (format!("{path}?expires={later}&signature={}", signature(later, path)), 200),
        (format!("/files/./a.pdf?expires={later}&signature={}", signature(later, path)), 200),
        (format!("/files/b.pdf?expires={later}&signature={}", signature(later, path)), 403),
        (format!("{path}?expires=32503680001&signature={}", signature(later, path)), 403),
        (format!("{path}?expires=1&signature={}", signature("1", path)), 410),
        (format!("{path}?expires=x&signature={}", signature("x", path)), 403),
        (path.to_owned(), 403),
        ("/%66iles/a.pdf".to_owned(), 403),
        ("/other".to_owned(), 200),
    ] {
        assert_eq!(get(&script, &target, &[]).await.status, expected, "{target}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn maintenance_is_for_all_but_the_team() {
    let script = script("maintenance.lua");
    for (key, expected) in [("change this", 200), ("change", 503), ("", 503)] {
        let response = get(&script, "/", &[("x-preview", key)]).await;
        assert_eq!(response.status, expected);
        assert_eq!(response.headers.get_str("retry-after").is_some(), expected == 503);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn visitors_keep_their_version() {
    let script = script("ab.lua");
    let mut new = 0;
    for _ in 0..300 {
        let response = get(&script, "/", &[]).await;
        let cookie = response.headers.get_str("set-cookie").unwrap().to_owned();
        let version = cookie.strip_prefix("version=").unwrap()[..1].to_owned();
        new += u32::from(version == "b");
        let fields = [("cookie", &*format!("version={version}"))];
        let response = get(&script, "/", &fields).await;
        assert!(!response.headers.contains("set-cookie"));
        let logged = response.extensions.get::<serow_message::LogFields>().unwrap();
        assert_eq!(logged.0, [("version".to_owned(), version.clone())]);
        assert_eq!(text(response).await, format!("/ - {version}"));
    }
    assert!((5..80).contains(&new), "{new} of 300");
}

#[tokio::test(flavor = "current_thread")]
async fn each_page_has_one_address() {
    let script = script("canonical_host.lua");
    for (host, target, expected) in [
        ("example.com", "/a", None),
        ("EXAMPLE.com", "/", None),
        ("www.example.com", "/a b?c=d".replace(' ', "%20").leak(), Some("https://example.com/a%20b?c=d")),
        ("example.com", "/a/", Some("https://example.com/a")),
        ("example.com", "/a/./b", None),
        ("example.com", "//evil.example/", Some("https://example.com/evil.example")),
        ("example.com", "/%0d%0aset-cookie:a/", Some("https://example.com/%0D%0Aset-cookie%3Aa")),
    ] {
        let response = get(&script, target, &[("host", host)]).await;
        assert_eq!(response.headers.get_str("location"), expected, "{host}{target}");
        assert_eq!(response.status.as_u16(), if expected.is_some() { 308 } else { 200 });
    }
}

#[tokio::test(flavor = "current_thread")]
async fn cookies_that_clients_change_do_not_count() {
    let script = script("signed_cookie.lua");
    let response = get(&script, "/login", &[]).await;
    assert!(!response.headers.contains("x-set-user"));
    let cookie = response.headers.get_str("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    for (cookie, expected) in [
        (cookie.clone(), "/ anna@example.com -"),
        (cookie.replace("anna", "hans"), "/ - -"),
        (format!("{cookie}x"), "/ - -"),
        ("session=".to_owned(), "/ - -"),
    ] {
        let fields = [("cookie", &*cookie), ("x-user", "root")];
        assert_eq!(text(get(&script, "/", &fields).await).await, expected, "{cookie}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_response_is_made_of_two() {
    let script = script("compose.lua");
    for (target, expected) in [
        ("/pages/7", "{\"product\":{\"name\":\"lamp\"},\"stock\":null}"),
        ("/pages/8", "{\"product\":null,\"stock\":null}"),
    ] {
        assert_eq!(text(get(&script, target, &[]).await).await, expected);
    }
    assert_eq!(get(&script, "/pages/x", &[]).await.status, 404);
}

#[tokio::test(flavor = "current_thread")]
async fn a_bucket_empties() {
    let script = script("token_bucket.lua");
    assert_eq!(get(&script, "/", &[]).await.status, 401);
    let mut statuses = Vec::new();
    for _ in 0..12 {
        statuses.push(get(&script, "/", &[("x-api-key", "one")]).await.status.as_u16());
    }
    assert_eq!(statuses[..9], [200; 9]);
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(get(&script, "/", &[("x-api-key", "other")]).await.status, 200);
}
