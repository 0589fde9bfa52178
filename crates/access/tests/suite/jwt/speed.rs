//! The cost of verification:
//!
//! ```sh
//! cargo test --release -p serow-access -- --ignored --nocapture speed
//! ```

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use aws_lc_rs::rsa::KeySize;
use jsonwebtoken::{DecodingKey, Validation, decode};
use serde_json::{Value, json};
use serow_access::jwt::{Expectations, KeySet, Verifier, parse_algorithm};

use crate::jwt::issuer::{Issuer, NOW, SECRET, encode, issuer};

/// The medians of rounds that alternate between the library alone, a first verification, and one of a known token.
#[test]
#[ignore = "measures time: run it alone"]
fn speed() {
    println!("| algorithm | `jsonwebtoken::decode` | first verification | known token |\n| --- | ---: | ---: | ---: |");
    let [larger, largest] = [KeySize::Rsa3072, KeySize::Rsa4096].map(Issuer::new);
    for (name, bits, issuer, jwk) in [
        ("HS256", "", issuer(), json!({ "kty": "oct", "k": encode(SECRET) })),
        ("RS256", ", 2048 bits", issuer(), issuer().rsa_jwk()),
        ("RS256", ", 3072 bits", &larger, larger.rsa_jwk()),
        ("RS256", ", 4096 bits", &largest, largest.rsa_jwk()),
        ("PS256", ", 2048 bits", issuer(), issuer().rsa_jwk()),
        ("ES256", "", issuer(), issuer().p256_jwk()),
        ("ES384", "", issuer(), issuer().p384_jwk()),
        ("EdDSA", "", issuer(), issuer().ed25519_jwk()),
    ] {
        let [library, first, known] = measure(name, issuer, &jwk);
        println!("| {name}{bits} | {library} ns | {first} ns | {known} ns |");
    }
}

fn measure(name: &str, issuer: &Issuer, jwk: &Value) -> [u128; 3] {
    // As Keycloak has them; the library has only the system's clock.
    let exp = 4_000_000_000_u64;
    let claims = |number: usize| {
        json!({ "exp": exp, "iat": NOW - 5, "jti": format!("b3f24a60-8d7c-4b0e-9c1b-{number:012}"), "iss": "https://login.example.com/realms/main",
            "aud": "api", "sub": "f:0a1b2c3d-4e5f-6789-abcd-ef0123456789:bob", "typ": "Bearer", "azp": "web", "scope": "openid email profile",
            "realm_access": { "roles": ["offline_access", "ops", "uma_authorization"] }, "email_verified": true,
            "name": "Bob Builder", "preferred_username": "bob", "given_name": "Bob", "family_name": "Builder", "email": "bob@example.com" })
    };
    let tokens: Vec<_> = (0..TOKENS).map(|number| issuer.token(name, &claims(number))).collect();
    let algorithm = parse_algorithm(name).unwrap();
    let key = DecodingKey::from_jwk(&serde_json::from_value(jwk.clone()).unwrap()).unwrap();
    let mut validation = Validation::new(algorithm);
    validation.set_audience(&["api"]);
    let keys: Arc<KeySet> = KeySet::parse(&jwk.to_string()).unwrap().into();
    let expectations = Expectations { audiences: vec!["api".to_owned()], ..Expectations::default() };
    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..ROUNDS {
        let verifier = Verifier::new(expectations.clone());
        times[0].push(time(|| {
            tokens.iter().for_each(|token| drop(black_box(decode::<Value>(token, &key, &validation).unwrap())))
        }));
        times[1].push(time(|| {
            tokens.iter().for_each(|token| drop(black_box(verifier.verify(token, &keys, NOW).unwrap())))
        }));
        times[2].push(time(|| {
            tokens.iter().for_each(|token| drop(black_box(verifier.verify(token, &keys, NOW).unwrap())))
        }));
    }
    times.map(|mut times| {
        times.sort();
        times[ROUNDS / 2].as_nanos() / TOKENS as u128
    })
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

const TOKENS: usize = 200;
const ROUNDS: usize = 21;
