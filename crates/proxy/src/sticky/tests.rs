//! Session cookies, with made-up servers.

use std::time::Duration;

use super::*;
use crate::{ServerAddress, ServerSettings, Upstream, UpstreamSettings};

/// 9001, 9002 and 9003; the last is called c.
fn servers() -> Vec<Arc<Server>> {
    let of = |(address, id): (&str, Option<&str>)| {
        let address: ServerAddress = address.parse().unwrap();
        ServerSettings { id: id.map(str::to_owned), ..ServerSettings::new(address) }
    };
    let all = [("127.0.0.1:9001", None), ("127.0.0.1:9002", None), ("127.0.0.1:9003", Some("c"))];
    Upstream::new(UpstreamSettings::new("test", all.map(of).to_vec())).servers().to_vec()
}

/// The first 32 digits of `printf 127.0.0.1:9001 | sha256sum`, and so on.
const HASHED: [&str; 3] =
    ["7987905dee74cdeb212432486a178e51", "fad4b3083214c3b0ad28cc0f83fd770a", "2e7d2c03a9507ae265ecf5b5356885a5"];

const PLAIN: [&str; 3] = ["127.0.0.1:9001", "127.0.0.1:9002", "c"];

fn settings(mode: StickyMode, value: StickyValue) -> StickySettings {
    StickySettings { mode, value, ..StickySettings::default() }
}

fn headers(name: &str, lines: &[String]) -> Headers {
    let mut headers = Headers::new();
    for line in lines {
        headers.append(name, line).unwrap();
    }
    headers
}

fn lines(headers: &Headers, name: &str) -> Vec<String> {
    headers.get_all(name).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

/// `1`, `2` and `3` in angle brackets become the names of servers.
fn with_names(text: &str, names: [&str; 3]) -> String {
    ["<1>", "<2>", "<3>"].into_iter().zip(names).fold(text.to_owned(), |text, (place, name)| text.replace(place, name))
}

/// The mode, the cookies of the request, the server that they name, and the cookies that the server sees.
type RequestCase = (StickyMode, &'static [&'static str], Option<usize>, &'static [&'static str]);

/// The mode, the server that the request named, the cookies that the server set, and those that the client gets.
type ResponseCase = (StickyMode, Option<usize>, &'static [&'static str], &'static [&'static str]);

#[test]
fn cookies_name_servers_and_servers_do_not_see_that() {
    use StickyMode::{Insert, Prefix, Rewrite};
    let cases: &[RequestCase] = &[
        (Insert, &[], None, &[]),
        (Insert, &["a=1"], None, &["a=1"]),
        (Insert, &["route=<1>"], Some(0), &[]),
        (Insert, &["a=1; route=<3>; b=2"], Some(2), &["a=1; b=2"]),
        (Insert, &["a=1", "route=\"<2>\""], Some(1), &["a=1"]),
        (Insert, &["route=gone; route=<2>"], Some(1), &[]),
        (Insert, &["route=<2>; route=<1>"], Some(1), &[]),
        (Insert, &["route=<1"], None, &[]),
        (Insert, &["route=<1>x"], None, &[]),
        (Insert, &["route=<1>~x"], None, &[]),
        (Insert, &["route="], None, &[]),
        (Insert, &["route"], None, &["route"]),
        (Insert, &["route=\""], None, &[]),
        (Insert, &["ROUTE=<1>"], None, &["ROUTE=<1>"]),
        (Prefix, &["route=<2>~session; a=1"], Some(1), &["route=session; a=1"]),
        (Prefix, &["route=<2>~a~b"], Some(1), &["route=a~b"]),
        (Prefix, &["route=<2>~"], Some(1), &["route="]),
        (Prefix, &["route=<2>"], None, &["route=<2>"]),
        (Prefix, &["route=session"], None, &["route=session"]),
        (Prefix, &["a=1"], None, &["a=1"]),
        (Rewrite, &["a=1; route=<3>"], Some(2), &["a=1; route=<3>"]),
        (Rewrite, &["route=session"], None, &["route=session"]),
    ];
    let servers = servers();
    for (value, names) in [(StickyValue::Hashed, HASHED), (StickyValue::Plain, PLAIN)] {
        for (mode, cookies, wanted, seen) in cases {
            let sticky = Sticky::new(&settings(*mode, value), &servers);
            let mut headers =
                headers("cookie", &cookies.iter().map(|line| with_names(line, names)).collect::<Vec<_>>());
            assert_eq!(sticky.wanted(&headers), wanted.map(|place| servers[place].number()), "{mode:?} {cookies:?}");
            sticky.prepare(&mut headers);
            let seen: Vec<_> = seen.iter().map(|line| with_names(line, names)).collect();
            assert_eq!(lines(&headers, "cookie"), seen, "{mode:?} {cookies:?}");
        }
    }
}

