//! Sessions that are refreshed at a scripted provider.

use std::{
    collections::HashMap,
    io::{Read, Write},
    net::TcpListener,
    sync::{
        LazyLock, Mutex,
        mpsc::{self, Receiver},
    },
    thread,
    time::SystemTime,
};

use crate::jwt::Conditions;
use serow_message::{Headers, Method};

use super::*;
use crate::openid::{
    provider::ProviderThread,
    sharing::{RefreshStore, RefreshTurn, StoreFuture},
};

/// The worker has the system's clock.
static NOW: LazyLock<u64> =
    LazyLock::new(|| SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs());

/// A provider whose token endpoint answers so; and the bodies of the requests for tokens.
fn provider(status: &'static str, body: &'static str) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = mpsc::channel();
    let issuer = url.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut head, mut byte) = (stream.unwrap(), Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split('\r').next()?.parse().ok());
            let mut form = vec![0; length.unwrap_or(0)];
            stream.read_exact(&mut form).unwrap();
            let (status, body) = match head.split(' ').nth(1).unwrap_or_default() {
                "/.well-known/openid-configuration" => {
                    let endpoints = ["authorization_endpoint", "token_endpoint", "jwks_uri"];
                    let fields = endpoints.map(|name| format!(", \"{name}\": \"{issuer}/{name}\""));
                    ("200 OK", format!("{{\"issuer\": \"{issuer}\"{}}}", fields.concat()))
                }
                _ => {
                    sender.send(String::from_utf8(form).unwrap()).unwrap();
                    // Others come meanwhile.
                    thread::sleep(Duration::from_millis(100));
                    (status, body.to_owned())
                }
            };
            let length = body.len();
            let response = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
            let _ = stream.write_all(response.as_bytes());
        }
    });
    (url, requests)
}

/// A login at this provider, and the cookie of a session that has to be refreshed.
async fn due(issuer: String) -> (Login, ProviderThread, Headers) {
    due_until(issuer, *NOW - 1).await
}

/// The same with tokens that end then.
async fn due_until(issuer: String, tokens_end: u64) -> (Login, ProviderThread, Headers) {
    let settings = LoginSettings {
        issuer,
        client_id: "serow".to_owned(),
        client_secret: None,
        scopes: Vec::new(),
        callback: "/callback".to_owned(),
        logout: "/logout".to_owned(),
        after_logout: None,
        session: Duration::from_secs(10_000),
        user_claim: "sub".to_owned(),
        conditions: Conditions::default(),
        fields: Vec::new(),
        ca: None,
    };
    let login = Login::new(settings).unwrap();
    login.set_key(&CookieKey::of_bytes(&[1; 32]).unwrap());
    let thread = ProviderThread::start(vec![login.clone()]).unwrap();
    assert!(login.provider().wait_for_metadata().await.is_some());
    let session = Session {
        id: [7; 16],
        count: 0,
        subject: "alice".to_owned(),
        user: Some("alice".to_owned()),
        fields: Vec::new(),
        begin: *NOW - 4000,
        refresh: Some(*NOW - 1),
        end: *NOW + 6000,
        refresh_token: Some("first".to_owned()),
        tokens_end,
        from_user_info: Vec::new(),
    };
    let cookies = Cookies { is_secure: true };
    let set = login.shared.flow.get().unwrap().session_cookies(cookies, &session, *NOW).unwrap();
    let mut headers = Headers::new();
    headers.append("accept", "text/html").unwrap();
    headers.append("cookie", set[0].split(';').next().unwrap()).unwrap();
    (login, thread, headers)
}

fn check(login: &Login, headers: &Headers, now: u64) -> Pin<Box<dyn Future<Output = Result<Granted, Reply>>>> {
    let (method, host) = (&Method::GET, "app.example");
    let request = LoginRequest { method, path: "/", query: None, headers, host, is_secure: true, client: None };
    match login.check(&request, now) {
        LoginVerdict::Pending(granted) => granted,
        LoginVerdict::Passed(granted) => Box::pin(async { Ok(granted) }),
        LoginVerdict::Replied(reply) => Box::pin(async { Err(reply) }),
    }
}

