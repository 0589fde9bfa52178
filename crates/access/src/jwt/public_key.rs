//! Public keys: their encodings, and whether they can be used.

use aws_lc_rs::{
    encoding::AsDer,
    rsa::{PublicEncryptingKey, PublicKey, PublicKeyComponents},
    signature::{ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, ParsedPublicKey, VerificationAlgorithm},
};
use jsonwebtoken::DecodingKey;
use rustls_pki_types::pem::{SectionKind, from_buf};
use x509_cert::{
    Certificate,
    der::{Decode, Encode, asn1::ObjectIdentifier},
    spki::SubjectPublicKeyInfoOwned,
};

use crate::jwt::{algorithm::Algorithm, error::KeyError, verification_key::VerificationKey};

/// A curve whose points verify ECDSA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curve {
    P256,
    P384,
}

/// The public keys of a PEM file, which may be in certificates.
pub(crate) fn of_pem(text: &str) -> Result<Vec<VerificationKey>, KeyError> {
    let mut rest = text.as_bytes();
    let mut keys = Vec::new();
    while let Some((kind, der)) = from_buf(&mut rest).map_err(|_| KeyError("the PEM file is damaged".to_owned()))? {
        match kind {
            SectionKind::PublicKey => keys.push(of_subject(&der)?),
            SectionKind::Certificate => {
                let certificate = Certificate::from_der(&der).map_err(|error| invalid(&error))?;
                let subject = certificate.tbs_certificate().subject_public_key_info().to_der();
                keys.push(of_subject(&subject.map_err(|error| invalid(&error))?)?);
            }
            SectionKind::PrivateKey | SectionKind::RsaPrivateKey | SectionKind::EcPrivateKey => {
                let text = "the file has a private key, which signs tokens and belongs to their issuer: write the public \
                            key, as openssl pkey -in FILE -pubout prints it";
                return Err(KeyError(text.to_owned()));
            }
            _ => {}
        }
    }
    match keys.is_empty() {
        true => Err(KeyError("the PEM file has no public key: it begins with -----BEGIN PUBLIC KEY-----".to_owned())),
        false => Ok(keys),
    }
}

/// RFC 5280 §4.1.2.7.
fn of_subject(der: &[u8]) -> Result<VerificationKey, KeyError> {
    let subject = SubjectPublicKeyInfoOwned::from_der(der).map_err(|error| invalid(&error))?;
    let curve = subject.algorithm.parameters.as_ref().and_then(|value| value.decode_as::<ObjectIdentifier>().ok());
    let key = subject.subject_public_key.raw_bytes();
    match (subject.algorithm.oid, curve) {
        (RSA, _) => of_rsa_subject(der),
        (EC, Some(P256)) => of_point(Curve::P256, key),
        (EC, Some(P384)) => of_point(Curve::P384, key),
        (ED25519_KEY, _) => of_ed25519(key),
        _ => {
            let text = "the key is not for RSA, ECDSA with P-256 or P-384, or Ed25519: use one of these";
            Err(KeyError(text.to_owned()))
        }
    }
}

fn of_rsa_subject(der: &[u8]) -> Result<VerificationKey, KeyError> {
    let bits = PublicEncryptingKey::from_der(der).map(|key| key.key_size_bits()).map_err(|_| weak_rsa_key())?;
    if !RSA_BITS.contains(&bits) {
        return Err(weak_rsa_key());
    }
    let key = PublicKey::from_der(der).map_err(|_| weak_rsa_key())?;
    Ok(VerificationKey::new(DecodingKey::from_rsa_der(key.as_ref()), &RSA_ALGORITHMS, bits > MAX_FAST_RSA_BITS))
}

/// An RSA key of modulus and exponent (RFC 7518 §6.3.1).
pub(crate) fn of_rsa_components(modulus: &[u8], exponent: &[u8]) -> Result<VerificationKey, KeyError> {
    let trimmed = |number: &[u8]| -> Vec<u8> { number.iter().copied().skip_while(|byte| *byte == 0).collect() };
    let components = PublicKeyComponents { n: trimmed(modulus), e: trimmed(exponent) };
    if components.n.len() > RSA_BITS.end() / 8 || components.e.is_empty() || components.e.len() > 8 {
        return Err(weak_rsa_key());
    }
    of_rsa_subject(components.as_der().map_err(|_| weak_rsa_key())?.as_ref())
}

/// A point of a curve, uncompressed (SEC 1 §2.3.3).
pub(crate) fn of_point(curve: Curve, point: &[u8]) -> Result<VerificationKey, KeyError> {
    let (algorithm, checked): (_, &'static dyn VerificationAlgorithm) = match curve {
        Curve::P256 => (Algorithm::ES256, &ECDSA_P256_SHA256_FIXED),
        Curve::P384 => (Algorithm::ES384, &ECDSA_P384_SHA384_FIXED),
    };
    ParsedPublicKey::new(checked, point).map_err(|_| KeyError("the key is not a point of its curve".to_owned()))?;
    Ok(VerificationKey::new(DecodingKey::from_ec_der(point), &[algorithm], true))
}

/// A key of Ed25519 (RFC 8032 §5.1.5).
pub(crate) fn of_ed25519(key: &[u8]) -> Result<VerificationKey, KeyError> {
    if key.len() != 32 || ParsedPublicKey::new(&ED25519, key).is_err() {
        return Err(KeyError("the key is not one of Ed25519".to_owned()));
    }
    Ok(VerificationKey::new(DecodingKey::from_ed_der(key), &[Algorithm::EdDSA], true))
}

fn weak_rsa_key() -> KeyError {
    KeyError(format!(
        "the RSA key is invalid, or has less than {} or more than {} bits",
        RSA_BITS.start(),
        RSA_BITS.end()
    ))
}

fn invalid(error: &x509_cert::der::Error) -> KeyError {
    KeyError(format!("the PEM file has an invalid key or certificate: {error}"))
}

/// RFC 7518 §3.3: at least 2048. More than 8192 would be an attack on our time.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// Verification with the next usual size, as with all curves, takes about 50 µs or longer: docs/measurements/access.md.
const MAX_FAST_RSA_BITS: usize = 2048;

const RSA_ALGORITHMS: [Algorithm; 6] =
    [Algorithm::RS256, Algorithm::RS384, Algorithm::RS512, Algorithm::PS256, Algorithm::PS384, Algorithm::PS512];

/// RFC 3279 §2.3.1.
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");

/// RFC 5480 §2.1.1.
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");

/// RFC 8410 §3.
const ED25519_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
