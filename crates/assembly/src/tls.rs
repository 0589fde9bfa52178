//! The meaning of the settings about TLS, taken together.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serow::{
    CertificateFiles, CertificateTable, Certificates, ClientCertificates, KeepError, SelfSigned, TlsSettings,
    TlsVersion, TlsVersions, UnknownNames,
};
use serow_config::{
    SettingError, checks,
    options::{CertificateChoice, ClientChoice, TlsOptions, UnknownNameChoice, VersionsChoice},
};
use serow_site::{Redirected, TlsPolicy};

use super::AcmePlan;

/// The settings of TLS besides the certificates.
#[derive(Debug)]
pub struct Encryption {
    /// The certificate for development, if that is used.
    pub development: Option<DevelopmentCertificate>,
    /// Errors about certificates that have expired, or are not valid yet.
    pub date_problems: Vec<String>,
    /// How long browsers use TLS only (HSTS).
    pub strict_transport: Option<Duration>,
    /// Which connections are redirected to TLS.
    pub redirected: Redirected,
}

/// A self-signed certificate for development, as the announcement names it.
#[derive(Debug)]
pub struct DevelopmentCertificate {
    /// SHA-256 of it.
    pub fingerprint: String,
    /// The file that it is kept in; none if it is for this process only.
    pub file: Option<PathBuf>,
    /// The settings that it belongs to.
    settings: TlsSettings,
}

impl DevelopmentCertificate {
    /// The one in these settings, if they have one.
    pub(super) fn of(settings: &TlsSettings) -> Option<Self> {
        let Certificates::SelfSigned(one) = &settings.certificates else { return None };
        let file = one.file().map(Path::to_owned);
        Some(Self { fingerprint: one.fingerprint(), file, settings: settings.clone() })
    }

    /// The same settings with the certificate that is kept in this folder.
    pub(super) fn kept_in(&self, folder: &Path) -> Result<TlsSettings, KeepError> {
        let certificates = Certificates::SelfSigned(SelfSigned::kept_in(folder)?);
        Ok(TlsSettings { certificates, ..self.settings.clone() })
    }
}

impl Encryption {
    /// The measures that the server takes because it has TLS.
    pub fn policy(&self) -> TlsPolicy {
        TlsPolicy { strict_transport: self.strict_transport, redirected: self.redirected, challenges: None }
    }

    /// Warns of certificates that clients will refuse.
    pub fn warn_of_dates(&self) {
        self.date_problems.iter().for_each(|problem| tracing::warn!("{problem}"));
    }
}

/// Errors in the files of certificates, of all settings that name some.
pub(crate) fn unusable_files(options: &TlsOptions) -> Vec<SettingError> {
    let unusable = |key, settings: TlsSettings| {
        let error = settings.check().err()?;
        Some(SettingError::new(key, format!("`{key}`: {error}")))
    };
    let mut found = Vec::new();
    // Errors in the names themselves are found where they are used.
    let files = if checks::certificate_names(options).is_ok() { files(options) } else { Vec::new() };
    for (number, files) in files.iter().enumerate() {
        let without_response = CertificateFiles { ocsp_response: None, ..files.clone() };
        let wrong = instead_of_file(files)
            .map(|text| SettingError::new("tls", format!("`tls`: {text}")))
            .or_else(|| unusable("tls", TlsSettings::files(vec![without_response])))
            .or_else(|| unusable("tls-ocsp", TlsSettings::files(vec![files.clone()])));
        found.extend(wrong.map(|error| error.of_element(number)));
    }
    if found.is_empty() && !options.tls.is_empty() {
        found.extend(unusable_shared_files(options, unusable));
    }
    found
}

/// The setting that was meant by a word in the place of a file.
fn instead_of_file(files: &CertificateFiles) -> Option<&'static str> {
    let path = &files.certificate;
    if files.key != *path || path.exists() {
        return None;
    }
    match path.file_name()?.to_str()? {
        "acme" | "auto" | "letsencrypt" => Some(
            "for certificates by ACME, write [acme] with names = [\"example.com\"], or tls = \"acme\" in a [[site]] with \
             `hosts`",
        ),
        "internal" | "adhoc" | "self_signed" | "selfsigned" => {
            Some("for a certificate for development, write tls = \"self-signed\"")
        }
        _ => None,
    }
}

