//! `ConnectInfo`, state, and the end.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    extract::{ConnectInfo, State, connect_info::Connected},
    routing::{get, post},
};
use tokio::sync::Notify;

use crate::support::{Running, refuses};

async fn who(ConnectInfo(client): ConnectInfo<SocketAddr>) -> String {
    format!("from {}", client.ip())
}

#[tokio::test(flavor = "multi_thread")]
async fn handlers_learn_the_address_of_the_client() {
    let router = Router::new().route("/", get(who));
    let with_info = router.clone().into_make_service_with_connect_info::<SocketAddr>();
    for (server, expected) in [
        (Running::new(with_info).await, "from 127.0.0.1"),
        (Running::new(get(who).into_make_service_with_connect_info::<SocketAddr>()).await, "from 127.0.0.1"),
        // As with axum::serve.
        (Running::new(router.clone()).await, MISSING),
        (Running::new(router.into_make_service()).await, MISSING),
    ] {
        let response = server.ask("GET / HTTP/1.1", b"").await;
        assert!(response.contains(expected), "{response}");
        server.stop().await;
    }
}

const MISSING: &str = "Missing request extension: Extension of type `axum::extract::connect_info::ConnectInfo";

#[derive(Clone)]
struct Client(u16);

impl Connected<SocketAddr> for Client {
    fn connect_info(client: SocketAddr) -> Self {
        Self(client.port())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_have_types_of_their_own_for_it() {
    let router = Router::new()
        .route("/", get(|ConnectInfo(client): ConnectInfo<Client>| async move { format!("port {}", client.0 > 0) }));
    let server = Running::new(router.into_make_service_with_connect_info::<Client>()).await;
    let response = server.ask("GET / HTTP/1.1", b"").await;
    assert!(response.ends_with("port true"), "{response}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_share_state() {
    let count = Arc::new(AtomicU64::new(0));
    let add = |State(count): State<Arc<AtomicU64>>, body: String| async move {
        count.fetch_add(body.parse().unwrap(), Ordering::Relaxed);
        "added"
    };
    let server = Running::new(Router::new().route("/", post(add)).with_state(Arc::clone(&count))).await;
    for _ in 0..8 {
        assert!(server.ask("POST / HTTP/1.1", b"5").await.ends_with("added"));
    }
    server.stop().await;
    assert_eq!(count.load(Ordering::Relaxed), 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_waits_for_requests_in_progress() {
    let begun = Arc::new(Notify::new());
    let noted = Arc::clone(&begun);
    let (go_on, stopping) = tokio::sync::watch::channel(false);
    let slow = move || {
        let mut stopping = stopping.clone();
        async move {
            noted.notify_one();
            let _ = stopping.wait_for(|is_stopping| *is_stopping).await;
            "finished"
        }
    };
    let server = Running::new(Router::new().route("/", get(slow))).await;
    let address = server.address;
    let (response, ()) = tokio::join!(
        async {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).await.unwrap();
            response
        },
        async {
            begun.notified().await;
            let stopped = tokio::spawn(server.stop());
            refuses(address).await;
            assert!(!stopped.is_finished());
            go_on.send(true).unwrap();
            stopped.await.unwrap();
        }
    );
    assert!(response.ends_with("finished"), "{response}");
}

/// Handlers on the threads of the server use a task that the program's runtime has spawned.
#[tokio::test(flavor = "multi_thread")]
async fn handlers_use_what_the_runtime_of_the_program_does() {
    let (questions, mut asked) = tokio::sync::mpsc::channel::<tokio::sync::oneshot::Sender<u32>>(4);
    tokio::spawn(async move {
        while let Some(answer) = asked.recv().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let _ = answer.send(42);
        }
    });
    let ask = move || {
        let questions = questions.clone();
        async move {
            let (answer, answered) = tokio::sync::oneshot::channel();
            questions.send(answer).await.unwrap();
            answered.await.unwrap().to_string()
        }
    };
    let server = Running::new(Router::new().route("/", get(ask))).await;
    assert!(server.ask("GET / HTTP/1.1", b"").await.ends_with("42"));
    server.stop().await;
}
