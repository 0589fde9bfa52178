use serow_variables::Scope;

use super::*;

fn rules(pairs: &[(&str, &str)]) -> Vec<RewriteRule> {
    let rule = |(from, to): &(&str, &str)| {
        let (pattern, scope) = match from.strip_prefix('~') {
            None => (RewritePattern::Text((*from).to_owned()), Scope::default()),
            Some(text) => {
                let expression: Expression = text.parse().unwrap();
                let scope = Scope::default().of_expression(&expression);
                (RewritePattern::Expression(expression), scope)
            }
        };
        RewriteRule { pattern, text: Text::parse(to, &scope).unwrap() }
    };
    pairs.iter().map(rule).collect()
}

fn request() -> Request {
    let mut request = Request::get("/a%20b%3b?c=1");
    for (name, value) in [("host", "Www.Example:8443"), ("x-odd", "a;b \"c\"\\d/e"), ("x-next", "1\u{e4}")] {
        request.headers.append(name, value).unwrap();
    }
    request
}

/// The values of a field after the changes.
fn after(rewriting: ResponseRewriting, name: &'static str, values: &[&str]) -> Vec<String> {
    let mut headers = Headers::new();
    values.iter().for_each(|value| headers.append(name, value).unwrap());
    headers.append("x-other", "http://app:8080/").unwrap();
    Arc::new(rewriting).filled(&request()).apply(&mut headers);
    assert_eq!(headers.get_str("x-other"), Some("http://app:8080/"));
    headers.get_all(name).map(|value| String::from_utf8_lossy(value).into_owned()).collect()
}

#[test]
fn the_first_rule_that_fits_changes_an_address() {
    let pairs = [
        ("http://app:8080/", "/"),
        ("http://app", "$scheme://$host"),
        ("http://two/one/", "$scheme://$http_host/${host}/"),
        ("http://two/", "//cdn.example/"),
        ("~^https?://(?<name>[a-z]+)\\.internal(/.*)?$", "https://$name.example$2?from=$host"),
        ("~^http://uri", "$uri$http_x_odd$http_x_next"),
        ("/old/", "/new/"),
    ];
    for (address, expected) in [
        ("http://app:8080/", "/"),
        ("http://app:8080/a?b#c", "/a?b#c"),
        ("http://app:8080", "http://app:8080"),
        ("http://app", "http://www.example"),
        ("http://app/x", "http://www.example/x"),
        ("http://app?x", "http://www.example?x"),
        // Other hosts, and another port.
        ("http://app.example/", "http://app.example/"),
        ("http://app@evil.example/", "http://app@evil.example/"),
        ("http://app:80/", "http://app:80/"),
        ("http://two/one/x", "http://Www.Example:8443/www.example/x"),
        ("http://two/x", "//cdn.example/x"),
        ("https://api.internal/v1", "https://api.example/v1?from=www.example"),
        ("https://api.internal", "https://api.example?from=www.example"),
        ("http://uri", "/a%20b%3Ba%3Bb%20%22c%22%5Cd/e1%C3%A4"),
        ("/old/x", "/new/x"),
        ("/other", "/other"),
        // A path of the server never becomes a host.
        ("http://app:8080//evil.example", "/.//evil.example"),
        ("http://app:8080/\\evil.example", "/./\\evil.example"),
        ("http://app:8080/\t/evil.example", "/./\t/evil.example"),
        ("", ""),
    ] {
        let rewriting = ResponseRewriting { location: rules(&pairs), ..ResponseRewriting::default() };
        assert_eq!(after(rewriting, "Location", &[address]), [expected], "{address}");
    }
}

#[test]
fn a_refresh_is_changed_behind_its_url() {
    for (refresh, expected) in [
        ("5", "5"),
        ("5; url=http://app/x", "5; url=/x"),
        ("5;URL=http://app/x; y", "5;URL=/x; y"),
        ("0; Url='http://app/x' z", "0; Url='/x' z"),
        ("0; url=\"http://app/x", "0; url=\"/x"),
        ("0; url=http://other/", "0; url=http://other/"),
        ("0; http://app/", "0; http://app/"),
    ] {
        let rewriting = ResponseRewriting { location: rules(&[("http://app/", "/")]), ..ResponseRewriting::default() };
        assert_eq!(after(rewriting, "Refresh", &[refresh]), [expected], "{refresh}");
    }
}

