use std::{sync::Arc, time::Duration};

use crate::jwt::Conditions;
use serde_json::{Map, Value, json};

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
    let claims = UserClaims::Whole { claims: Claims::new(claims), from_user_info: Vec::new() };
    TokenSet { claims, refresh_token, expires_in: Some(300) }
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
        let begun = Session::begin([1; 16], tokens(&claims, None), &settings(), 5000);
        assert_eq!(begun, Err(SessionError::Subject), "{claims}");
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
    assert_eq!(session.refreshed(tokens(&other, None), &settings(), 5400), Err(SessionError::Subject));
}

#[test]
fn a_new_refresh_token_is_kept_without_claims_and_the_provider_is_asked_again_soon() {
    let claims = json!({"sub": "1", "email": "a@b.example", "groups": "x"});
    let session = Session::begin([1; 16], tokens(&claims, Some("r1")), &settings(), 5000).unwrap();
    for (expires_in, refresh) in [(Some(300), 5460), (Some(30), 5424), (None, 5460)] {
        let new = TokenSet { refresh_token: Some("r2".to_owned()), expires_in, ..TokenSet::default() };
        let next = session.rotated(new, 5400);
        assert_eq!((next.refresh_token.as_deref(), next.refresh, next.count), (Some("r2"), Some(refresh), 1));
        assert_eq!((&next.user, &next.fields, next.end), (&session.user, &session.fields, session.end));
    }
    assert_eq!(session.rotated(TokenSet::default(), 5400).refresh_token.as_deref(), Some("r1"));
}

#[test]
fn claims_that_handlers_would_miss_or_mistake_begin_no_session_and_end_one() {
    let claim = |name: &str, problem| SessionError::Claim { name: name.to_owned(), problem };
    let groups = |count: usize| json!((0..count).map(|number| format!("group-{number:018}")).collect::<Vec<_>>());
    for (changes, expected) in [
        (json!({"groups": groups(163)}), None),
        (json!({"groups": groups(164)}), Some(claim("groups", ClaimProblem::TooLong(4099)))),
        (json!({"groups": "x".repeat(4097)}), Some(claim("groups", ClaimProblem::TooLong(4097)))),
        (json!({"email": "x".repeat(4097)}), Some(claim("email", ClaimProblem::TooLong(4097)))),
        (json!({"groups": ["a,admin"]}), Some(claim("groups", ClaimProblem::Ambiguous))),
        (json!({"groups": ["a", " admin"]}), Some(claim("groups", ClaimProblem::Ambiguous))),
        (json!({"email": ["root,x"]}), Some(claim("email", ClaimProblem::Ambiguous))),
        (json!({"email": " root"}), Some(claim("email", ClaimProblem::Spaces))),
        (json!({"name": "Doe, Jane "}), None),
        (json!({"groups": []}), None),
        // No client gets it.
        (json!({"picture": "x".repeat(9000)}), None),
        (
            json!({"groups": groups(160), "name": "x".repeat(4096), "email": "x".repeat(1000)}),
            Some(SessionError::Size(0)),
        ),
    ] {
        let mut claims = json!({"sub": "1", "email": "a@b.example", "groups": "x"});
        let session = Session::begin([1; 16], tokens(&claims, Some("r1")), &settings(), 5000).unwrap();
        claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let begun = Session::begin([1; 16], tokens(&claims, Some("r1")), &settings(), 5000).err();
        let refreshed = session.refreshed(tokens(&claims, Some("r2")), &settings(), 5400).err();
        for found in [begun, refreshed] {
            match (&found, &expected) {
                (Some(SessionError::Size(size)), Some(SessionError::Size(_))) => assert!(*size > MAX_SESSION),
                _ => assert_eq!(found, expected, "{changes}"),
            }
            let text = found.iter().map(|error| format!("{error} {:?}", error.remedy())).collect::<String>();
            assert!(!text.contains("None"), "{text}");
        }
    }
}

#[test]
fn without_an_id_token_user_info_ends_and_changes_what_came_from_it() {
    let settings = LoginSettings {
        conditions: Conditions(vec![
            ("groups".to_owned(), vec!["staff".to_owned()]),
            ("hd".to_owned(), vec!["b.example".to_owned()]),
        ]),
        ..settings()
    };
    let claims = json!({"sub": "1", "email": "a@b.example", "groups": ["staff"], "hd": "b.example", "name": "A"});
    let from_user_info = vec!["groups".to_owned(), "name".to_owned()];
    let whole = UserClaims::Whole { claims: Claims::new(claims.as_object().unwrap().clone()), from_user_info };
    let begun = TokenSet { claims: whole, refresh_token: Some("r1".to_owned()), expires_in: None };
    let session = Session::begin([1; 16], begun, &settings, 5000).unwrap();
    let groups = |value: &str| Some(value.to_owned());
    for (claims, expected) in [
        (json!({"groups": ["staff"], "name": "A"}), Ok((groups("staff"), groups("A")))),
        (json!({"groups": ["staff", "ops"]}), Ok((groups("staff,ops"), None))),
        (json!({"groups": ["ops"]}), Err(SessionError::Conditions)),
        // It had them before.
        (json!({}), Err(SessionError::Conditions)),
        (json!({"groups": ["staff"], "hd": "c.example"}), Err(SessionError::Conditions)),
    ] {
        let mut claims = claims.as_object().unwrap().clone();
        claims.insert("sub".to_owned(), json!("1"));
        let tokens = TokenSet { claims: UserClaims::OfUserInfo(Claims::new(claims.clone())), ..TokenSet::default() };
        let found = session.refreshed(tokens, &settings, 5400);
        let found = found.map(|session| {
            assert_eq!(session.user.as_deref(), Some("a@b.example"), "the ID token had it");
            (session.fields[0].clone(), session.fields[1].clone())
        });
        assert_eq!(found, expected, "{claims:?}");
    }
}

#[test]
fn sessions_of_earlier_versions_are_read() {
    let text = br#"{"id":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"count":0,"subject":"1","user":null,"fields":[],"begin":1,
        "refresh":null,"end":2,"refresh_token":null}"#;
    let session = Session::decode(text).unwrap();
    assert_eq!((session.tokens_end, session.from_user_info.len()), (0, 0));
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
