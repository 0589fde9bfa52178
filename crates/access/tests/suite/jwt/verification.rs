//! Tokens that are right, here and now.

use serde_json::json;
use serow_access::jwt::{Algorithm, Expectations, KeySet, TokenError, Verification, Verifier};

use crate::jwt::issuer::{NOW, claims, issuer};

#[test]
fn tokens_of_all_algorithms_are_verified_by_the_keys_of_a_jwks() {
    let keys = KeySet::parse(&issuer().jwks().to_string()).unwrap().into();
    let verifier = Verifier::new(Expectations::default());
    for algorithm in serow_access::jwt::algorithm_names() {
        let token = issuer().token(algorithm, &claims());
        for attempt in ["first", "cached"] {
            let verified = verifier.verify(&token, &keys, NOW).unwrap();
            assert_eq!(verified.claims().text("sub").as_deref(), Some("bob"), "{algorithm} {attempt}");
        }
    }
}

#[test]
fn only_slow_keys_leave_the_event_loop_and_only_once() {
    let keys = KeySet::parse(&issuer().jwks().to_string()).unwrap().into();
    let verifier = Verifier::new(Expectations::default());
    for (algorithm, is_slow) in
        [("RS256", false), ("PS256", false), ("EdDSA", true), ("HS512", false), ("ES256", true), ("ES384", true)]
    {
        let token = issuer().token(algorithm, &claims());
        match verifier.begin(&token, &keys, NOW).unwrap() {
            Verification::Verified(_) => assert!(!is_slow, "{algorithm}"),
            Verification::Slow(task) => {
                assert!(is_slow, "{algorithm}");
                task.run(&verifier, NOW).unwrap();
            }
        }
        assert!(matches!(verifier.begin(&token, &keys, NOW), Ok(Verification::Verified(_))), "{algorithm}");
    }
    // One of two keys without names: both may have to be tried.
    let mut jwk = issuer().rsa_jwk();
    jwk.as_object_mut().unwrap().remove("kid");
    let keys = KeySet::parse(&json!({ "keys": [jwk, jwk] }).to_string()).unwrap().into();
    let token = issuer().token("RS256", &claims());
    assert!(matches!(verifier.begin(&token, &keys, NOW), Ok(Verification::Slow(_))));
}

#[test]
fn tokens_are_valid_from_nbf_until_exp_with_leeway_also_when_clocks_jump() {
    let keys = KeySet::parse(&issuer().jwks().to_string()).unwrap().into();
    let verifier = Verifier::new(Expectations { leeway: 10, ..Expectations::default() });
    let token = issuer().token("ES256", &json!({ "nbf": NOW, "exp": NOW + 100 }));
    // In this order: most of it is decided about a token that is known.
    for (now, expected) in [
        (NOW - 11, Err(TokenError::NotYetValid)),
        (NOW - 10, Ok(())),
        (NOW - 11, Err(TokenError::NotYetValid)),
        (NOW + 109, Ok(())),
        (NOW + 110, Err(TokenError::Expired)),
        (NOW + 100_000_000, Err(TokenError::Expired)),
        (NOW + 50, Ok(())),
        (0, Err(TokenError::NotYetValid)),
        (u64::MAX, Err(TokenError::Expired)),
        (NOW, Ok(())),
    ] {
        assert_eq!(verifier.verify(&token, &keys, now).map(drop), expected, "{now}");
    }
}

#[test]
fn issuer_and_audience_must_be_those_that_are_expected() {
    let keys = KeySet::parse(&issuer().jwks().to_string()).unwrap().into();
    let expecting = |issuers: &[&str], audiences: &[&str]| {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        Verifier::new(Expectations { issuers: texts(issuers), audiences: texts(audiences), ..Expectations::default() })
    };
    let issuer_error = Err(TokenError::Issuer);
    let audience_error = Err(TokenError::Audience);
    for (issuers, audiences, extra, expected) in [
        (&[][..], &[][..], json!({}), Ok(())),
        (&[], &[], json!({ "iss": "https://a" }), Ok(())),
        (&["https://a"], &[], json!({ "iss": "https://a" }), Ok(())),
        (&["https://a", "https://b"], &[], json!({ "iss": "https://b" }), Ok(())),
        (&["https://a"], &[], json!({ "iss": "https://a/" }), issuer_error),
        (&["https://a"], &[], json!({ "iss": "https://A" }), issuer_error),
        (&["https://a"], &[], json!({}), issuer_error),
        (&["https://a"], &[], json!({ "iss": ["https://a"] }), Err(TokenError::Claims)),
        (&["https://a"], &[], json!({ "iss": null }), Err(TokenError::Claims)),
        (&[], &["api"], json!({ "aud": "api" }), Ok(())),
        (&[], &["api"], json!({ "aud": ["web", "api"] }), Ok(())),
        (&[], &["api"], json!({ "aud": "web" }), audience_error),
        (&[], &["api"], json!({ "aud": "api web" }), audience_error),
        (&[], &["api"], json!({ "aud": [] }), audience_error),
        (&[], &["api"], json!({}), audience_error),
        (&[], &["api"], json!({ "aud": ["api", 1] }), Err(TokenError::Claims)),
        (&[], &["api"], json!({ "aud": { "api": 1 } }), Err(TokenError::Claims)),
        // RFC 7519 §4.1.3: we are not whom it is for.
        (&[], &[], json!({ "aud": "api" }), audience_error),
        (&[], &[], json!({ "sub": 7 }), Err(TokenError::Claims)),
    ] {
        let mut all = claims();
        all.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let token = issuer().token("HS256", &all);
        assert_eq!(expecting(issuers, audiences).verify(&token, &keys, NOW).map(drop), expected, "{extra}");
    }
}

#[test]
fn algorithms_that_are_not_permitted_are_refused_though_the_key_has_them() {
    let keys = KeySet::parse(&issuer().jwks().to_string()).unwrap().into();
    let algorithms = Some(vec![Algorithm::PS256, Algorithm::ES256]);
    let verifier = Verifier::new(Expectations { algorithms, ..Expectations::default() });
    for (algorithm, expected) in [
        ("PS256", Ok(())),
        ("ES256", Ok(())),
        ("RS256", Err(TokenError::Algorithm)),
        ("HS256", Err(TokenError::Algorithm)),
    ] {
        assert_eq!(
            verifier.verify(&issuer().token(algorithm, &claims()), &keys, NOW).map(drop),
            expected,
            "{algorithm}"
        );
    }
}

#[test]
fn tokens_are_forgotten_when_the_keys_change() {
    let jwks = issuer().jwks();
    let before = KeySet::parse(&jwks.to_string()).unwrap().into();
    let verifier = Verifier::new(Expectations::default());
    let token = issuer().sign("ES256", r#"{"alg":"ES256","kid":"p256"}"#, &claims().to_string());
    assert!(verifier.verify(&token, &before, NOW).is_ok());
    let after = KeySet::parse(&json!({ "keys": [issuer().rsa_jwk()] }).to_string()).unwrap().into();
    assert_eq!(verifier.verify(&token, &after, NOW).map(drop), Err(TokenError::UnknownKey));
    assert!(verifier.verify(&token, &before, NOW).is_ok());
}
