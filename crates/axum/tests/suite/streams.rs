//! Server-sent events and uploads.

use std::{convert::Infallible, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Multipart,
    response::sse::{Event, KeepAlive, Sse},
    routing::{get, post},
};
use futures_util::stream::{self, Stream};
use http_body_util::{BodyExt, Full};
use tokio::{io::AsyncReadExt, sync::watch, time::timeout};

use crate::support::{Running, TIMEOUT, refuses};

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

/// A stream that sends the number that the test has set, whenever it changes.
fn numbers(from: &watch::Receiver<u32>) -> impl Stream<Item = u32> + Send + use<> {
    let mut numbers = from.clone();
    numbers.mark_unchanged();
    stream::unfold(numbers, |mut numbers| async move {
        numbers.changed().await.ok()?;
        let number = *numbers.borrow_and_update();
        Some((number, numbers))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_sent_one_by_one_over_both_versions() {
    use futures_util::StreamExt;

    let (number, numbered) = watch::channel(0);
    let events = move || {
        let events = numbers(&numbered).map(|number| Ok::<_, Infallible>(Event::default().data(number.to_string())));
        async move { Sse::new(events) }
    };
    let server = Running::new(Router::new().route("/", get(events))).await;

    let mut client = server.begin("GET / HTTP/1.1", b"").await;
    let mut received = String::new();
    for next in 1..4 {
        while next == 1 && !received.contains("\r\n\r\n") {
            receive(&mut client, &mut received).await;
        }
        number.send(next).unwrap();
        while !received.contains(&format!("data: {next}\n\n")) {
            receive(&mut client, &mut received).await;
        }
    }
    drop(client);

    let mut client = server.connect_http2().await;
    let request = hyper::Request::get("http://localhost/").body(Full::default()).unwrap();
    let response = timeout(TIMEOUT, client.send_request(request)).await.unwrap().unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = response.into_body();
    for next in 4..7 {
        number.send(next).unwrap();
        let frame = timeout(TIMEOUT, body.frame()).await.unwrap().unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), format!("data: {next}\n\n"));
    }
    drop((body, client));
    drop(number);
    server.stop().await;
}

async fn receive(client: &mut tokio::net::TcpStream, received: &mut String) {
    let mut piece = [0; 4096];
    let count = timeout(TIMEOUT, client.read(&mut piece)).await.unwrap().unwrap();
    assert_ne!(count, 0, "the response ended: {received}");
    received.push_str(std::str::from_utf8(&piece[..count]).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_waits_for_responses_under_way() {
    use futures_util::StreamExt;

    let (number, numbered) = watch::channel(0);
    let page = move || {
        let pieces = numbers(&numbered).map(|number| Ok::<_, Infallible>(format!("piece {number}\n")));
        async move { Body::from_stream(pieces) }
    };
    let server = Running::new(Router::new().route("/", get(page))).await;
    let address = server.address;
    let mut first = server.begin("GET / HTTP/1.1", b"").await;
    let mut received = String::new();
    while !received.contains("\r\n\r\n") {
        receive(&mut first, &mut received).await;
    }
    let mut client = server.connect_http2().await;
    let request = hyper::Request::get("http://localhost/").body(Full::default()).unwrap();
    let response = timeout(TIMEOUT, client.send_request(request)).await.unwrap().unwrap();
    let mut second = response.into_body();
    number.send(1).unwrap();
    while !received.contains("piece 1\n") {
        receive(&mut first, &mut received).await;
    }
    let frame = timeout(TIMEOUT, second.frame()).await.unwrap().unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), "piece 1\n");

    let stopping = tokio::spawn(server.stop());
    refuses(address).await;
    number.send(2).unwrap();
    while !received.contains("piece 2\n") {
        receive(&mut first, &mut received).await;
    }
    let frame = timeout(TIMEOUT, second.frame()).await.unwrap().unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), "piece 2\n");
    drop(number);
    let rest = timeout(TIMEOUT, second.collect()).await.unwrap().unwrap().to_bytes();
    assert!(rest.is_empty());
    timeout(TIMEOUT, first.read_to_string(&mut received)).await.unwrap().unwrap();
    assert!(received.ends_with("0\r\n\r\n"), "{received}");
    timeout(TIMEOUT, stopping).await.unwrap().unwrap();
}

async fn upload(mut form: Multipart) -> String {
    let mut said = String::new();
    while let Some(field) = form.next_field().await.unwrap() {
        let name = field.name().unwrap_or_default().to_owned();
        said += &format!("{name}: {} bytes\n", field.bytes().await.unwrap().len());
    }
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_by_forms() {
    let server = Running::new(Router::new().route("/", post(upload))).await;
    let content = vec![b'x'; 300_000];
    let head = "POST / HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=limit";
    let form = |name: &str| format!("--limit\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
    let body =
        [form("note").as_bytes(), b"hello\r\n", form("file").as_bytes(), &content, b"\r\n--limit--\r\n"].concat();
    let response = server.ask(head, &body).await;
    assert!(response.ends_with("note: 5 bytes\nfile: 300000 bytes\n"), "{response}");

    let mut client = server.connect_http2().await;
    let request =
        hyper::Request::post("http://localhost/").header("content-type", "multipart/form-data; boundary=limit");
    let response = client.send_request(request.body(Full::new(Bytes::from(body))).unwrap());
    let response = timeout(TIMEOUT, response).await.unwrap().unwrap();
    let body = timeout(TIMEOUT, response.into_body().collect()).await.unwrap().unwrap().to_bytes();
    assert_eq!(body, "note: 5 bytes\nfile: 300000 bytes\n");
    drop(client);
    server.stop().await;
}
