//! Key sets that can be used, and others.

use serde_json::{Value, json};
use serow_access::jwt::{Expectations, KeySet, Verifier};

use crate::jwt::issuer::{NOW, SECRET, claims, encode, issuer};

fn verifies(keys: KeySet, algorithm: &str) -> bool {
    let token = issuer().token(algorithm, &claims());
    Verifier::new(Expectations::default()).verify(&token, &keys.into(), NOW).is_ok()
}

#[test]
fn keys_are_read_from_jwks_jwk_pem_and_secrets() {
    let parse = |text: &str| KeySet::parse(text).unwrap();
    for (keys, algorithm, expected) in [
        (parse(&issuer().rsa_jwk().to_string()), "RS256", true),
        (parse(&issuer().rsa_pem()), "PS512", true),
        (parse(&issuer().p256_pem()), "ES256", true),
        (parse(&issuer().ed25519_pem()), "EdDSA", true),
        (parse(&format!("{}{}", issuer().rsa_pem(), issuer().p256_pem())), "ES256", true),
        (parse(&issuer().rsa_pem()), "ES256", false),
        (KeySet::of_secret(SECRET).unwrap(), "HS512", true),
        (KeySet::of_secret(&format!("{SECRET}\r\n")).unwrap(), "HS256", true),
        (KeySet::of_secret(&format!("{SECRET}\n\n")).unwrap(), "HS256", false),
    ] {
        assert_eq!(verifies(keys, algorithm), expected, "{algorithm}");
    }
}

#[test]
fn a_key_is_only_for_the_algorithm_that_it_is_published_for() {
    let mut jwk = issuer().rsa_jwk();
    jwk["alg"] = "PS256".into();
    for (algorithm, expected) in [("PS256", true), ("RS256", false), ("PS384", false)] {
        assert_eq!(verifies(KeySet::parse(&jwk.to_string()).unwrap(), algorithm), expected, "{algorithm}");
    }
    assert!(!verifies(KeySet::of_secret(&SECRET[..32]).unwrap(), "HS384"), "the secret is too short for it");
}

#[test]
fn keys_for_other_purposes_and_unknown_kinds_are_left_out() {
    let with = |member: &str, value: Value| {
        let mut jwk = issuer().p256_jwk();
        jwk[member] = value;
        json!({ "keys": [jwk, issuer().ed25519_jwk()] }).to_string()
    };
    for (member, value, expected) in [
        ("use", json!("sig"), true),
        ("use", json!("enc"), false),
        ("key_ops", json!(["verify"]), true),
        ("key_ops", json!(["encrypt"]), false),
        ("alg", json!("ES256"), true),
        ("alg", json!("ECDH-ES"), false),
        ("alg", json!("RS256"), false),
        ("kty", json!("XYZ"), false),
        ("crv", json!("P-521"), false),
        ("crv", json!("P-384"), false),
        ("x", json!("AAAA"), false),
        ("x", json!(issuer().p256_jwk()["y"]), false),
        ("x5u", json!("https://attacker.example/"), true),
    ] {
        let keys = KeySet::parse(&with(member, value.clone())).unwrap();
        assert_eq!(verifies(keys, "ES256"), expected, "{member} {value}");
    }
}

#[test]
fn sets_without_a_key_that_can_be_used_are_refused_with_the_remedy() {
    let weak = json!({ "kty": "RSA", "n": encode([0xff; 128]), "e": "AQAB" });
    let huge = json!({ "kty": "RSA", "n": encode([0xff; 2_000]), "e": "AQAB" });
    let exponent = json!({ "kty": "RSA", "n": issuer().rsa_jwk()["n"], "e": encode([0xff; 256]) });
    let secret = json!({ "kty": "oct", "k": encode("short") });
    for (text, expected) in [
        (weak.to_string(), "less than 2048"),
        (huge.to_string(), "more than 8192"),
        (exponent.to_string(), "the RSA key is invalid"),
        (secret.to_string(), "the secret has 5 bytes"),
        (json!({ "keys": [] }).to_string(), "no key of the set is for signatures"),
        (json!({ "keys": 1 }).to_string(), "`keys` is not an array"),
        (r#"{"keys": [], "keys": []}"#.to_owned(), "without duplicate members"),
        ("{".to_owned(), "is not JSON"),
        (String::new(), "the file is not a key set"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n".to_owned(), "invalid key or certificate"),
        ("-----BEGIN PUBLIC KEY-----\n".to_owned(), "damaged"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n".to_owned(), "openssl pkey"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned(), "invalid key or certificate"),
    ] {
        let error = KeySet::parse(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:.60}: {error}");
    }
    let many: Vec<_> = (0..101).map(|_| issuer().p256_jwk()).collect();
    assert!(KeySet::parse(&json!({ "keys": many }).to_string()).is_err());
}

#[test]
fn secrets_are_neither_published_nor_public_keys() {
    assert!(KeySet::parse_published(&json!({ "keys": [issuer().jwks()["keys"][4]] }).to_string()).is_err());
    assert!(!verifies(KeySet::parse_published(&issuer().jwks().to_string()).unwrap(), "HS256"));
    for text in [issuer().rsa_pem(), issuer().rsa_jwk().to_string()] {
        assert!(KeySet::of_secret(&text).unwrap_err().to_string().contains("name it in `keys`"), "{text:.40}");
    }
}
