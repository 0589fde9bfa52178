//! The adapters for Rust programs: axum routers, tower services and layers.

use std::{convert::Infallible, future::Future, sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path},
    routing::{get, post},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serow::{
    Address, Body, BodyKind, BoxError, Error, FileRange, Handler, HandlerExt, HandlerService, Request, RequestContext,
    Response, Server, ServiceHandler,
};
use tower_http::{
    compression::CompressionLayer, cors::CorsLayer, limit::RequestBodyLimitLayer, set_header::SetResponseHeaderLayer,
    timeout::TimeoutLayer,
};

use tokio::io::AsyncWriteExt;

use crate::support::{Client, Folder, Pieces, Running, bytes_of, eventually, logged_since};

/// A WebSocket as `ServiceHandler` documents it, which only says hello.
async fn websocket(request: axum::extract::Request) -> http::Response<Body> {
    let mut request = Request::try_from(request).unwrap();
    let key = request.headers.get_str("sec-websocket-key").map(str::to_owned);
    let (Some(key), Some(upgrade)) = (key, request.upgrade()) else {
        return Response::plain_status(StatusCode::UPGRADE_REQUIRED).into();
    };
    tokio::task::spawn_local(async move { upgrade.await.unwrap().write_all(b"\x81\x05hello").await });
    Response::new(StatusCode::SWITCHING_PROTOCOLS)
        .with("upgrade", "websocket")
        .with("sec-websocket-accept", serow::websocket::accept(&key))
        .into()
}

fn axum_server() -> Running {
    let router =
        Router::new()
            .route("/websocket", get(websocket))
            .route("/refused", get(|| async { StatusCode::UPGRADE_REQUIRED }))
            .route("/", get(|| async { "home" }))
            .route("/greet/{name}", get(|Path(name): Path<String>| async move { format!("Hello, {name}!") }))
            .route("/length", post(|body: Bytes| async move { body.len().to_string() }))
            .route(
                "/limited",
                post(|body: Bytes| async move { body.len().to_string() }).layer(DefaultBodyLimit::max(1000)),
            )
            .route("/headers", get(|headers: HeaderMap| async move { format!("{:?}", headers.get_all("x-twice")) }))
            .route(
                "/peer",
                get(|Extension(context): Extension<RequestContext>| async move {
                    format!("{:?}", context.connection().peer())
                }),
            )
            .route("/stream", get(|| async { axum::body::Body::new(Pieces::new(vec![bytes_of(100_000); 10])) }))
            .route("/echo", post(|body: axum::body::Body| async move { body }))
            .fallback(|uri: http::Uri| async move { (StatusCode::NOT_FOUND, uri.to_string()) });
    Running::new(ServiceHandler::new(router))
}

