//! Extensions by which a `tower` service reads and sets priorities (RFC 9218), and sends early hints (RFC 8297).

use axum::{Extension, Router, response::IntoResponse, routing::get};
use serow::{Priority, RequestContext, Server, ServiceHandler};

use crate::support::{Asked, BOTH, Noted, Running};

async fn page(Extension(context): Extension<RequestContext>) -> String {
    context.priority().to_string()
}

async fn background(Extension(context): Extension<RequestContext>) -> impl IntoResponse {
    (Extension(Priority { urgency: Priority::BACKGROUND, ..context.priority() }), "later")
}

async fn hinting(Extension(context): Extension<RequestContext>) -> &'static str {
    context.informational().send_early_hints(&["not a\nvalue", "</style.css>; rel=preload; as=style"]);
    context.informational().send_early_hints(&["not a\nvalue"]);
    tokio::task::yield_now().await;
    "page"
}

fn handler() -> ServiceHandler<Router> {
    let router = Router::new();
    let router = router.route("/", get(page)).route("/background", get(background)).route("/hints", get(hinting));
    ServiceHandler::new(router)
}

#[test]
fn a_service_reads_the_priority_of_a_request() {
    let server = Running::new(handler());
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        assert_eq!(client.get("/").text(), "u=3", "{spoken:?}");
        let answer = client.ask(&Asked { fields: &[("priority", "u=1, i")], ..Asked::get("/") });
        assert_eq!((answer.text(), answer.field("priority")), ("u=1, i", None), "{spoken:?}");
    }
}

#[test]
fn a_service_sets_the_priority_of_its_response() {
    let log = Noted::default();
    let noted = log.clone();
    let server = Running::with(Server::new().access_log(move || noted.clone()), handler());
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        let answer = client.ask(&Asked { fields: &[("priority", "u=1, i")], ..Asked::get("/background") });
        assert_eq!((answer.text(), answer.field("priority")), ("later", Some("u=7, i")), "{spoken:?}");
    }
    // The scheduler of the connection knows it as well.
    let streams: Vec<_> = log.entries(2).iter().filter_map(|entry| entry.stream).collect();
    assert_eq!(streams.len(), 1);
    assert_eq!(streams[0].priority, Priority { urgency: 7, incremental: true });
}

#[test]
fn a_service_sends_early_hints() {
    let server = Running::new(handler());
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for _ in 0..2 {
            client.begin(&Asked::get("/hints"));
            let hint = client.informational();
            let link = hint.field("link");
            assert_eq!((hint.status, link), (103, Some("</style.css>; rel=preload; as=style")), "{spoken:?}");
            assert_eq!(client.answer().text(), "page");
        }
    }
}
