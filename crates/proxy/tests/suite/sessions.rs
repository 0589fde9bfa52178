//! Sessions that stay at their servers, through a proxy with real servers.

use std::io::Write;

use serow::{Request, Response};
use serow_proxy::{ForwardingSettings, StickyMode, StickySettings, StickyValue, UpstreamSettings};

use crate::support::{Origin, Proxied, read_response, server};

/// Servers that answer with their name and the cookies they received, and set one for `/login`.
fn origins(count: usize) -> Vec<Origin> {
    let origin = |number| {
        Origin::serve(move |request: Request| async move {
            let seen = request.headers.get_str("cookie").unwrap_or("none").to_owned();
            let response = Response::text(format!("{number} saw {seen}"));
            if request.target.path() == "/login" { response.with("set-cookie", "sid=own; Path=/") } else { response }
        })
    };
    (0..count).map(origin).collect()
}

fn proxied(origins: &[Origin], sticky: StickySettings) -> Proxied {
    let servers = (b'a'..).zip(origins).map(|(id, origin)| {
        let mut server = server(origin.address());
        server.id = Some(char::from(id).to_string());
        server
    });
    let mut settings = UpstreamSettings::new("test", servers.collect());
    settings.sticky = Some(sticky);
    Proxied::with(settings, ForwardingSettings::default())
}

/// The server and the cookies that it received, and the cookie that was set.
fn ask(proxied: &Proxied, target: &str, cookie: &str) -> (String, Option<String>) {
    let mut client = proxied.connect();
    let field = if cookie.is_empty() { String::new() } else { format!("cookie: {cookie}\r\n") };
    client.write_all(format!("GET {target} HTTP/1.1\r\nhost: a\r\n{field}\r\n").as_bytes()).unwrap();
    let response = read_response(&mut client);
    let set = response.lines().find_map(|line| line.strip_prefix("set-cookie: ")).map(str::to_owned);
    let body = if response.starts_with("HTTP/1.1 200 ") { response.rsplit("\r\n").next() } else { response.get(9..12) };
    (body.unwrap().to_owned(), set)
}

fn name_and_value(set: &str) -> String {
    set.split(';').next().unwrap().to_owned()
}

#[test]
fn clients_come_back_to_their_server() {
    let origins = origins(3);
    let proxied = proxied(&origins, StickySettings::default());
    for _ in 0..6 {
        let (first, set) = ask(&proxied, "/", "x=1");
        let set = set.unwrap();
        assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{set}");
        assert!(first.ends_with(" saw x=1"), "{first}");
        for _ in 0..4 {
            let cookie = format!("x=1; {}", name_and_value(&set));
            assert_eq!(ask(&proxied, "/", &cookie), (first.clone(), None));
        }
    }
    let (answer, set) = ask(&proxied, "/", "route=nobody");
    assert!(answer.ends_with(" saw none") && set.is_some(), "{answer}");
}

#[test]
fn cookies_of_servers_carry_the_server() {
    let origins = origins(2);
    let cases = [
        (StickyMode::Prefix, ["sid=a~own; Path=/", "sid=b~own; Path=/"], "sid=own"),
        (StickyMode::Rewrite, ["sid=a; Path=/", "sid=b; Path=/"], "sid=a"),
    ];
    for (mode, expected, seen) in cases {
        let sticky =
            StickySettings { cookie: "sid".to_owned(), mode, value: StickyValue::Plain, ..StickySettings::default() };
        let proxied = proxied(&origins, sticky);
        let mut logins: Vec<_> = (0..2).filter_map(|_| ask(&proxied, "/login", "").1).collect();
        logins.sort();
        assert_eq!(logins, expected);
        assert_eq!(ask(&proxied, "/", "").1, None, "only where the server sets one");
        for _ in 0..4 {
            assert_eq!(ask(&proxied, "/", &name_and_value(expected[0])), (format!("0 saw {seen}"), None));
        }
    }
}

#[test]
fn a_session_whose_server_is_gone_moves_or_is_refused() {
    for fallback in [true, false] {
        let mut origins = origins(2);
        let sticky = StickySettings { value: StickyValue::Plain, fallback, ..StickySettings::default() };
        let proxied = proxied(&origins, sticky);
        drop(origins.remove(0));
        for _ in 0..3 {
            let (answer, set) = ask(&proxied, "/", "route=a");
            if fallback {
                assert_eq!(answer, "1 saw none");
                assert!(set.unwrap().starts_with("route=b; "));
            } else {
                assert!(set.is_none() && (answer == "502" || answer == "503"), "{answer} {set:?}");
            }
            // Other clients are not affected.
            assert_eq!(ask(&proxied, "/", "route=b"), ("1 saw none".to_owned(), None));
        }
    }
}
