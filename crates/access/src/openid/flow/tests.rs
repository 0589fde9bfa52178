//! Logins of browsers, and attacks on them.

mod attacks;
mod requests;

use std::{collections::BTreeMap, time::Duration};

use crate::jwt::{Claims, Conditions};
use serde_json::{Value, json};

use super::*;
use crate::openid::{
    cookie_key::CookieKey,
    token_response::{TokenSet, UserClaims},
};

const NOW: u64 = 1_800_000_000;
const CALLBACK: &str = "/.serow/login/callback";
const LOGOUT: &str = "/.serow/login/logout";
const ISSUER: &str = "https://id.example";

fn settings() -> LoginSettings {
    LoginSettings {
        issuer: ISSUER.to_owned(),
        client_id: "serow".to_owned(),
        client_secret: None,
        scopes: vec!["email".to_owned(), "groups".to_owned()],
        callback: CALLBACK.to_owned(),
        logout: LOGOUT.to_owned(),
        after_logout: Some("https://app.example/".to_owned()),
        session: Duration::from_secs(10_000),
        user_claim: "email".to_owned(),
        conditions: Conditions(vec![("groups".to_owned(), vec!["staff".to_owned()])]),
        fields: vec![(Arc::from("Remote-Groups"), "groups".to_owned())],
        ca: None,
    }
}

fn flow_of(settings: LoginSettings, key: u8) -> Flow {
    let key = CookieKey::of_bytes(&[key; 32]).unwrap();
    Flow { seal: Seal::new(&key, &settings.purpose()).unwrap(), settings: Arc::new(settings) }
}

fn flow() -> Flow {
    flow_of(settings(), 1)
}

fn metadata() -> Metadata {
    Metadata {
        authorization: "https://id.example/auth".to_owned(),
        token: "https://id.example/token".to_owned(),
        keys: "https://id.example/keys".to_owned(),
        userinfo: None,
        end_session: Some("https://id.example/logout".to_owned()),
        names_issuer: false,
        takes_secret_in_body: false,
    }
}

/// A browser with its cookies.
#[derive(Clone)]
struct Browser {
    cookies: BTreeMap<String, String>,
    host: &'static str,
    is_secure: bool,
    /// The seed of its random numbers, which differs from those of other browsers.
    seed: u8,
}

/// The parameters with which a browser comes to the provider.
#[derive(Clone, Debug)]
struct Authorization {
    location: String,
    query: String,
}

impl Browser {
    fn new(seed: u8) -> Self {
        Self { cookies: BTreeMap::new(), host: "app.example", is_secure: true, seed }
    }

