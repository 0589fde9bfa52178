//! Attacks on logins and sessions; each is refused.

use super::*;

#[test]
fn swapped_callback_a_state_is_of_no_use_in_another_browser() {
    let flow = flow();
    let (mut attacker, mut victim) = (Browser::new(1), Browser::new(2));
    let authorization = attacker.begin(&flow, "/", NOW);
    // The victim opens the attacker's callback: it would be logged in as the attacker.
    assert_eq!(status(victim.come_back(&flow, &authorization.get("state"), NOW)), 400);
    // Also while it logs in itself.
    victim.begin(&flow, "/", NOW);
    assert_eq!(status(victim.come_back(&flow, &authorization.get("state"), NOW)), 400);
    // With a session, it keeps its own.
    victim.log_in(&flow, "/", "victim", NOW);
    assert!(matches!(victim.come_back(&flow, &authorization.get("state"), NOW), LoginStep::Replied(_)));
    assert_eq!(victim.user(&flow, NOW).as_deref(), Some("victim@app.example"));
}

#[test]
fn replayed_state_a_login_is_finished_once() {
    let (flow, mut browser) = (flow(), Browser::new(1));
    let authorization = browser.begin(&flow, "/a", NOW);
    let LoginStep::Exchange(exchange) = browser.come_back(&flow, &authorization.get("state"), NOW) else { panic!() };
    browser.receive(&finish(&flow, &exchange, tokens("alice", &authorization.get("nonce")), [9; 16], NOW));
    assert!(matches!(browser.come_back(&flow, &authorization.get("state"), NOW), LoginStep::Replied(_)));
    browser.cookies.clear();
    assert_eq!(status(browser.come_back(&flow, &authorization.get("state"), NOW)), 400);
}

#[test]
fn code_injection_tokens_of_another_login_begin_no_session() {
    let flow = flow();
    let (mut attacker, mut victim) = (Browser::new(1), Browser::new(2));
    let [of_attacker, of_victim] = [attacker.begin(&flow, "/", NOW), victim.begin(&flow, "/", NOW)];
    assert_ne!(of_attacker.get("code_challenge"), of_victim.get("code_challenge"));
    let LoginStep::Exchange(exchange) = victim.come_back(&flow, &of_victim.get("state"), NOW) else { panic!() };
    let nonce = of_victim.get("nonce");
    for claims in [
        claims("attacker", &of_attacker.get("nonce")),
        claims("attacker", ""),
        json!({"sub": "attacker", "groups": ["staff"]}),
        json!({"sub": "attacker", "groups": ["staff"], "nonce": [nonce]}),
        json!({"sub": "attacker", "groups": ["staff"], "nonce": nonce, "azp": "other"}),
        json!({"sub": "attacker", "groups": ["staff"], "nonce": nonce, "aud": ["serow", "other"]}),
        json!({"sub": "", "groups": ["staff"], "nonce": nonce}),
    ] {
        let reply = finish(&flow, &exchange, tokens_of(&claims), [9; 16], NOW);
        assert_eq!(reply.status, 400, "{claims}");
        assert!(!reply.fields.iter().any(|(name, _)| *name == "set-cookie"), "{claims}");
    }
}

#[test]
fn mix_up_a_response_of_another_issuer_is_refused() {
    let (flow, mut browser) = (flow(), Browser::new(1));
    let state = browser.begin(&flow, "/", NOW).get("state");
    let naming = Metadata { names_issuer: true, ..metadata() };
    let cases = [
        (Some("https://evil.example"), None),
        (Some("https://id.example/"), None),
        (Some(""), None),
        (Some(ISSUER), Some((true, true))),
        (None, Some((true, false))),
    ];
    for (issuer, expected) in cases {
        let mut pairs = vec![("code", "c0de"), ("state", state.as_str())];
        pairs.extend(issuer.map(|issuer| ("iss", issuer)));
        match (browser.open(&flow, &format!("{CALLBACK}?{}", form::encode(&pairs)), NOW), expected) {
            (LoginStep::Exchange(exchange), Some((usual, where_issuers_are_named))) => {
                assert_eq!(flow.accept(&exchange, &metadata()).is_ok(), usual, "{issuer:?}");
                assert_eq!(flow.accept(&exchange, &naming).is_ok(), where_issuers_are_named, "{issuer:?}");
            }
            (step, None) => assert_eq!(status(step), 400, "{issuer:?}"),
            (step, _) => panic!("{issuer:?}: {step:?}"),
        }
    }
}

#[test]
fn cookie_tampering_changed_and_foreign_cookies_are_none() {
    let (flow, mut browser) = (flow(), Browser::new(1));
    browser.log_in(&flow, "/", "alice", NOW);
    let name = "__Host-serow-login-session";
    let value = browser.cookies[name].clone();
    for position in 0..value.len() {
        let mut changed = value.clone().into_bytes();
        changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
        let mut forger = browser.clone();
        forger.cookies.insert(name.to_owned(), String::from_utf8(changed).unwrap());
        assert_eq!(forger.user(&flow, NOW), None, "byte {position}");
    }
    // Another kind of cookie, the cookies of a server with another key, and of one with other settings.
    let mut stranger = Browser::new(2);
    stranger.begin(&flow, "/", NOW);
    let other = stranger.cookies["__Host-serow-login-browser"].clone();
    stranger.cookies.insert(name.to_owned(), other);
    assert_eq!(stranger.user(&flow, NOW), None);
    let open = LoginSettings { conditions: Conditions::default(), ..settings() };
    for other in [flow_of(settings(), 2), flow_of(open, 1)] {
        let mut stranger = Browser::new(3);
        stranger.log_in(&other, "/", "alice", NOW);
        assert!(stranger.user(&other, NOW).is_some());
        assert_eq!(stranger.user(&flow, NOW), None);
    }
}

