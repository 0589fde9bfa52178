//! Logins by OpenID Connect, with a scripted provider: what a browser, a program and an attacker get. `tests/login` logs in
//! with a real one.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt,
    thread,
};

use tempfile::TempDir;

use crate::running::{Answer, Running, eventually, serow};

/// The public key in appendix A.1 of RFC 7517.
const KEY: &str = r#"{"kty": "EC", "crv": "P-256", "alg": "ES256", "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
    "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}"#;

const PAGE: &str = "Accept: text/html\r\n";

/// A provider that publishes its endpoints, and gives out no valid token.
fn provider() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                    head.push(byte[0]);
                }
                let url = format!("http://{address}");
                let body = match String::from_utf8_lossy(&head).split(' ').nth(1).unwrap_or_default() {
                    "/.well-known/openid-configuration" => format!(
                        "{{\"issuer\": \"{url}\", \"authorization_endpoint\": \"{url}/auth\", \
                         \"token_endpoint\": \"{url}/token\", \"jwks_uri\": \"{url}/keys\"}}"
                    ),
                    "/token" => r#"{"access_token": "secret-access", "id_token": "secret-id", "refresh_token": "secret-refresh"}"#.to_owned(),
                    _ => format!("{{\"keys\": [{KEY}]}}"),
                };
                let response =
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
                let _ = stream.write_all(response.as_bytes());
            });
        }
    });
    address
}

/// A server whose users log in at this address.
fn start(issuer: &str, folder: &TempDir) -> Running {
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nworkers = 1\naccess-log = \"access.log\"\n\
         [[site]]\nlogin = {{ issuer = \"{issuer}\", client-id = \"serow\", headers = {{ X-User = \"sub\" }} }}\n\
         [[site.route]]\npath = \"/open/*\"\nlogin = false\nfiles = {{ root = \"public\", strip-prefix = true }}\n\
         [[site.route]]\npath = \"/*\"\nfiles = {{ root = \"public\" }}\n"
    );
    fs::create_dir_all(folder.path().join("public")).unwrap();
    fs::write(folder.path().join("public/a.txt"), "a").unwrap();
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path()).env("XDG_STATE_HOME", folder.path().join("state"));
    Running::of(command)
}

/// The cookie that a response sets.
fn cookie(answer: &Answer) -> String {
    let cookie = answer.field("set-cookie").and_then(|field| field.split(';').next()).unwrap();
    format!("Cookie: {cookie}\r\n")
}

/// The state in the location of a response.
fn state(answer: &Answer) -> String {
    let location = answer.field("location").unwrap();
    location.split(['?', '&']).find_map(|pair| pair.strip_prefix("state=")).unwrap().to_owned()
}

#[test]
fn browsers_are_led_to_the_provider_and_others_get_401() {
    let (folder, provider) = (tempfile::tempdir().unwrap(), provider());
    let serow = start(&format!("http://{provider}"), &folder);
    let page = eventually("the provider is known", || {
        Some(serow.ask("/a.txt?b", PAGE)).filter(|answer| answer.status() == 303)
    });
    let location = page.field("location").unwrap();
    assert!(location.starts_with(&format!("http://{provider}/auth?response_type=code&client_id=serow&")), "{location}");
    assert!(location.contains("&code_challenge_method=S256"), "{location}");
    let set = page.field("set-cookie").unwrap();
    assert!(set.starts_with("serow-login-browser=") && set.ends_with("; HttpOnly; SameSite=Lax"), "{set}");
    for (path, fields, expected) in [
        ("/a.txt", "", 401),
        ("/a.txt", "Accept: text/html\r\nSec-Fetch-Mode: cors\r\n", 401),
        ("/missing", "", 401),
        ("/open/a.txt", "", 200),
        ("/open/a.txt", "Cookie: serow-login-session=1.AAAA\r\n", 200),
        ("/a.txt", "Cookie: serow-login-session=1.AAAA\r\n", 401),
        ("/.serow/login/logout", "", 200),
        ("/.serow/login/callback", PAGE, 400),
        ("/.serow/login/callback?state=a&code=b", PAGE, 400),
    ] {
        let answer = serow.ask(path, fields);
        assert_eq!(answer.status(), expected, "{path} {fields}");
        // RFC 9110 §15.5.2.
        assert_eq!(answer.field("www-authenticate").is_some(), expected == 401, "{path} {fields}");
    }
    // The secret is kept, and nobody else can read it.
    let key = folder.path().join("state/serow/login.key");
    assert_eq!(fs::metadata(key).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn invalid_tokens_begin_no_session_and_get_into_no_log() {
    let (folder, provider) = (tempfile::tempdir().unwrap(), provider());
    let mut serow = start(&format!("http://{provider}"), &folder);
    let page =
        eventually("the provider is known", || Some(serow.ask("/a.txt", PAGE)).filter(|answer| answer.status() == 303));
    let callback = format!("/.serow/login/callback?code=c&state={}", state(&page));
    // Another browser, and then the one that began.
    assert_eq!(serow.ask(&callback, PAGE).status(), 400);
    let answer = serow.ask(&callback, &format!("{PAGE}{}", cookie(&page)));
    assert_eq!((answer.status(), answer.field("set-cookie")), (503, None));
    assert!(answer.text().contains("Logging in is not possible"), "{}", answer.text());
    let line = serow.line_with("login by http://");
    assert!(line.contains("the ID token is refused: the token is malformed"), "{line}");
    serow.stop();
    let logged =
        [serow.last_lines().concat(), line, fs::read_to_string(folder.path().join("access.log")).unwrap()].concat();
    assert!(!logged.contains("secret"), "{logged}");
}

#[test]
fn a_state_outlives_a_restart() {
    let (folder, provider) = (tempfile::tempdir().unwrap(), provider());
    let issuer = format!("http://{provider}");
    let serow = start(&issuer, &folder);
    let page =
        eventually("the provider is known", || Some(serow.ask("/a.txt", PAGE)).filter(|answer| answer.status() == 303));
    drop(serow);
    let serow = start(&issuer, &folder);
    let callback = format!("/.serow/login/callback?code=c&state={}", state(&page));
    // With another key, it would be forged.
    assert_eq!(serow.ask(&callback, &format!("{PAGE}{}", cookie(&page))).status(), 503);
}

#[test]
fn while_the_provider_is_down_logins_get_503() {
    let folder = tempfile::tempdir().unwrap();
    let serow = start("http://127.0.0.1:1", &folder);
    let answer = serow.ask("/a.txt", PAGE);
    assert_eq!((answer.status(), answer.field("retry-after")), (503, Some("10")));
    assert_eq!(serow.ask("/open/a.txt", "").status(), 200);
}
