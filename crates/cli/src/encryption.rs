//! What the options about TLS mean together.

use serow::{CertificateFiles, ClientCertificates, TlsSettings, TlsVersion, TlsVersions};

use crate::{
    arguments::{CertificateArgument, ClientArgument, TlsArguments, VersionsArgument},
    failure::Failure,
};

/// How connections are encrypted; nothing where they are not.
pub(crate) fn tls_settings(written: &TlsArguments) -> Result<Option<TlsSettings>, Failure> {
    if written.tls.is_empty() {
        return match option_without_tls(written) {
            Some(option) => misuse(&format!("{option} needs --tls: name a certificate, or say --tls self-signed")),
            None => Ok(None),
        };
    }
    let mut settings = if written.tls.contains(&CertificateArgument::SelfSigned) {
        if written.tls.len() > 1 {
            return misuse("--tls: self-signed stands alone; leave it out, or the other certificates");
        }
        if !written.tls_ocsp.is_empty() {
            return misuse("--tls-ocsp: no authority says anything of a self-signed certificate; leave it out");
        }
        TlsSettings::self_signed().map_err(serow::Error::from)?
    } else {
        TlsSettings::files(files(written)?)
    };
    settings.versions = versions(written.tls_versions);
    settings.client_certificates = client_certificates(written)?;
    Ok(Some(settings))
}

fn option_without_tls(written: &TlsArguments) -> Option<&'static str> {
    let given = [
        ("--tls-ocsp", !written.tls_ocsp.is_empty()),
        ("--tls-client-ca", written.tls_client_ca.is_some()),
        ("--tls-client", written.tls_client == ClientArgument::Optional),
        ("--tls-versions", written.tls_versions != VersionsArgument::Both),
        ("--hsts", written.hsts.is_some()),
        ("--redirect-http", written.redirect_http.is_some()),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
}

fn files(written: &TlsArguments) -> Result<Vec<CertificateFiles>, Failure> {
    if written.tls_ocsp.len() > written.tls.len() {
        return misuse("--tls-ocsp is given more often than --tls: give one for each certificate, in the same order");
    }
    let mut responses = written.tls_ocsp.iter();
    let mut files = Vec::new();
    for argument in &written.tls {
        let CertificateArgument::Files(certificate, key) = argument else { continue };
        if certificate.as_os_str().is_empty() || key.as_os_str().is_empty() {
            return misuse("--tls: a name is missing; write CERT,KEY, or one file that holds both");
        }
        files.push(CertificateFiles {
            certificate: certificate.clone(),
            key: key.clone(),
            ocsp_response: responses.next().cloned(),
        });
    }
    Ok(files)
}

fn versions(written: VersionsArgument) -> TlsVersions {
    let (lowest, highest) = match written {
        VersionsArgument::Tls12 => (TlsVersion::Tls12, TlsVersion::Tls12),
        VersionsArgument::Both => (TlsVersion::Tls12, TlsVersion::Tls13),
        VersionsArgument::Tls13 => (TlsVersion::Tls13, TlsVersion::Tls13),
    };
    TlsVersions { lowest, highest }
}

fn client_certificates(written: &TlsArguments) -> Result<ClientCertificates, Failure> {
    match (&written.tls_client_ca, written.tls_client) {
        (Some(path), ClientArgument::Required) => Ok(ClientCertificates::Required(path.clone())),
        (Some(path), ClientArgument::Optional) => Ok(ClientCertificates::Optional(path.clone())),
        (None, ClientArgument::Optional) => misuse("--tls-client needs --tls-client-ca: name the authorities' file"),
        (None, ClientArgument::Required) => Ok(ClientCertificates::Off),
    }
}

fn misuse<T>(line: &str) -> Result<T, Failure> {
    Err(Failure::Misuse(line.to_owned()))
}