#[test]
fn an_axum_router_is_a_handler() {
    let server = axum_server();
    let mut client = server.connect();
    assert_eq!(client.get("/").text(), "home");
    assert_eq!(client.get("/greet/serow").text(), "Hello, serow!");
    assert_eq!(client.get("/peer").text(), format!("Tcp({})", client.local_address()));
    client.send("GET /headers HTTP/1.1\r\nHost: a\r\nX-Twice: 1\r\nX-Between: 0\r\nX-Twice: é\r\n\r\n");
    let answer = client.answer();
    assert!(answer.text().contains(r#""1""#) && answer.text().contains(r"\xc3"), "{}", answer.text());
    for (target, uri) in [("/none?q", "/none?q"), ("//double", "//double"), ("/%7Eb%22", "/%7Eb%22")] {
        let answer = client.get(target);
        assert_eq!((answer.status, answer.text()), (404, uri));
    }
    assert_eq!(client.get("/stream").body, bytes_of(100_000).repeat(10));
    client.send("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer_to_head().status, 200);
    client.send("DELETE / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer().status, 405);
}

#[test]
fn axum_reads_bodies_and_limits_them() {
    let server = axum_server();
    let mut client = server.connect();
    for (target, length, status) in
        [("/length", 1 << 20, 200), ("/limited", 1000, 200), ("/length", 3 << 20, 413), ("/limited", 1001, 413)]
    {
        let body = bytes_of(length);
        let head = format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
        client.send([head.as_bytes(), &body].concat());
        let answer = client.answer();
        assert_eq!(answer.status, status, "{target} {length}");
        if answer.closes() {
            client = server.connect();
        }
    }
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(client.answer().text(), "abc");
}

#[test]
fn layers_of_tower_http_wrap_a_handler() {
    let page = |request: Request| async move {
        if request.target.path() == "/slow" {
            std::future::pending::<()>().await;
        }
        Response::text("A serow is a goat-antelope. ".repeat(100))
    };
    let handler = page
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, Duration::from_millis(100)))
        .layer(SetResponseHeaderLayer::overriding(header::SERVER, HeaderValue::from_static("serow")))
        .layer(CorsLayer::permissive())
        .layer(CompressionLayer::new());
    let server = Running::new(handler);
    let mut client = server.connect();
    let plain = client.get("/");
    assert_eq!((plain.field("server"), plain.field("content-length")), (Some("serow"), Some("2800")));
    assert_eq!(plain.field("access-control-allow-origin"), Some("*"));
    client.send("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
    let packed = client.answer();
    assert_eq!((packed.field("content-encoding"), packed.field("content-length")), (Some("gzip"), None));
    assert!(packed.body.starts_with(b"\x1f\x8b") && packed.body.len() < 500);
    assert_eq!(client.get("/slow").status, 503);
    client.send("OPTIONS / HTTP/1.1\r\nHost: a\r\nOrigin: b\r\nAccess-Control-Request-Method: PUT\r\n\r\n");
    assert!(client.answer().field("access-control-allow-methods").is_some());
    assert_eq!(client.get("/").status, 200);
}

#[test]
fn a_layer_may_limit_bodies() {
    let length = |request: Request| async move {
        match request.body.collect(1 << 20).await {
            Ok(body) => Response::text(body.len().to_string()),
            Err(_) => Response::plain_status(serow::StatusCode::PAYLOAD_TOO_LARGE),
        }
    };
    let server = Running::new(length.layer(RequestBodyLimitLayer::new(10)));
    for (framing, body, status) in [
        ("Content-Length: 10", "0123456789", 200),
        ("Content-Length: 11", "0123456789a", 413),
        ("Transfer-Encoding: chunked", "a\r\n0123456789\r\n0\r\n\r\n", 200),
        ("Transfer-Encoding: chunked", "b\r\n0123456789a\r\n0\r\n\r\n", 413),
    ] {
        let mut client = server.connect();
        client.send(format!("POST / HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n{body}"));
        assert_eq!(client.answer().status, status, "{framing} {body:?}");
        assert_eq!(client.get("/").text(), "0");
    }
}

/// A service that fails with what it is given.
#[derive(Clone)]
struct Failing;

impl tower_service::Service<http::Request<Body>> for Failing {
    type Response = http::Response<Body>;
    type Error = BoxError;
    type Future = std::future::Ready<Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), BoxError>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        std::future::ready(match request.uri().path() {
            "/fail" => Err("out of antelopes".into()),
            _ => Ok(http::Response::new(Body::from("fine"))),
        })
    }
}

#[test]
fn an_error_of_a_service_is_a_500() {
    let server = Running::new(ServiceHandler::new(Failing));
    let mut client = server.connect();
    let answer = client.get("/fail");
    assert_eq!((answer.status, answer.closes()), (500, false));
    assert!(!answer.text().contains("antelope"));
    assert_eq!(client.get("/").text(), "fine");
}

#[test]
fn a_file_stays_a_file_through_a_layer() {
    let folder = Folder::new("layered");
    let path = folder.path("file");
    std::fs::write(&path, b"antelope").unwrap();
    let file = Arc::new(std::fs::File::open(&path).unwrap());
    let inner = move |_: Request| {
        let file = Arc::clone(&file);
        async move { Response::default().body(Body::file(FileRange { file, offset: 0, length: 8, version: None })) }
    };
    let layered = inner.layer(SetResponseHeaderLayer::overriding(header::SERVER, HeaderValue::from_static("serow")));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let response = runtime.block_on(layered.call(Request::get("/")));
    assert!(matches!(response.body.kind(), BodyKind::File(_)), "{:?}", response.body);
    assert_eq!(response.headers.get("server"), Some(&b"serow"[..]));
    assert_eq!(Running::new(layered).connect().get("/").text(), "antelope");
}

#[test]
fn upgrade_and_hints_pass_through_layers() {
    let inner = |mut request: Request| async move {
        request.informational().send(serow::StatusCode::EARLY_HINTS, serow::Headers::new());
        tokio::task::yield_now().await;
        let Some(upgrade) = request.upgrade() else { return Response::text("plain") };
        tokio::task::spawn_local(async move {
            let mut connection = upgrade.await.unwrap();
            tokio::io::AsyncWriteExt::write_all(&mut connection, b"switched").await.unwrap();
        });
        Response::new(serow::StatusCode::SWITCHING_PROTOCOLS).with("upgrade", "x")
    };
    let layered = inner.layer(SetResponseHeaderLayer::overriding(header::SERVER, HeaderValue::from_static("s")));
    let server = Running::new(layered);
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
    assert_eq!(client.answer().status, 103);
    assert_eq!(client.answer().status, 101);
    assert_eq!(client.rest().unwrap(), b"switched");
}

#[test]
fn a_handler_is_a_service_for_tests() {
    let mut service = HandlerService::new(|request: Request| async move {
        Response::text(request.target.as_str().to_owned()).with("x-a", "b")
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let request = http::Request::builder().uri("/a?b").body(Body::empty()).unwrap();
    let answer: Result<http::Response<Body>, Infallible> =
        runtime.block_on(tower_service::Service::call(&mut service, request));
    let answer = answer.unwrap();
    assert_eq!(answer.headers()["x-a"], "b");
    let body = runtime.block_on(answer.into_body().collect(100)).unwrap();
    assert_eq!(body, "/a?b");
}

const OPEN_WEBSOCKET: &str = "Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

#[test]
fn an_axum_route_opens_a_websocket() {
    let server = axum_server();
    let mut client = server.connect();
    client.send(format!("GET /websocket HTTP/1.1\r\n{OPEN_WEBSOCKET}"));
    let answer = client.answer();
    assert_eq!(answer.status, 101);
    // RFC 6455 §1.3.
    assert_eq!(answer.field("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(client.take(7).unwrap(), b"\x81\x05hello");
}

#[test]
fn an_upgrade_that_a_service_refuses_with_426_is_explained_in_the_log() {
    const MESSAGE: &str = "WebSocketUpgrade is made for hyper";
    logged_since(MESSAGE);
    let server = axum_server();
    let mut client = server.connect();
    client.send(format!("GET /refused HTTP/1.1\r\n{OPEN_WEBSOCKET}"));
    assert_eq!(client.answer().status, 426);
    eventually("the log explains it", || !logged_since(MESSAGE).is_empty());
}

/// A program's own runtime: `#[tokio::main]`.
fn within_runtime<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn run_within_a_tokio_runtime_is_an_error_that_names_serve() {
    let error = within_runtime(async {
        drop(Server::new().listen("127.0.0.1:0").bind().unwrap());
        Server::new().listen("127.0.0.1:0").run((|_: Request| async { "hello" }).boxed()).unwrap_err()
    });
    assert!(matches!(error, Error::InRuntime));
    assert!(error.to_string().contains("call serve(handler).await"), "{error}");
}

#[test]
fn serve_runs_within_a_tokio_runtime_until_it_is_stopped_or_dropped() {
    within_runtime(async {
        for dropped in [false, true] {
            let server = Server::new().listen("127.0.0.1:0").workers(1).ignore_signals().bind().unwrap();
            let Some(Address::Tcp(address)) = server.addresses().next().cloned() else { panic!("no address") };
            let stopper = server.stopper();
            let serving = tokio::spawn(server.serve((|_: Request| async { "hello" }).boxed()));
            let text = tokio::task::spawn_blocking(move || Client::tcp(address).get("/").text().to_owned());
            assert_eq!(text.await.unwrap(), "hello");
            if dropped {
                serving.abort();
                let refuses = move || std::net::TcpStream::connect(address).is_err();
                tokio::task::spawn_blocking(move || eventually("the server ends", refuses)).await.unwrap();
            } else {
                stopper.stop();
                serving.await.unwrap().unwrap();
            }
        }
    });
}
