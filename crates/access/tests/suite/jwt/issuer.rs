//! An issuer of tokens with a key of each kind.

use std::sync::OnceLock;

use aws_lc_rs::{
    encoding::AsDer,
    hmac,
    rand::SystemRandom,
    rsa::KeySize,
    signature::{
        self, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
        RsaEncoding, RsaKeyPair,
    },
};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use serde_json::{Value, json};

/// Seconds since 1970 at which the tests take place.
pub(crate) const NOW: u64 = 1_800_000_000;

/// A secret for all three algorithms.
pub(crate) const SECRET: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

pub(crate) struct Issuer {
    rsa: RsaKeyPair,
    p256: EcdsaKeyPair,
    p384: EcdsaKeyPair,
    ed25519: Ed25519KeyPair,
}

/// The same keys for all tests: RSA keys take long to generate.
pub(crate) fn issuer() -> &'static Issuer {
    static ISSUER: OnceLock<Issuer> = OnceLock::new();
    ISSUER.get_or_init(|| Issuer::new(KeySize::Rsa2048))
}

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64URL_NOPAD.encode(bytes.as_ref())
}

/// Claims that nobody objects to.
pub(crate) fn claims() -> Value {
    json!({ "sub": "bob", "exp": NOW + 600, "iat": NOW - 5 })
}

impl Issuer {
    /// New keys.
    pub(crate) fn new(rsa: KeySize) -> Self {
        Self {
            rsa: RsaKeyPair::generate(rsa).unwrap(),
            p256: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap(),
            p384: EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap(),
            ed25519: Ed25519KeyPair::generate().unwrap(),
        }
    }

    /// A token with this algorithm and these claims.
    pub(crate) fn token(&self, algorithm: &str, claims: &Value) -> String {
        self.sign(algorithm, &json!({ "alg": algorithm, "typ": "JWT" }).to_string(), &claims.to_string())
    }

    /// A token whose header and payload are texts, signed with an algorithm.
    pub(crate) fn sign(&self, algorithm: &str, header: &str, payload: &str) -> String {
        self.sign_encoded(algorithm, &encode(header), &encode(payload))
    }

    pub(crate) fn sign_encoded(&self, algorithm: &str, header: &str, payload: &str) -> String {
        let message = format!("{header}.{payload}");
        let signature = self.signature(algorithm, message.as_bytes());
        format!("{message}.{}", encode(signature))
    }

    fn signature(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        let rsa = |encoding: &'static dyn RsaEncoding| {
            let mut signature = vec![0; self.rsa.public_modulus_len()];
            self.rsa.sign(encoding, &random, message, &mut signature).unwrap();
            signature
        };
        match algorithm {
            "HS256" => hmac_of(hmac::HMAC_SHA256, SECRET.as_bytes(), message),
            "HS384" => hmac_of(hmac::HMAC_SHA384, SECRET.as_bytes(), message),
            "HS512" => hmac_of(hmac::HMAC_SHA512, SECRET.as_bytes(), message),
            "RS256" => rsa(&signature::RSA_PKCS1_SHA256),
            "RS384" => rsa(&signature::RSA_PKCS1_SHA384),
            "RS512" => rsa(&signature::RSA_PKCS1_SHA512),
            "PS256" => rsa(&signature::RSA_PSS_SHA256),
            "PS384" => rsa(&signature::RSA_PSS_SHA384),
            "PS512" => rsa(&signature::RSA_PSS_SHA512),
            "ES256" => self.p256.sign(&random, message).unwrap().as_ref().to_vec(),
            "ES384" => self.p384.sign(&random, message).unwrap().as_ref().to_vec(),
            "EdDSA" | "Ed25519" => self.ed25519.sign(message).as_ref().to_vec(),
            other => panic!("{other}"),
        }
    }

    /// The public keys and the secret, as a JWKS.
    pub(crate) fn jwks(&self) -> Value {
        json!({ "keys": [self.rsa_jwk(), self.p256_jwk(), self.p384_jwk(), self.ed25519_jwk(), secret_jwk()] })
    }

    pub(crate) fn rsa_jwk(&self) -> Value {
        // The end of an SPKI: the modulus, 02 03 and the exponent.
        let der = self.rsa.public_key().as_der().unwrap();
        let (before, exponent) = der.as_ref().split_at(der.as_ref().len() - 3);
        let before = &before[..before.len() - 2];
        let modulus = &before[before.len() - self.rsa.public_modulus_len()..];
        json!({ "kty": "RSA", "kid": "rsa", "n": encode(modulus), "e": encode(exponent) })
    }

    pub(crate) fn p256_jwk(&self) -> Value {
        let point = self.p256.public_key().as_ref();
        json!({ "kty": "EC", "crv": "P-256", "kid": "p256", "x": encode(&point[1..33]), "y": encode(&point[33..]) })
    }

    pub(crate) fn p384_jwk(&self) -> Value {
        let point = self.p384.public_key().as_ref();
        json!({ "kty": "EC", "crv": "P-384", "kid": "p384", "x": encode(&point[1..49]), "y": encode(&point[49..]) })
    }

    pub(crate) fn ed25519_jwk(&self) -> Value {
        json!({ "kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": encode(self.ed25519.public_key().as_ref()) })
    }

    /// The public RSA key, as openssl pkey -pubout prints it.
    pub(crate) fn rsa_pem(&self) -> String {
        pem("PUBLIC KEY", self.rsa.public_key().as_der().unwrap().as_ref())
    }

    pub(crate) fn p256_pem(&self) -> String {
        pem("PUBLIC KEY", self.p256.public_key().as_der().unwrap().as_ref())
    }

    pub(crate) fn ed25519_pem(&self) -> String {
        pem("PUBLIC KEY", self.ed25519.public_key().as_der().unwrap().as_ref())
    }
}

pub(crate) fn hmac_of(algorithm: hmac::Algorithm, secret: &[u8], message: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(algorithm, secret), message).as_ref().to_vec()
}

fn secret_jwk() -> Value {
    json!({ "kty": "oct", "kid": "secret", "k": encode(SECRET) })
}

fn pem(label: &str, der: &[u8]) -> String {
    let lines: Vec<_> =
        BASE64.encode(der).as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}
