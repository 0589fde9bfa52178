//! Server-sent events and uploads.

use std::{convert::Infallible, time::Duration};

use axum::{
    Router,
    extract::Multipart,
    response::sse::{Event, KeepAlive, Sse},
    routing::{get, post},
};
use futures_util::stream::{self, Stream};

use crate::support::Running;

#[tokio::test(flavor = "multi_thread")]
async fn server_sent_events() {
    async fn events() -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
        let events = stream::unfold(0, |number| async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            (number < 3).then(|| (Ok(Event::default().data(number.to_string())), number + 1))
        });
        Sse::new(events).keep_alive(KeepAlive::default())
    }

    let server = Running::new(Router::new().route("/", get(events))).await;
    let response = server.ask("GET / HTTP/1.1", b"").await;
    assert!(response.to_lowercase().contains("content-type: text/event-stream"), "{response}");
    for number in 0..3 {
        assert!(response.contains(&format!("data: {number}\n\n")), "{response}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_by_forms() {
    async fn upload(mut form: Multipart) -> String {
        let mut said = String::new();
        while let Some(field) = form.next_field().await.unwrap() {
            let name = field.name().unwrap_or_default().to_owned();
            said += &format!("{name}: {} bytes\n", field.bytes().await.unwrap().len());
        }
        said
    }

    let server = Running::new(Router::new().route("/", post(upload))).await;
    let content = vec![b'x'; 300_000];
    let head = "POST / HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=limit";
    let form = |name: &str| format!("--limit\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
    let body =
        [form("note").as_bytes(), b"hello\r\n", form("file").as_bytes(), &content, b"\r\n--limit--\r\n"].concat();
    let response = server.ask(head, &body).await;
    assert!(response.ends_with("note: 5 bytes\nfile: 300000 bytes\n"), "{response}");
    server.stop().await;
}