#[test]
fn a_prefix_is_told_from_the_servers_own_value() {
    let gone = HASHED[0].replace('0', "1");
    let cases = [
        (StickyValue::Hashed, format!("route={gone}~own"), "route=own"),
        (StickyValue::Hashed, "route=my~own".to_owned(), "route=my~own"),
        (StickyValue::Hashed, "route=abc~own".to_owned(), "route=abc~own"),
        (StickyValue::Plain, "route=127.0.0.1:1~own".to_owned(), "route=own"),
    ];
    for (value, cookie, expected) in cases {
        let sticky = Sticky::new(&settings(StickyMode::Prefix, value), &servers());
        let mut headers = headers("cookie", &[cookie]);
        assert_eq!(sticky.wanted(&headers), None);
        sticky.prepare(&mut headers);
        assert_eq!(lines(&headers, "cookie"), [expected]);
    }
}

#[test]
fn responses_name_the_server() {
    use StickyMode::{Insert, Prefix, Rewrite};
    let cases: &[ResponseCase] = &[
        (Insert, None, &[], &["route=<2>; Path=/; HttpOnly; SameSite=Lax"]),
        (Insert, Some(1), &["a=1"], &["a=1"]),
        (Insert, Some(0), &["a=1"], &["a=1", "route=<2>; Path=/; HttpOnly; SameSite=Lax"]),
        (Prefix, None, &[], &[]),
        (Prefix, None, &["a=1; route=2", "route=x; Path=/a"], &["a=1; route=2", "route=<2>~x; Path=/a"]),
        (Prefix, Some(1), &["route=x"], &["route=<2>~x"]),
        (Prefix, Some(0), &["route=\"x y\"; Secure"], &["route=<2>~\"x y\"; Secure"]),
        (Rewrite, None, &[], &[]),
        (Rewrite, None, &["a=1"], &["a=1"]),
        (Rewrite, Some(1), &["route=x; HttpOnly"], &["route=<2>; HttpOnly"]),
        (Rewrite, Some(0), &["route=; Max-Age=0"], &["route=<2>; Max-Age=0"]),
    ];
    let servers = servers();
    for (value, names) in [(StickyValue::Hashed, HASHED), (StickyValue::Plain, PLAIN)] {
        for (mode, came_with, set, expected) in cases {
            let sticky = Sticky::new(&settings(*mode, value), &servers);
            let mut headers = headers("set-cookie", &set.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
            sticky.finish(&mut headers, &servers[1], came_with.map(|place| servers[place].number()), Scheme::Http);
            let expected: Vec<_> = expected.iter().map(|line| with_names(line, names)).collect();
            assert_eq!(lines(&headers, "set-cookie"), expected, "{mode:?} {came_with:?} {set:?}");
        }
    }
}

#[test]
fn cookies_have_the_attributes_that_were_set() {
    let all = StickySettings {
        cookie: "app".to_owned(),
        value: StickyValue::Plain,
        domain: Some("example.com".to_owned()),
        path: "/shop".to_owned(),
        max_age: Some(Duration::from_secs(3600)),
        ..StickySettings::default()
    };
    let none = StickySettings { value: StickyValue::Plain, path: String::new(), ..StickySettings::default() };
    let cases = [
        (&all, Scheme::Http, "app=c; Domain=example.com; Path=/shop; Max-Age=3600; HttpOnly; SameSite=Lax"),
        (&all, Scheme::Https, "app=c; Domain=example.com; Path=/shop; Max-Age=3600; HttpOnly; SameSite=Lax; Secure"),
        (&none, Scheme::Http, "route=c; HttpOnly; SameSite=Lax"),
    ];
    let servers = servers();
    for (settings, scheme, expected) in cases {
        // Also for a server that came after the cookies were made.
        for servers_then in [&servers[..], &[]] {
            let mut headers = Headers::new();
            Sticky::new(settings, servers_then).finish(&mut headers, &servers[2], None, scheme);
            assert_eq!(lines(&headers, "set-cookie"), [expected]);
        }
    }
}

#[test]
fn names_that_no_cookie_can_have_are_escaped() {
    let cases = [
        ("a", "a"),
        ("unix:/run/app.sock", "unix:/run/app.sock"),
        ("a;b=c, \"d\"\r\n", "a%3Bb=c%2C%20%22d%22%0D%0A"),
        ("a~b%7e", "a%7Eb%257e"),
        ("\u{e4}\\\u{7f}", "%C3%A4%5C%7F"),
    ];
    for (id, expected) in cases {
        let address: ServerAddress = "127.0.0.1:9001".parse().unwrap();
        let server = ServerSettings { id: Some(id.to_owned()), ..ServerSettings::new(address) };
        let servers = Upstream::new(UpstreamSettings::new("test", vec![server])).servers();
        let sticky = Sticky::new(&settings(StickyMode::Prefix, StickyValue::Plain), &servers);
        let mut set = headers("set-cookie", &["route=own".to_owned()]);
        sticky.finish(&mut set, &servers[0], None, Scheme::Http);
        assert_eq!(lines(&set, "set-cookie"), [format!("route={expected}~own")]);
        let request = headers("cookie", &lines(&set, "set-cookie"));
        assert_eq!(sticky.wanted(&request), Some(servers[0].number()));
    }
}

#[test]
fn settings_that_no_cookie_can_have_set_none() {
    let servers = servers();
    let settings = StickySettings { domain: Some("a\r\nb: c".to_owned()), ..StickySettings::default() };
    let mut headers = Headers::new();
    Sticky::new(&settings, &servers).finish(&mut headers, &servers[0], None, Scheme::Http);
    assert!(headers.is_empty());
}