    fn step(
        &mut self,
        flow: &Flow,
        (method, target): (&str, &str),
        fields: &[(&'static str, &str)],
        now: u64,
    ) -> LoginStep {
        let mut headers = Headers::new();
        fields.iter().for_each(|(name, value)| headers.append(*name, value).unwrap());
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            headers.append("cookie", cookies.join("; ")).unwrap();
        }
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let (host, is_secure) = (self.host, self.is_secure);
        let request = LoginRequest { method: &method, path, query, headers: &headers, host, is_secure, client: None };
        let seed = &mut self.seed;
        flow.step(&request, now, &mut |bytes| {
            *seed = seed.wrapping_add(16);
            bytes.fill(*seed);
        })
    }

    /// Opens a page.
    fn open(&mut self, flow: &Flow, target: &str, now: u64) -> LoginStep {
        self.step(flow, ("GET", target), &[("accept", "text/html,*/*;q=0.8"), ("sec-fetch-mode", "navigate")], now)
    }

    /// Opens a page, and is sent to the provider.
    fn begin(&mut self, flow: &Flow, target: &str, now: u64) -> Authorization {
        let LoginStep::Begin(beginning) = self.open(flow, target, now) else { panic!("no login begins at {target}") };
        let location = self.receive(&flow.authorize(*beginning, &metadata()));
        let query = location.split_once('?').unwrap().1.to_owned();
        Authorization { location, query }
    }

    /// Takes the cookies of a reply, and returns its location.
    fn receive(&mut self, reply: &Reply) -> String {
        for (_, cookie) in reply.fields.iter().filter(|(name, _)| *name == "set-cookie") {
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            match cookie.contains("Max-Age=0;") {
                true => drop(self.cookies.remove(name)),
                false => drop(self.cookies.insert(name.to_owned(), value.to_owned())),
            }
        }
        location(reply).to_owned()
    }

    /// Comes back from the provider with a code.
    fn come_back(&mut self, flow: &Flow, state: &str, now: u64) -> LoginStep {
        self.open(flow, &format!("{CALLBACK}?{}", form::encode(&[("code", "c0de"), ("state", state)])), now)
    }

    /// Logs in.
    fn log_in(&mut self, flow: &Flow, target: &str, user: &str, now: u64) -> String {
        let authorization = self.begin(flow, target, now);
        let LoginStep::Exchange(exchange) = self.come_back(flow, &authorization.get("state"), now) else { panic!() };
        let tokens = tokens(user, &authorization.get("nonce"));
        self.receive(&finish(flow, &exchange, tokens, [self.seed; 16], now))
    }

    fn user(&mut self, flow: &Flow, now: u64) -> Option<String> {
        match self.open(flow, "/", now) {
            LoginStep::Passed(granted) => granted.user.map(|user| user.to_string()),
            _ => None,
        }
    }
}

impl Authorization {
    fn get(&self, name: &str) -> String {
        form::find(&self.query, name).unwrap().unwrap_or_default()
    }
}

fn location(reply: &Reply) -> &str {
    reply.fields.iter().find(|(name, _)| *name == "location").map_or("", |(_, value)| value)
}

fn claims(user: &str, nonce: &str) -> Value {
    json!({"sub": user, "email": format!("{user}@app.example"), "groups": ["staff"], "aud": "serow", "nonce": nonce})
}

fn tokens_of(claims: &Value) -> TokenSet {
    let claims = Claims::new(claims.as_object().unwrap().clone());
    let claims = UserClaims::Whole { claims, from_user_info: Vec::new() };
    TokenSet { claims, refresh_token: Some("refresh-t0ken".to_owned()), expires_in: Some(3600) }
}

fn tokens(user: &str, nonce: &str) -> TokenSet {
    tokens_of(&claims(user, nonce))
}

/// The reply to a browser that comes back to a login with these tokens.
fn finish(flow: &Flow, exchange: &CodeExchange, tokens: TokenSet, id: [u8; 16], now: u64) -> Reply {
    flow.finish(exchange, flow.new_session(exchange, tokens, id, now), now)
}

/// The status of a reply that is not a redirect.
fn status(step: LoginStep) -> u16 {
    match step {
        LoginStep::Replied(reply) if location(&reply).is_empty() => reply.status,
        step => panic!("{step:?}"),
    }
}

#[test]
fn a_browser_logs_in_and_returns_to_its_page() {
    let (flow, mut browser) = (flow(), Browser::new(1));
    let authorization = browser.begin(&flow, "/reports?year=2026", NOW);
    assert!(authorization.location.starts_with("https://id.example/auth?"), "{}", authorization.location);
    for (name, expected) in [
        ("response_type", "code"),
        ("client_id", "serow"),
        ("redirect_uri", "https://app.example/.serow/login/callback"),
        ("scope", "openid email groups"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(authorization.get(name), expected, "{name}");
    }
    let LoginStep::Exchange(exchange) = browser.come_back(&flow, &authorization.get("state"), NOW + 30) else {
        panic!()
    };
    let challenge = BASE64URL_NOPAD.encode(digest(&SHA256, exchange.verifier.as_bytes()).as_ref());
    assert_eq!(authorization.get("code_challenge"), challenge);
    assert_eq!(
        (exchange.code.as_str(), exchange.redirect_uri.as_str()),
        ("c0de", "https://app.example/.serow/login/callback")
    );
    let reply = finish(&flow, &exchange, tokens("alice", &authorization.get("nonce")), [9; 16], NOW + 30);
    assert!(reply.fields.contains(&("cache-control", "no-store".to_owned())));
    assert_eq!(browser.receive(&reply), "/reports?year=2026");
    // The secret of the browser is of no use any more.
    assert_eq!(browser.cookies.keys().collect::<Vec<_>>(), ["__Host-serow-login-session"]);
    let LoginStep::Passed(granted) = browser.open(&flow, "/reports?year=2026", NOW + 31) else { panic!() };
    assert_eq!(granted.user.as_deref(), Some("alice@app.example"));
    assert_eq!(granted.fields, [(Arc::from("Remote-Groups"), "staff".to_owned())]);
    // Neither tokens nor names can be read in cookies and URLs.
    let cookie = browser.cookies.values().next().unwrap().split_once('.').unwrap().1.to_owned();
    let plain = String::from_utf8_lossy(&BASE64URL_NOPAD.decode(cookie.as_bytes()).unwrap()).into_owned();
    for secret in ["refresh-t0ken", "alice", "staff", &exchange.verifier] {
        assert!(!plain.contains(secret) && !authorization.location.contains(secret), "{secret}");
    }
}

#[test]
fn windows_of_a_browser_log_in_beside_each_other() {
    let (flow, mut browser) = (flow(), Browser::new(1));
    let [first, second] = ["/first", "/second"].map(|page| browser.begin(&flow, page, NOW));
    assert_eq!(browser.cookies.len(), 1);
    let LoginStep::Exchange(exchange) = browser.come_back(&flow, &second.get("state"), NOW) else { panic!() };
    let reply = finish(&flow, &exchange, tokens("alice", &second.get("nonce")), [9; 16], NOW);
    assert_eq!(browser.receive(&reply), "/second");
    // The first window profits from the session of the second; its code is not used.
    let LoginStep::Replied(reply) = browser.come_back(&flow, &first.get("state"), NOW) else { panic!() };
    assert_eq!((reply.status, browser.receive(&reply).as_str()), (303, "/first"));
}

#[test]
fn sessions_are_refreshed_and_end() {
    let (flow, mut browser) = (flow(), Browser::new(1));
    browser.log_in(&flow, "/", "alice", NOW);
    assert!(matches!(browser.open(&flow, "/", NOW + 3539), LoginStep::Passed(_)));
    let LoginStep::Due(session, cookies) = browser.open(&flow, "/", NOW + 3540) else { panic!() };
    assert_eq!(session.refresh_token.as_deref(), Some("refresh-t0ken"));
    let next = session.refreshed(tokens("alice", ""), &flow.settings, NOW + 3540).unwrap();
    let set = flow.session_cookies(cookies, &next, NOW + 3540).unwrap();
    browser.receive(&Reply::status(200).with_cookies(set));
    assert!(matches!(browser.open(&flow, "/", NOW + 3541), LoginStep::Passed(_)));
    assert!(matches!(browser.open(&flow, "/", NOW + 10_000), LoginStep::Begin(_)));
}

#[test]
fn a_refresh_token_that_does_not_fit_into_cookies_is_left_out() {
    let (flow, mut browser) = (
        flow_of(LoginSettings { fields: vec![(Arc::from("X"), "long".to_owned()); 5], ..settings() }, 1),
        Browser::new(1),
    );
    let authorization = browser.begin(&flow, "/", NOW);
    let LoginStep::Exchange(exchange) = browser.come_back(&flow, &authorization.get("state"), NOW) else { panic!() };
    let mut claims = claims("alice", &authorization.get("nonce"));
    claims["long"] = json!("x".repeat(1000));
    let tokens = TokenSet { refresh_token: Some("r".repeat(4000)), ..tokens_of(&claims) };
    browser.receive(&finish(&flow, &exchange, tokens, [9; 16], NOW));
    assert!(browser.cookies.len() > 1);
    assert!(matches!(browser.open(&flow, "/", NOW + 9999), LoginStep::Passed(_)));
}