#[test]
fn session_fixation_a_login_begins_a_session_of_its_own() {
    let flow = flow();
    let (mut attacker, mut victim) = (Browser::new(1), Browser::new(2));
    attacker.log_in(&flow, "/", "attacker", NOW);
    let planted = attacker.cookies.clone();
    // The victim has the attacker's expired session, and logs in.
    victim.cookies.clone_from(&planted);
    victim.log_in(&flow, "/", "victim", NOW + 10_000);
    assert_eq!(victim.user(&flow, NOW + 10_000).as_deref(), Some("victim@app.example"));
    assert_ne!(victim.cookies, planted);
    attacker.cookies = planted;
    assert_eq!(attacker.user(&flow, NOW + 10_000), None);
    // Browsers accept a cookie with this prefix from its own host only, and only over TLS.
    assert!(victim.cookies.keys().all(|name| name.starts_with("__Host-")));
}

#[test]
fn clock_jumps_neither_states_nor_sessions_live_longer() {
    let (flow, mut browser) = (flow(), Browser::new(1));
    let state = browser.begin(&flow, "/", NOW).get("state");
    for now in [0, NOW - 61, NOW + 900, NOW + 100_000, u64::MAX] {
        assert_eq!(status(browser.come_back(&flow, &state, now)), 400, "{now}");
    }
    for now in [NOW - 60, NOW + 899] {
        assert!(matches!(browser.come_back(&flow, &state, now), LoginStep::Exchange(_)), "{now}");
    }
    browser.log_in(&flow, "/", "alice", NOW);
    for now in [0, NOW - 61, NOW + 10_000, u64::MAX] {
        assert!(matches!(browser.open(&flow, "/", now), LoginStep::Begin(_)), "{now}");
    }
}

#[test]
fn open_redirects_logins_return_to_the_same_site() {
    let flow = flow();
    for target in [
        "//evil.example",
        "/\\evil.example",
        "//evil.example/a?b",
        "/\\/evil.example",
        "///evil.example",
        "/\t/evil.example",
    ] {
        assert_eq!(Browser::new(1).log_in(&flow, target, "alice", NOW), "/", "{target:?}");
    }
    for target in ["/%2F%2Fevil.example", "/%5Cevil.example", "/a?rd=https://evil.example", "/a?next=//evil.example"] {
        let location = Browser::new(1).log_in(&flow, target, "alice", NOW);
        assert_eq!(location, target);
    }
    // Neither does the callback name a page.
    let mut browser = Browser::new(1);
    let authorization = browser.begin(&flow, "/a", NOW);
    let pairs =
        [("code", "c"), ("state", &*authorization.get("state")), ("rd", "https://evil.example"), ("return", "//evil")];
    let LoginStep::Exchange(exchange) = browser.open(&flow, &format!("{CALLBACK}?{}", form::encode(&pairs)), NOW)
    else {
        panic!()
    };
    let reply = finish(&flow, &exchange, tokens("alice", &authorization.get("nonce")), [9; 16], NOW);
    assert_eq!(location(&reply), "/a");
}

#[test]
fn users_who_do_not_meet_the_conditions_have_no_session() {
    let (flow, mut browser) = (flow(), Browser::new(1));
    let authorization = browser.begin(&flow, "/", NOW);
    let LoginStep::Exchange(exchange) = browser.come_back(&flow, &authorization.get("state"), NOW) else { panic!() };
    let mut claims = claims("eve", &authorization.get("nonce"));
    claims["groups"] = json!(["guests"]);
    let reply = finish(&flow, &exchange, tokens_of(&claims), [9; 16], NOW);
    assert_eq!(reply.status, 403);
    browser.receive(&reply);
    assert_eq!(browser.cookies, BTreeMap::new());
}

#[test]
fn logout_only_forms_of_the_same_site_end_sessions() {
    let (flow, mut browser) = (flow(), Browser::new(1));
    browser.log_in(&flow, "/", "alice", NOW);
    for (method, fields, expected) in [
        ("GET", &[][..], 200),
        ("POST", &[("sec-fetch-site", "cross-site")], 403),
        ("POST", &[("sec-fetch-site", "same-site"), ("origin", "https://app.example")], 403),
        ("POST", &[("origin", "https://evil.example")], 403),
        ("POST", &[("origin", "null")], 403),
        ("POST", &[("origin", "http://app.example")], 403),
        ("DELETE", &[], 405),
    ] {
        assert_eq!(status(browser.step(&flow, (method, LOGOUT), fields, NOW)), expected, "{method} {fields:?}");
    }
    let mut without_cookies = Browser::new(2);
    assert_eq!(status(without_cookies.step(&flow, ("POST", LOGOUT), &[], NOW)), 403);
    for fields in [&[("sec-fetch-site", "same-origin")][..], &[("origin", "https://app.example")], &[]] {
        let mut browser = browser.clone();
        let LoginStep::LoggedOut(_, cookies) = browser.step(&flow, ("POST", LOGOUT), fields, NOW) else {
            panic!("{fields:?}")
        };
        let to = browser.receive(&flow.logged_out(cookies.clone(), Some(&metadata())));
        assert_eq!(
            to,
            "https://id.example/logout?client_id=serow&post_logout_redirect_uri=https%3A%2F%2Fapp.example%2F"
        );
        assert_eq!(browser.cookies, BTreeMap::new());
        assert_eq!(flow.logged_out(cookies, None).status, 200);
    }
}
