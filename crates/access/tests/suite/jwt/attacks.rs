//! Tokens of attackers: each is refused, and none leads to a file, to a database or to another server.

use aws_lc_rs::hmac::HMAC_SHA256;
use serde_json::{Value, json};
use serow_access::jwt::{Expectations, KeySet, TokenError, Verifier};

use crate::jwt::issuer::{NOW, claims, encode, hmac_of, issuer};

/// Verifies a token as a server with all kinds of keys does.
fn verify(token: &str) -> Result<(), TokenError> {
    let keys = KeySet::parse(&issuer().jwks().to_string()).unwrap().into();
    Verifier::new(Expectations::default()).verify(token, &keys, NOW).map(drop)
}

/// A token with members of the header in addition, signed rightly.
fn with_header(extra: &Value) -> String {
    let mut header = json!({ "alg": "ES256" });
    header.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    issuer().sign("ES256", &header.to_string(), &claims().to_string())
}

/// A token with a payload that is a text, signed rightly.
fn with_payload(payload: &str) -> String {
    issuer().sign("ES256", r#"{"alg":"ES256"}"#, payload)
}

#[test]
fn alg_none_is_refused_in_all_spellings() {
    for name in ["none", "None", "NONE", "nOnE", "none ", " none", "n\\u006fne", "", "null", "\\u0000none"] {
        let header = encode(format!("{{\"alg\":\"{name}\"}}"));
        let payload = encode(claims().to_string());
        for signature in ["", "AA", &encode([0; 64])] {
            let verified = verify(&format!("{header}.{payload}.{signature}"));
            assert!(matches!(verified, Err(TokenError::Algorithm | TokenError::Malformed)), "{name} {signature}");
        }
    }
    for header in [json!({}), json!({ "alg": null }), json!({ "alg": ["ES256"] }), json!({ "alg": 0 }), json!([])] {
        let token = issuer().sign("ES256", &header.to_string(), &claims().to_string());
        assert_eq!(verify(&token), Err(TokenError::Malformed), "{header}");
    }
    for name in ["es256", "ES256 ", "HS1", "RS1", "ES256K", "ES512", "dir", "A128KW"] {
        let token = issuer().sign("ES256", &json!({ "alg": name }).to_string(), &claims().to_string());
        assert_eq!(verify(&token), Err(TokenError::Algorithm), "{name}");
    }
}

#[test]
fn public_keys_are_not_secrets() {
    let message = format!("{}.{}", encode(r#"{"alg":"HS256"}"#), encode(claims().to_string()));
    let pem = issuer().rsa_pem();
    let jwk = issuer().rsa_jwk();
    let modulus = jwk["n"].as_str().unwrap();
    for (public, keys) in [
        (pem.as_bytes(), &pem),
        (pem.trim_end().as_bytes(), &pem),
        (modulus.as_bytes(), &jwk.to_string()),
        (jwk.to_string().as_bytes(), &jwk.to_string()),
    ] {
        let token = format!("{message}.{}", encode(hmac_of(HMAC_SHA256, public, message.as_bytes())));
        let keys = KeySet::parse(keys).unwrap().into();
        let verified = Verifier::new(Expectations::default()).verify(&token, &keys, NOW);
        assert_eq!(verified.map(drop), Err(TokenError::Algorithm));
        // Beside a secret, it is not the secret.
        assert_eq!(verify(&token), Err(TokenError::Signature));
    }
    for (signed, claimed) in
        [("RS256", "PS256"), ("RS256", "RS512"), ("ES256", "ES384"), ("EdDSA", "ES256"), ("HS256", "HS512")]
    {
        let token = issuer().sign(signed, &json!({ "alg": claimed }).to_string(), &claims().to_string());
        assert_eq!(verify(&token), Err(TokenError::Signature), "{signed} as {claimed}");
    }
    let token = issuer().sign("HS256", r#"{"alg":"HS256","kid":"rsa"}"#, &claims().to_string());
    assert_eq!(verify(&token), Err(TokenError::Algorithm), "the named key is for RSA");
}

#[test]
fn kid_is_only_compared() {
    assert_eq!(verify(&with_header(&json!({ "kid": "p256" }))), Ok(()));
    let long = "a".repeat(10_000);
    for kid in [
        "../../../../dev/null",
        "/etc/passwd",
        "file:///dev/null",
        "https://attacker.example/key.pem",
        "' OR '1'='1",
        "x' UNION SELECT 'secret",
        "p256\u{0}",
        "P256",
        " p256",
        "",
        "$(id)",
        "{{7*7}}",
        &long,
    ] {
        assert_eq!(verify(&with_header(&json!({ "kid": kid }))), Err(TokenError::UnknownKey), "{kid:.40}");
    }
    for kid in [json!(1), json!(null), json!(["p256"]), json!({ "kid": "p256" })] {
        assert_eq!(verify(&with_header(&json!({ "kid": kid }))), Err(TokenError::Malformed), "{kid}");
    }
}

#[test]
fn keys_in_headers_are_never_used() {
    let attacker = aws_lc_rs::signature::EcdsaKeyPair::generate(&aws_lc_rs::signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    let attacker = attacker.unwrap();
    let point = aws_lc_rs::signature::KeyPair::public_key(&attacker).as_ref().to_vec();
    let jwk = json!({ "kty": "EC", "crv": "P-256", "x": encode(&point[1..33]), "y": encode(&point[33..]) });
    for extra in [
        json!({ "jwk": jwk }),
        json!({ "jku": "https://attacker.example/jwks.json" }),
        json!({ "jku": "http://127.0.0.1:1/" }),
        json!({ "x5u": "https://attacker.example/cert.pem" }),
        json!({ "x5c": ["MIIB"] }),
        json!({ "x5t": "AAAA", "x5t#S256": "AAAA" }),
    ] {
        let mut header = json!({ "alg": "ES256" });
        header.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let message = format!("{}.{}", encode(header.to_string()), encode(claims().to_string()));
        let signature = attacker.sign(&aws_lc_rs::rand::SystemRandom::new(), message.as_bytes()).unwrap();
        assert_eq!(verify(&format!("{message}.{}", encode(signature))), Err(TokenError::Signature), "{extra}");
        // The members mean nothing: a token that the issuer has signed is right with them.
        assert_eq!(verify(&with_header(&extra)), Ok(()), "{extra}");
    }
}

#[test]
fn critical_extensions_and_tokens_for_other_purposes_are_refused() {
    for extra in [
        json!({ "crit": ["exp"] }),
        json!({ "crit": [] }),
        json!({ "crit": "x" }),
        json!({ "crit": null }),
        json!({ "b64": false, "crit": ["b64"] }),
        json!({ "typ": "logout+jwt" }),
        json!({ "typ": "application/logout+jwt" }),
        json!({ "typ": "dpop+JWT" }),
        json!({ "typ": "secevent+jwt" }),
        json!({ "typ": 1 }),
    ] {
        assert_eq!(verify(&with_header(&extra)), Err(TokenError::Malformed), "{extra}");
    }
    for typ in ["JWT", "jwt", "at+jwt", "application/at+jwt", "AT+JWT"] {
        assert_eq!(verify(&with_header(&json!({ "typ": typ }))), Ok(()), "{typ}");
    }
}

#[test]
fn duplicate_members_are_refused() {
    let payload = claims().to_string();
    for header in [
        r#"{"alg":"ES256","alg":"none"}"#,
        r#"{"alg":"none","alg":"ES256"}"#,
        r#"{"alg":"ES256","\u0061lg":"ES256"}"#,
        r#"{"alg":"ES256","kid":"p256","kid":"p256"}"#,
        r#"{"alg":"ES256","x":{"y":1,"y":2}}"#,
    ] {
        assert_eq!(verify(&issuer().sign("ES256", header, &payload)), Err(TokenError::Malformed), "{header}");
    }
    let exp = NOW + 60;
    for payload in [
        format!(r#"{{"exp":{exp},"exp":{exp}}}"#),
        format!(r#"{{"exp":1,"exp":{exp}}}"#),
        format!(r#"{{"exp":{exp},"sub":"bob","sub":"admin"}}"#),
        format!(r#"{{"exp":{exp},"sub":"bob","s\u0075b":"admin"}}"#),
        format!(r#"{{"exp":{exp},"realm_access":{{"roles":["a"],"roles":["admin"]}}}}"#),
    ] {
        assert_eq!(verify(&with_payload(&payload)), Err(TokenError::Malformed), "{payload}");
    }
}

#[test]
fn huge_and_deep_tokens_are_refused() {
    let exp = NOW + 60;
    let padded = |size: usize| with_payload(&format!(r#"{{"exp":{exp},"x":"{}"}}"#, "a".repeat(size)));
    assert_eq!(verify(&padded(11_000)), Ok(()));
    assert_eq!(verify(&padded(13_000)), Err(TokenError::TooLarge));
    assert_eq!(verify(&"a".repeat(10_000_000)), Err(TokenError::TooLarge));
    assert_eq!(verify(&format!("{}.a.a", "e".repeat(16_000))), Err(TokenError::Malformed));
    for levels in [17, 127, 129, 2_000] {
        let payload = format!(r#"{{"exp":{exp},"x":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        assert_eq!(verify(&with_payload(&payload)), Err(TokenError::Malformed), "{levels}");
        let header = format!(r#"{{"alg":"ES256","x":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        let token = issuer().sign("ES256", &header, &claims().to_string());
        assert_eq!(verify(&token), Err(TokenError::Malformed), "{levels}");
    }
}

#[test]
fn other_forms_of_base64_and_of_tokens_are_refused() {
    let token = issuer().token("ES256", &claims());
    let parts: Vec<&str> = token.split('.').collect();
    let [header, payload, signature] = parts[..] else { panic!("{token}") };
    let padded = |text: &str| format!("{text}{}", "=".repeat((4 - text.len() % 4) % 4));
    // A signature has 64 bytes, of which the last character has two bits.
    let trailing = format!("{}{}", &signature[..85], if signature.ends_with('A') { 'B' } else { next(signature) });
    for (name, token) in [
        ("padding", format!("{}.{}.{}", padded(header), padded(payload), padded(signature))),
        ("padded signature", format!("{header}.{payload}.{}", padded(signature))),
        ("trailing bits", format!("{header}.{payload}.{trailing}")),
        ("line break", format!("{header}.{payload}.{signature}\n")),
        ("space", format!("{header}. {payload}.{signature}")),
        ("NUL", format!("{header}.{payload}.{signature}\0")),
        ("other letters", format!("{header}.{payload}.{}é", &signature[1..])),
        ("empty signature", format!("{header}.{payload}.")),
        ("no signature", format!("{header}.{payload}")),
        ("empty payload", format!("{header}..{signature}")),
        ("empty header", format!(".{payload}.{signature}")),
        ("four parts", format!("{token}.")),
        ("five parts", format!("{header}.{header}.{header}.{header}.{header}")),
        ("dots", "..".to_owned()),
        ("nothing", String::new()),
        ("quotation marks", format!("\"{token}\"")),
        ("JSON", json!({ "payload": payload, "protected": header, "signature": signature }).to_string()),
    ] {
        let verified = verify(&token);
        assert!(matches!(verified, Err(TokenError::Malformed | TokenError::Signature)), "{name}: {verified:?}");
    }
    assert_eq!(verify(&token), Ok(()));
    // The standard alphabet, with a header whose encoding needs it.
    let header = r#"{"alg":"ES256","x":"???>>>"}"#;
    let standard = data_encoding::BASE64.encode(header.as_bytes());
    assert!(standard.contains(['+', '/']), "{standard}");
    let token = issuer().sign_encoded("ES256", standard.trim_end_matches('='), &encode(claims().to_string()));
    assert_eq!(verify(&token), Err(TokenError::Malformed));
    // Bits after the end of the payload, which are signed.
    let payload = encode(format!(r#"{{"exp":{}, "a":1}}"#, NOW + 60));
    assert_ne!(payload.len() % 4, 0, "the test needs a payload with bits after its end");
    let token = issuer().sign_encoded(
        "ES256",
        &encode(r#"{"alg":"ES256"}"#),
        &format!("{}{}", &payload[..payload.len() - 1], next(&payload)),
    );
    assert_eq!(verify(&token), Err(TokenError::Malformed));
}

/// The character after the last one: as the last character of a text, it has a bit after the end.
fn next(text: &str) -> char {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let last = text.chars().last().unwrap();
    ALPHABET.chars().nth(ALPHABET.find(last).unwrap() + 1).unwrap()
}

#[test]
fn changed_tokens_are_refused() {
    let token = issuer().token("EdDSA", &claims());
    for position in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[position] = if bytes[position] == b'A' { b'Q' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        assert!(verify(&changed).is_err(), "{position}");
    }
    for length in 0..token.len() {
        assert!(verify(&token[..length]).is_err(), "{length}");
    }
}

#[test]
fn times_of_the_wrong_type_are_refused() {
    for (claim, value, expected) in [
        ("exp", json!((NOW + 60).to_string()), Err(TokenError::Claims)),
        ("exp", json!(null), Err(TokenError::Claims)),
        ("exp", json!(true), Err(TokenError::Claims)),
        ("exp", json!([NOW + 60]), Err(TokenError::Claims)),
        ("exp", json!({ "$gt": 0 }), Err(TokenError::Claims)),
        ("exp", json!(-1), Err(TokenError::Claims)),
        ("exp", json!(-1e300), Err(TokenError::Claims)),
        ("exp", json!(1e300), Err(TokenError::Claims)),
        ("exp", json!(u64::MAX), Err(TokenError::Claims)),
        ("exp", json!((NOW + 60) * 1000), Err(TokenError::Claims)),
        ("exp", json!(0), Err(TokenError::Expired)),
        ("exp", json!(NOW as f64 + 60.5), Ok(())),
        ("exp", json!(NOW - 61), Err(TokenError::Expired)),
        ("nbf", json!(NOW.to_string()), Err(TokenError::Claims)),
        ("nbf", json!(-5), Err(TokenError::Claims)),
        ("nbf", json!(1e300), Err(TokenError::Claims)),
        ("nbf", json!(NOW + 3600), Err(TokenError::NotYetValid)),
        ("nbf", json!(0), Ok(())),
        ("iat", json!("now"), Err(TokenError::Claims)),
        ("iat", json!(-5), Err(TokenError::Claims)),
        ("iat", json!(NOW + 3600), Err(TokenError::NotYetValid)),
    ] {
        let mut all = claims();
        all[claim] = value.clone();
        assert_eq!(verify(&issuer().token("ES256", &all)), expected, "{claim} {value}");
    }
    assert_eq!(verify(&with_payload(r#"{"exp":1e999}"#)), Err(TokenError::Malformed));
    assert_eq!(verify(&with_payload("{}")), Err(TokenError::WithoutExpiry));
    for payload in ["", "null", "[]", "\"x\"", "1", "{}{}", "\u{feff}{}", "{\"exp\":NaN}", "eyJhbGciOiJub25lIn0.e30."] {
        let token = issuer().sign("ES256", r#"{"alg":"ES256"}"#, payload);
        assert_eq!(verify(&token), Err(TokenError::Malformed), "{payload}");
    }
}