#[tokio::test]
async fn a_session_is_refreshed_once_whatever_number_of_requests_come() {
    let (issuer, requests) =
        provider("200 OK", r#"{"access_token": "a", "refresh_token": "second", "expires_in": 600}"#);
    let (login, _thread, headers) = due(issuer).await;
    let together: Vec<_> = (0..10).map(|_| check(&login, &headers, *NOW)).collect();
    let mut set = Vec::new();
    for granted in together {
        let granted = granted.await.unwrap();
        assert_eq!(granted.user.as_deref(), Some("alice"));
        set = granted.cookies;
    }
    // One that was on its way with the old cookie.
    assert!(check(&login, &headers, *NOW + 5).await.is_ok());
    let requests: Vec<_> = requests.try_iter().collect();
    assert_eq!(requests, ["grant_type=refresh_token&refresh_token=first&client_id=serow"]);
    // The new cookie is good until the new tokens expire.
    let mut headers = Headers::new();
    headers.append("cookie", set[0].split(';').next().unwrap()).unwrap();
    assert_eq!(check(&login, &headers, *NOW + 500).await.unwrap().cookies, Vec::<String>::new());
}

/// The forms of the requests for tokens.
fn forms(requests: &Receiver<String>) -> Vec<String> {
    requests.try_iter().filter(|form| !form.is_empty()).collect()
}

#[tokio::test]
async fn a_new_refresh_token_is_kept_although_its_id_token_cannot_be_verified() {
    // The same response comes instead of keys.
    let body = r#"{"access_token": "a", "id_token": "x.y.z", "refresh_token": "second", "expires_in": 600}"#;
    let (issuer, requests) = provider("200 OK", body);
    let (login, _thread, headers) = due(issuer).await;
    // The old cookie also comes long afterwards: the response with the new one may have been lost.
    for later in [0, 31, 59] {
        let granted = check(&login, &headers, *NOW + later).await.unwrap();
        assert_eq!((granted.user.as_deref(), granted.cookies.len()), (Some("alice"), 1), "{later}");
    }
    assert_eq!(forms(&requests), ["grant_type=refresh_token&refresh_token=first&client_id=serow"]);
    // Serow asks the provider again soon, whichever cookie comes.
    assert_eq!(check(&login, &headers, *NOW + 70).await.unwrap().user.as_deref(), Some("alice"));
    assert_eq!(forms(&requests), ["grant_type=refresh_token&refresh_token=second&client_id=serow"]);
}

#[tokio::test]
async fn a_refused_refresh_ends_the_session_with_its_tokens() {
    let (issuer, requests) = provider("400 Bad Request", r#"{"error": "invalid_grant"}"#);
    let (login, _thread, headers) = due_until(issuer, *NOW + 20).await;
    // Another server may have refreshed it.
    for later in [0, 19] {
        let granted = check(&login, &headers, *NOW + later).await.unwrap();
        assert_eq!((granted.user.as_deref(), granted.cookies.len()), (Some("alice"), 0), "{later}");
    }
    assert_eq!(check(&login, &headers, *NOW + 20).await.unwrap_err().status, 303);
    assert_eq!(forms(&requests).len(), 1);
}

/// A store in memory.
#[derive(Clone, Default)]
struct Store(Arc<Mutex<HashMap<String, StoredRefresh>>>);

#[derive(Default)]
struct StoredRefresh {
    holder: Option<String>,
    refreshed: Option<RefreshedSession>,
}

impl RefreshStore for Store {
    fn take_turn(&self, name: String, count: u32, holder: String) -> StoreFuture<RefreshTurn> {
        let mut stored = self.0.lock().unwrap();
        let stored = stored.entry(name).or_default();
        let turn = match (&stored.refreshed, &stored.holder) {
            (Some(session), _) if session.count > count => RefreshTurn::Refreshed(session.value.clone()),
            (_, Some(_)) => RefreshTurn::Elsewhere,
            (_, None) => {
                stored.holder = Some(holder);
                RefreshTurn::Ours
            }
        };
        Box::pin(async { Ok(turn) })
    }

    fn end_turn(&self, name: String, holder: String, refreshed: Option<RefreshedSession>) -> StoreFuture<()> {
        let mut stored = self.0.lock().unwrap();
        let stored = stored.entry(name).or_default();
        assert_eq!(stored.holder.take(), Some(holder));
        stored.refreshed = refreshed;
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn of_servers_with_a_store_one_refreshes_a_session() {
    let (issuer, requests) =
        provider("200 OK", r#"{"access_token": "a", "refresh_token": "second", "expires_in": 600}"#);
    let (store, mut servers) = (Store::default(), Vec::new());
    for _ in 0..3 {
        let (login, thread, headers) = due(issuer.clone()).await;
        login.share(Sharing::Store(Arc::new(store.clone())));
        servers.push((login, thread, headers));
    }
    let together: Vec<_> = servers.iter().map(|(login, _, headers)| check(login, headers, *NOW)).collect();
    for granted in together {
        let granted = granted.await.unwrap();
        assert_eq!((granted.user.as_deref(), granted.cookies.len()), (Some("alice"), 1));
    }
    assert_eq!(forms(&requests), ["grant_type=refresh_token&refresh_token=first&client_id=serow"]);
}

#[tokio::test]
async fn a_session_that_the_provider_ends_leads_to_the_login() {
    let (issuer, _requests) = provider("400 Bad Request", r#"{"error": "invalid_grant"}"#);
    let (login, _thread, mut headers) = due(issuer.clone()).await;
    let reply = check(&login, &headers, *NOW).await.unwrap_err();
    let location = reply.fields.iter().find(|(name, _)| *name == "location").map(|(_, value)| value.clone());
    assert!(location.is_some_and(|location| location.starts_with(&format!("{issuer}/authorization_endpoint?"))));
    headers.remove("accept");
    assert_eq!(check(&login, &headers, *NOW).await.unwrap_err().status, 401);
}

#[tokio::test]
async fn a_provider_that_is_down_ends_no_session() {
    for (status, body) in [
        ("500 Internal Server Error", ""),
        ("200 OK", "<html>"),
        ("401 Unauthorized", r#"{"error": "invalid_client"}"#),
    ] {
        let (issuer, _requests) = provider(status, body);
        let (login, _thread, headers) = due(issuer).await;
        let granted = check(&login, &headers, *NOW).await.unwrap();
        assert_eq!((granted.user.as_deref(), granted.cookies.len()), (Some("alice"), 0), "{status}");
        // But its own time does.
        assert!(check(&login, &headers, *NOW + 6000).await.is_err());
    }
}