fn cookies() -> ResponseRewriting {
    let flags = |flags: &[&str]| flags.iter().try_fold(CookieFlags::default(), |all, flag| all.with(flag)).unwrap();
    ResponseRewriting {
        cookie_domain: rules(&[
            (".app.internal", "$host"),
            ("none.internal", ""),
            ("odd.internal", "$http_x_odd"),
            ("~^\\.?([a-z]+)\\.local$", ".$1.example"),
        ]),
        cookie_path: rules(&[("/app/", "/"), ("/gone", ""), ("~^/v([0-9])", "/api/$1/")]),
        cookie_flags: vec![
            (NamePattern::Name("plain".to_owned()), flags(&["nosecure", "nohttponly", "nosamesite"])),
            (NamePattern::Name("part".to_owned()), flags(&["partitioned"])),
            (NamePattern::Name("whole".to_owned()), flags(&["nopartitioned"])),
            (NamePattern::Expression("^id".parse().unwrap()), flags(&["secure", "HttpOnly", "samesite=lax"])),
        ],
        own_cookie: Some("route".to_owned()),
        ..ResponseRewriting::default()
    }
}

#[test]
fn attributes_of_cookies_change_and_all_else_stays() {
    for (cookie, expected) in [
        ("a=1", "a=1"),
        ("a=1; Domain=app.internal; Path=/app/x;Secure", "a=1; Domain=www.example; Path=/x;Secure"),
        ("a=1;domain = .APP.internal ; path=/app/", "a=1; Domain=www.example; Path=/"),
        ("a=1; Domain=sub.app.internal; Path=/application", "a=1; Domain=sub.app.internal; Path=/application"),
        ("a=Domain=app.internal; Domain=none.internal; Secure", "a=Domain=app.internal; Secure"),
        ("a=1; Domain=odd.internal", "a=1; Domain=a%3Bb%20%22c%22%5Cd/e"),
        ("a=1; Domain=.x.local; Path=/gone", "a=1; Domain=x.example; Path=/"),
        ("a=1; Path=/v1/x", "a=1; Path=/api/1/"),
        ("a=1; Path; Domain", "a=1; Path; Domain"),
        ("plain=1; secure; HttpOnly; SameSite=None; Max-Age=5", "plain=1; Max-Age=5"),
        ("plain=1", "plain=1"),
        ("id=\"x\"; samesite=none; SECURE", "id=\"x\"; Secure; HttpOnly; SameSite=Lax"),
        ("part=1; Secure", "part=1; Secure; Partitioned"),
        ("part=1; PARTITIONED; Secure", "part=1; Secure; Partitioned"),
        ("whole=1; partitioned; Secure", "whole=1; Secure"),
        ("idx", "idx; Secure; HttpOnly; SameSite=Lax"),
        ("id=1; Secure; HttpOnly; SameSite=Lax", "id=1; Secure; HttpOnly; SameSite=Lax"),
        ("id =1", "id =1; Secure; HttpOnly; SameSite=Lax"),
        ("Id=1", "Id=1"),
        // That of the proxy itself.
        ("route=1; Path=/app/; Domain=app.internal", "route=1; Path=/app/; Domain=app.internal"),
        ("", ""),
    ] {
        assert_eq!(after(cookies(), "Set-Cookie", &[cookie]), [expected], "{cookie}");
    }
}

#[test]
fn each_cookie_is_changed_for_itself_and_their_order_stays() {
    let sent = ["b=1; Path=/app/", "a=2", "b=3; Path=/app/x"];
    assert_eq!(after(cookies(), "Set-Cookie", &sent), ["b=1; Path=/", "a=2", "b=3; Path=/x"]);
}

#[test]
fn flags_that_are_unknown_or_contradict_each_other_are_refused() {
    let secure = CookieFlags::default().with("secure").unwrap();
    assert!(secure.with("nosecure").unwrap_err().to_string().contains("says again"));
    assert!(secure.with("partitioned").unwrap().with("nopartitioned").is_err());
    assert!(secure.with("httponly").unwrap().with("NoHttpOnly").is_err());
    let text = secure.with("samesite").unwrap_err().to_string();
    assert!(text.starts_with("\"samesite\" is not one of secure, httponly, partitioned, samesite=strict"), "{text}");
}
