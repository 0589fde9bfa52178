//! Handlers of `serow` in a router: a folder, a proxy, an application, and one that panics.

use std::{
    cell::Cell,
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    routing::{get, post},
};
use serow::{Request, Response};
use serow_apps::{Application, ApplicationSettings, Interface, Interpreter, Program};
use serow_axum::HandlerRoute;
use serow_files::Files;
use serow_proxy::{ForwardingSettings, Proxy, ServerSettings, Upstream, UpstreamSettings};
use tokio::{io::AsyncReadExt, sync::Notify, time::timeout};

use crate::support::{Running, TIMEOUT};

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_in_a_router() {
    let folder = tempfile::tempdir().unwrap();
    let large = "antelope ".repeat(100_000);
    fs::create_dir(folder.path().join("sub")).unwrap();
    for (name, content) in [("index.html", "<h1>home</h1>"), ("sub/index.html", "sub"), ("large.txt", &large)] {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let files = || HandlerRoute::new(Files::new(folder.path()).unwrap());
    let router = Router::new()
        .route("/api", get(|| async { "api" }))
        .nest_service("/static", files())
        .route_service("/sub/{*path}", files())
        .fallback_service(files());
    let server = Running::new(router).await;
    for (target, status, ending) in [
        ("/api", 200, "api"),
        ("/", 200, "<h1>home</h1>"),
        ("/static", 200, "<h1>home</h1>"),
        ("/static/sub/", 200, "sub"),
        ("/sub/index.html", 200, "sub"),
        ("/large.txt", 200, &large),
        ("/static/large.txt", 200, &large),
        ("/static/missing", 404, ""),
        ("/static/../../etc/passwd", 400, ""),
    ] {
        let response = server.ask(&format!("GET {target} HTTP/1.1"), b"").await;
        let line = response.lines().next();
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{target}: {line:?}");
        assert!(response.ends_with(ending), "{target}: {line:?}");
    }
    let response = server.ask("GET /static/large.txt HTTP/1.1\r\nRange: bytes=9-16", b"").await;
    assert!(response.starts_with("HTTP/1.1 206") && response.ends_with("\r\n\r\nantelope"), "{response}");
    let response = server.ask("HEAD /large.txt HTTP/1.1", b"").await.to_lowercase();
    assert!(response.contains("content-length: 900000") && response.ends_with("\r\n\r\n"), "{response}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_in_a_router() {
    let origin = Router::new()
        .route("/length", post(|body: String| async move { body.len().to_string() }))
        .fallback(|uri: axum::http::Uri| async move { format!("origin {uri}") });
    let origin = Running::new(origin).await;
    let settings = ServerSettings::new(origin.address.to_string().parse().unwrap());
    let upstream = Upstream::new(UpstreamSettings::new("origin", vec![settings]));
    let proxy = HandlerRoute::new(Proxy::new(upstream, ForwardingSettings::default()));
    let router = Router::new()
        .route("/", get(|| async { "router" }))
        .nest_service("/app", proxy.clone())
        .fallback_service(proxy);
    let server = Running::new(router).await;
    assert!(server.ask("GET / HTTP/1.1", b"").await.ends_with("router"));
    assert!(server.ask("GET /app/a?b=c HTTP/1.1", b"").await.ends_with("origin /a?b=c"));
    assert!(server.ask("GET /other HTTP/1.1", b"").await.ends_with("origin /other"));
    let response = server.ask("POST /app/length HTTP/1.1\r\nContent-Type: text/plain", &[b'x'; 500_000]).await;
    assert!(response.ends_with("\r\n\r\n500000"), "{response}");
    origin.stop().await;
    assert!(server.ask("GET /app/ HTTP/1.1", b"").await.starts_with("HTTP/1.1 502"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_in_a_router() {
    serow_requirements::requires!("program:/usr/bin/python3");
    let folder = tempfile::tempdir().unwrap();
    let code = "def app(environ, start):\n    \
                start('200 OK', [('Content-Type', 'text/plain')])\n    \
                body = environ['wsgi.input'].read()\n    \
                return [('%s %s %d' % (environ['REQUEST_METHOD'], environ['PATH_INFO'], len(body))).encode()]\n";
    fs::write(folder.path().join("app.py"), code).unwrap();
    let interpreter = Interpreter::from_command(["/usr/bin/python3"]);
    let program = Program { interface: Interface::Wsgi, application: "app:app".to_owned(), interpreter };
    let application = Application::new(ApplicationSettings::new("app", program, folder.path().to_owned()), 64);
    let workers = application.run().unwrap();
    let route = HandlerRoute::new(application.handler());
    let router = Router::new()
        .route("/", get(|| async { "router" }))
        .nest_service("/app", route.clone())
        .fallback_service(route);
    let server = Running::new(router).await;
    for (request, body, expected) in [
        ("GET / HTTP/1.1", 0, "router"),
        ("GET /app/a?b=c HTTP/1.1", 0, "GET /a 0"),
        ("PUT /other HTTP/1.1", 500_000, "PUT /other 500000"),
    ] {
        let response = server.ask(request, &vec![b'x'; body]).await;
        assert!(response.starts_with("HTTP/1.1 200") && response.contains(expected), "{request}: {response}");
    }
    server.stop().await;
    drop(workers);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_thread_has_one_clone_of_a_handler() {
    /// Counts its clones, and is not `Sync`.
    struct Counting {
        clones: Arc<AtomicUsize>,
        requests: Cell<usize>,
    }

    impl Clone for Counting {
        fn clone(&self) -> Self {
            self.clones.fetch_add(1, Ordering::Relaxed);
            Self { clones: Arc::clone(&self.clones), requests: Cell::new(0) }
        }
    }

    impl serow::Handler for Counting {
        fn call(&self, _: Request) -> impl Future<Output = Response> + 'static {
            self.requests.set(self.requests.get() + 1);
            let count = std::rc::Rc::new(self.requests.get());
            async move { Response::text(count.to_string()) }
        }
    }

    let clones = Arc::<AtomicUsize>::default();
    let handler = HandlerRoute::new(Counting { clones: Arc::clone(&clones), requests: Cell::new(0) });
    let router = Router::new().fallback_service(handler);
    let server = Running::with(serow::Server::new().workers(1), router).await;
    for number in 1..4 {
        assert!(server.ask("GET / HTTP/1.1", b"").await.ends_with(&format!("\r\n\r\n{number}")));
    }
    assert_eq!(clones.load(Ordering::Relaxed), 1);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_a_nested_handler_ends_its_connection_only() {
    let handler = |request: Request| async move {
        assert_ne!(request.target.path(), "/panic", "as requested");
        Response::text("fine")
    };
    let server = Running::new(Router::new().fallback_service(HandlerRoute::new(handler))).await;
    // Closed, or reset.
    let mut response = Vec::new();
    let _ = timeout(TIMEOUT, server.begin("GET /panic HTTP/1.1", b"").await.read_to_end(&mut response)).await.unwrap();
    assert!(response.is_empty());
    assert!(server.ask("GET / HTTP/1.1", b"").await.ends_with("fine"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nested_handler_is_cancelled_when_its_client_leaves() {
    struct Dropped(Arc<Notify>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }

    let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (noted, guard) = (Arc::clone(&begun), Arc::clone(&dropped));
    let handler = move |_: Request| {
        let (noted, guard) = (Arc::clone(&noted), Dropped(Arc::clone(&guard)));
        async move {
            noted.notify_one();
            std::future::pending::<()>().await;
            drop(guard);
            Response::text("never")
        }
    };
    let server = Running::new(Router::new().fallback_service(HandlerRoute::new(handler))).await;
    let client = server.begin("GET / HTTP/1.1", b"").await;
    timeout(TIMEOUT, begun.notified()).await.unwrap();
    // A reset: a client that only closes its side may still read.
    client.set_zero_linger().unwrap();
    drop(client);
    timeout(TIMEOUT, dropped.notified()).await.unwrap();
    server.stop().await;
}