/// The same for the files that all certificates share.
fn unusable_shared_files(
    options: &TlsOptions,
    unusable: impl Fn(&'static str, TlsSettings) -> Option<SettingError>,
) -> Vec<SettingError> {
    let without_certificates = || TlsSettings::managed(Vec::new(), CertificateTable::default());
    let mut found = Vec::new();
    if options.tls_client_ca.is_some() {
        let client_certificates = client_certificates(options);
        let mut settings = TlsSettings { client_certificates, ..without_certificates() };
        found.extend(unusable("tls-client-ca", settings.clone()));
        let lists = if found.is_empty() { &options.tls_client_crl[..] } else { &[] };
        for (number, path) in lists.iter().enumerate() {
            settings.client_revocation_lists = vec![path.clone()];
            found.extend(unusable("tls-client-crl", settings.clone()).map(|error| error.of_element(number)));
        }
    }
    if options.tls_ticket_secret.is_some() {
        let ticket_secret = options.tls_ticket_secret.clone();
        found.extend(unusable("tls-ticket-secret", TlsSettings { ticket_secret, ..without_certificates() }));
    }
    found
}

/// The files that are read again when they change.
pub(crate) fn renewed_files(options: &TlsOptions) -> Vec<PathBuf> {
    let certificates = options.tls.iter().flat_map(CertificateChoice::files).chain(&options.tls_ocsp);
    let clients = options.tls_client_ca.iter().chain(&options.tls_client_crl);
    certificates.chain(clients).chain(&options.tls_ticket_secret).cloned().collect()
}

/// How connections are encrypted; nothing where they are not.
pub(super) fn tls_settings(options: &TlsOptions, acme: Option<&AcmePlan>) -> Result<Option<TlsSettings>, SettingError> {
    checks::tls(options, acme.is_some())?;
    let mut settings = if options.tls.contains(&CertificateChoice::SelfSigned) {
        TlsSettings::self_signed().map_err(|error| SettingError::new("tls", error.to_string()))?
    } else if let Some(acme) = acme {
        TlsSettings::managed(files(options), acme.table.clone())
    } else if options.tls.is_empty() {
        return Ok(None);
    } else {
        TlsSettings::files(files(options))
    };
    settings.versions = versions(options.tls_versions);
    settings.client_certificates = client_certificates(options);
    settings.client_revocation_lists.clone_from(&options.tls_client_crl);
    settings.ticket_secret.clone_from(&options.tls_ticket_secret);
    settings.unknown_names = match options.tls_unknown_name {
        UnknownNameChoice::Default => UnknownNames::Default,
        UnknownNameChoice::Refuse => UnknownNames::Refuse,
    };
    Ok(Some(settings))
}

fn files(options: &TlsOptions) -> Vec<CertificateFiles> {
    let mut responses = options.tls_ocsp.iter();
    let files = options.tls.iter().filter_map(|choice| match choice {
        CertificateChoice::Files(certificate, key) => Some(CertificateFiles {
            certificate: certificate.clone(),
            key: key.clone(),
            ocsp_response: responses.next().cloned(),
        }),
        CertificateChoice::SelfSigned => None,
    });
    files.collect()
}

fn versions(options: VersionsChoice) -> TlsVersions {
    let (lowest, highest) = match options {
        VersionsChoice::Tls12 => (TlsVersion::Tls12, TlsVersion::Tls12),
        VersionsChoice::Both => (TlsVersion::Tls12, TlsVersion::Tls13),
        VersionsChoice::Tls13 => (TlsVersion::Tls13, TlsVersion::Tls13),
    };
    TlsVersions { lowest, highest }
}

fn client_certificates(options: &TlsOptions) -> ClientCertificates {
    match (&options.tls_client_ca, options.tls_client) {
        (Some(path), ClientChoice::Required) => ClientCertificates::Required(path.clone()),
        (Some(path), ClientChoice::Optional) => ClientCertificates::Optional(path.clone()),
        (None, _) => ClientCertificates::Off,
    }
}
