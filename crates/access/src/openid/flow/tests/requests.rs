//! The steps that requests lead to, by their form.

use super::*;

#[test]
fn only_browsers_that_open_a_page_are_led_to_the_login() {
    let (flow, page) = (flow(), ("accept", "text/html;q=0.9, */*"));
    for (method, fields, begins) in [
        ("GET", &[page][..], true),
        ("HEAD", &[page], true),
        ("GET", &[page, ("sec-fetch-mode", "navigate")], true),
        ("GET", &[], false),
        ("GET", &[("accept", "*/*")], false),
        ("GET", &[("accept", "application/json")], false),
        ("GET", &[("accept", "text/html;q=0, */*")], false),
        ("GET", &[("accept", "text/html;level=1 ; Q=0.000")], false),
        ("GET", &[("accept", "text/html;q=0.001")], true),
        ("GET", &[page, ("sec-fetch-mode", "cors")], false),
        ("GET", &[page, ("sec-fetch-mode", "no-cors")], false),
        ("GET", &[page, ("x-requested-with", "XMLHttpRequest")], false),
        ("POST", &[page, ("sec-fetch-mode", "navigate")], false),
        ("DELETE", &[page], false),
    ] {
        match Browser::new(1).step(&flow, (method, "/"), fields, NOW) {
            LoginStep::Begin(_) => assert!(begins, "{method} {fields:?}"),
            LoginStep::Replied(reply) => {
                assert!(reply.status == 401 && !begins, "{method} {fields:?}");
                // RFC 9110 §15.5.2.
                assert!(reply.fields.iter().any(|(name, _)| *name == "www-authenticate"));
            }
            step => panic!("{step:?}"),
        }
    }
}

#[test]
fn without_tls_only_this_machine_logs_in() {
    let flow = flow();
    for (host, is_secure, begins) in [
        ("app.example", true, true),
        ("app.example", false, false),
        ("localhost.evil.example", false, false),
        ("localhost", false, true),
        ("localhost:8080", false, true),
        ("127.0.0.1:8080", false, true),
        ("[::1]:8080", false, true),
    ] {
        let mut browser = Browser { host, is_secure, ..Browser::new(1) };
        match browser.open(&flow, "/", NOW) {
            LoginStep::Begin(beginning) => {
                assert!(begins, "{host}");
                let reply = flow.authorize(*beginning, &metadata());
                let cookie = reply.fields.iter().find(|(name, _)| *name == "set-cookie").unwrap();
                assert_eq!(cookie.1.contains("Secure") && cookie.1.starts_with("__Host-"), is_secure);
            }
            step => assert!(status(step) == 403 && !begins, "{host}"),
        }
    }
}

#[test]
fn callbacks_that_are_not_of_a_login_are_refused() {
    let flow = flow();
    let mut browser = Browser::new(1);
    let state = browser.begin(&flow, "/a", NOW).get("state");
    for (query, expected) in [
        (String::new(), 400),
        ("code=c".to_owned(), 400),
        ("state=&code=c".to_owned(), 400),
        (format!("state={state}"), 400),
        (format!("state={state}&code="), 400),
        (format!("state={state}&code={}", "c".repeat(5000)), 400),
        (format!("state={state}&state={state}&code=c"), 400),
        (format!("state={state}&code=c&code=d"), 400),
        (format!("state={state}&code=%zz"), 400),
        (format!("state={}&code=c", &state[1..]), 400),
        (format!("state={state}&error=access_denied"), 403),
        ("state=a&error=access_denied".to_owned(), 400),
        (format!("state={state}&error=%3Cscript%3Ealert(1)"), 403),
    ] {
        let LoginStep::Replied(reply) = browser.open(&flow, &format!("{CALLBACK}?{query}"), NOW) else {
            panic!("{query}")
        };
        assert_eq!(reply.status, expected, "{query}");
        assert!(!reply.body.contains("<script"), "{}", reply.body);
    }
    // RFC 9110 §15.5.6.
    for (method, path, allow) in
        [("POST", CALLBACK, "GET"), ("HEAD", CALLBACK, "GET"), ("PUT", LOGOUT, "GET, HEAD, POST")]
    {
        let step = browser.step(&flow, (method, &format!("{path}?state={state}&code=c")), &[], NOW);
        let LoginStep::Replied(reply) = step else { panic!("{step:?}") };
        assert_eq!((reply.status, reply.fields.last()), (405, Some(&("allow", allow.to_owned()))), "{method} {path}");
    }
    assert!(matches!(browser.come_back(&flow, &state, NOW), LoginStep::Exchange(_)));
}
