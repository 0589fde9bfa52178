//! An authority of our own, and certificates of it.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertificateRevocationList, CertificateRevocationListParams,
    CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RevokedCertParams, RsaKeySize,
};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use serow_tls::CertificateFiles;

/// Whom the clients trust.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key.
pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) der: CertificateDer<'static>,
    pub(crate) key_der: PrivateKeyDer<'static>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        Self::named("an authority for tests")
    }

    pub(crate) fn named(name: &str) -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        Self { issuer: CertifiedIssuer::self_signed(parameters, key).unwrap() }
    }

    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    pub(crate) fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        roots
    }

    pub(crate) fn issue(&self, names: &[&str]) -> Issued {
        self.issue_with(names, KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap())
    }

    pub(crate) fn issue_rsa(&self, names: &[&str]) -> Issued {
        self.issue_with(names, KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap())
    }

    fn issue_with(&self, names: &[&str], key: KeyPair) -> Issued {
        Issued::new(&parameters(names).signed_by(&key, &self.issuer).unwrap(), &key)
    }

    /// A certificate that expires at this time, to the second.
    pub(crate) fn issue_until(&self, names: &[&str], end: SystemTime) -> Issued {
        let mut parameters = parameters(names);
        parameters.not_after = rcgen::date_time_ymd(1970, 1, 1) + end.duration_since(UNIX_EPOCH).unwrap();
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        Issued::new(&parameters.signed_by(&key, &self.issuer).unwrap(), &key)
    }

    /// A certificate of a client with this serial number.
    pub(crate) fn issue_serial(&self, serial: u64) -> Issued {
        let mut parameters = parameters(&["client"]);
        parameters.serial_number = Some(serial.into());
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        Issued::new(&parameters.signed_by(&key, &self.issuer).unwrap(), &key)
    }

    /// A list of these revoked serial numbers, which is valid until then.
    pub(crate) fn revoke(&self, serials: &[u64], end: SystemTime) -> CertificateRevocationList {
        let time = |time: SystemTime| rcgen::date_time_ymd(1970, 1, 1) + time.duration_since(UNIX_EPOCH).unwrap();
        let revoked = |serial: &u64| RevokedCertParams {
            serial_number: (*serial).into(),
            revocation_time: time(SystemTime::now()),
            reason_code: None,
            invalidity_date: None,
        };
        let parameters = CertificateRevocationListParams {
            this_update: rcgen::date_time_ymd(2020, 1, 1),
            next_update: time(end),
            crl_number: 1.into(),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        parameters.signed_by(&self.issuer).unwrap()
    }

    /// A certificate that is valid at another time.
    pub(crate) fn issue_for_years(&self, names: &[&str], first: i32, last: i32) -> Issued {
        let mut parameters = parameters(names);
        parameters.not_before = rcgen::date_time_ymd(first, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(last, 1, 1);
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        Issued::new(&parameters.signed_by(&key, &self.issuer).unwrap(), &key)
    }
}

impl Issued {
    fn new(certificate: &Certificate, key: &KeyPair) -> Self {
        Self {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            der: certificate.der().clone(),
            key_der: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        }
    }

    /// One for example.com that only its owner vouches for.
    pub(crate) fn self_signed(owner: &str, is_authority: IsCa) -> Self {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let mut parameters = parameters(&["example.com"]);
        parameters.distinguished_name.push(DnType::CommonName, owner);
        parameters.is_ca = is_authority;
        Self::new(&parameters.self_signed(&key).unwrap(), &key)
    }

    /// Puts both into files `NAME.pem` and `NAME.key`.
    pub(crate) fn store(&self, folder: &Path, name: &str) -> CertificateFiles {
        let files = CertificateFiles {
            certificate: folder.join(format!("{name}.pem")),
            key: folder.join(format!("{name}.key")),
            ocsp_response: None,
        };
        std::fs::write(&files.certificate, &self.certificate).unwrap();
        std::fs::write(&files.key, &self.key).unwrap();
        files
    }
}

fn parameters(names: &[&str]) -> CertificateParams {
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    let mut parameters = CertificateParams::new(names).unwrap();
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    parameters
}

pub(crate) fn in_hours(hours: u64) -> SystemTime {
    SystemTime::now() + Duration::from_secs(hours * 3600)
}

/// A file with this content.
pub(crate) fn file(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}
