use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};
use serow_jwt::Conditions;

use super::*;

fn settings() -> LoginSettings {
    LoginSettings {
        issuer: "https://id.example".to_owned(),
        client_id: "serow".to_owned(),
        client_secret: None,
        scopes: Vec::new(),
        callback: "/callback".to_owned(),
        logout: "/logout".to_owned(),
        after_logout: None,
        session: Duration::from_secs(1000),
        user_claim: "email".to_owned(),
        conditions: Conditions::default(),
        fields: vec![(Arc::from("Remote-Groups"), "groups".to_owned()), (Arc::from("Remote-Name"), "name".to_owned())],
        ca: None,
    }
}

fn tokens(claims: &Value, refresh_token: Option<&str>) -> TokenSet {
    let claims: Map<String, Value> = claims.as_object().unwrap().clone();
    let refresh_token = refresh_token.map(str::to_owned);
    TokenSet { claims: Some(Claims::new(claims)), refresh_token, expires_in: Some(300) }
}

#[test]
fn a_session_has_what_handlers_learn_and_ends() {
    let claims = json!({"sub": "1", "email": "a@b.example", "groups": ["x", "y"], "name": "A\r\nX: 1"});
    let session = Session::begin([1; 16], tokens(&claims, Some("r")), &settings(), 5000).unwrap();
    assert_eq!(
        (session.user.as_deref(), &session.fields[..]),
        (Some("a@b.example"), &[Some("x,y".to_owned()), None][..])
    );
    let cases = [
        (4939, SessionState::Over),
        (4940, SessionState::Valid),
        (5239, SessionState::Valid),
        (5240, SessionState::Due),
        (5999, SessionState::Due),
        (6000, SessionState::Over),
        (u64::MAX, SessionState::Over),
        (0, SessionState::Over),
    ];
    for (now, expected) in cases {
        assert_eq!(session.state(now), expected, "{now}");
    }
    assert_eq!(Session::decode(&session.encode()), Some(session));
    // Without a refresh token, it lasts until its end.
    let session = Session::begin([1; 16], tokens(&claims, None), &settings(), 5000).unwrap();
    assert_eq!(session.state(5999), SessionState::Valid);
    for claims in [json!({}), json!({"sub": ""}), json!({"sub": 1})] {
        assert_eq!(Session::begin([1; 16], tokens(&claims, None), &settings(), 5000), None, "{claims}");
    }
}

#[test]
fn refreshing_keeps_user_and_end_and_refuses_another_user() {
    let claims = json!({"sub": "1", "email": "a@b.example", "groups": "x"});
    let session = Session::begin([1; 16], tokens(&claims, Some("r1")), &settings(), 5000).unwrap();
    let changed = json!({"sub": "1", "email": "a@b.example", "groups": "y"});
    let next = session.refreshed(tokens(&changed, Some("r2")), &settings(), 5400).unwrap();
    assert_eq!((next.id, next.count, next.end, next.refresh), (session.id, 1, 6000, Some(5640)));
    assert_eq!((next.fields[0].as_deref(), next.refresh_token.as_deref()), (Some("y"), Some("r2")));
    // Neither a new ID token nor a new refresh token: both stay.
    let next = session.refreshed(TokenSet::default(), &settings(), 5400).unwrap();
    assert_eq!((next.user.as_deref(), next.refresh_token.as_deref()), (Some("a@b.example"), Some("r1")));
    let other = json!({"sub": "2", "email": "a@b.example"});
    assert_eq!(session.refreshed(tokens(&other, None), &settings(), 5400), None);
}

#[test]
fn providers_with_short_lived_tokens_are_not_overrun() {
    let claims = json!({"sub": "1"});
    for (expires_in, expected) in [(None, 8540), (Some(0), 5024), (Some(60), 5048), (Some(100_000), 104_940)] {
        let tokens = TokenSet { expires_in, ..tokens(&claims, Some("r")) };
        let session = Session::begin([1; 16], tokens, &settings(), 5000).unwrap();
        assert_eq!(session.refresh, Some(expected), "{expires_in:?}");
    }
    let long = "r".repeat(MAX_REFRESH_TOKEN + 1);
    let session = Session::begin([1; 16], tokens(&claims, Some(&long)), &settings(), 5000).unwrap();
    assert_eq!((session.refresh, session.refresh_token), (None, None));
}
