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
    SettingError,
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
pub fn unusable_files(options: &TlsOptions) -> Vec<SettingError> {
    let unusable = |key, settings: TlsSettings| {
        let error = settings.check().err()?;
        Some(SettingError::new(key, format!("`{key}`: {error}")))
    };
    let mut found = Vec::new();
    // Errors in the names themselves are found where they are used.
    let files = files(options).unwrap_or_default();
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
        let client_certificates = client_certificates(options).unwrap_or_default();
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
pub fn renewed_files(options: &TlsOptions) -> Vec<PathBuf> {
    let certificates = options.tls.iter().flat_map(CertificateChoice::files).chain(&options.tls_ocsp);
    let clients = options.tls_client_ca.iter().chain(&options.tls_client_crl);
    certificates.chain(clients).chain(&options.tls_ticket_secret).cloned().collect()
}

/// How connections are encrypted; nothing where they are not.
pub(super) fn tls_settings(options: &TlsOptions, acme: Option<&AcmePlan>) -> Result<Option<TlsSettings>, SettingError> {
    if options.tls.is_empty() && acme.is_none() {
        return match setting_without_tls(options) {
            Some(key) => refuse(key, format!("`{key}` needs `tls`: name a certificate there, or write self-signed")),
            None => Ok(None),
        };
    }
    let mut settings = if options.tls.contains(&CertificateChoice::SelfSigned) {
        if options.tls.len() > 1 {
            return refuse(
                "tls",
                "`tls`: self-signed cannot be combined with other certificates; leave out one or the other",
            );
        }
        if !options.tls_ocsp.is_empty() {
            let text = "`tls-ocsp`: no authority has an OCSP response for a self-signed certificate; leave it out";
            return refuse("tls-ocsp", text);
        }
        if acme.is_some() {
            let text = "`tls`: self-signed cannot be combined with `acme`; leave out one or the other";
            return refuse("tls", text);
        }
        TlsSettings::self_signed().map_err(|error| SettingError::new("tls", error.to_string()))?
    } else if let Some(acme) = acme {
        TlsSettings::managed(files(options)?, acme.table.clone())
    } else {
        TlsSettings::files(files(options)?)
    };
    settings.versions = versions(options.tls_versions);
    settings.client_certificates = client_certificates(options)?;
    settings.client_revocation_lists.clone_from(&options.tls_client_crl);
    settings.ticket_secret.clone_from(&options.tls_ticket_secret);
    settings.unknown_names = match options.tls_unknown_name {
        UnknownNameChoice::Default => UnknownNames::Default,
        UnknownNameChoice::Refuse => UnknownNames::Refuse,
    };
    Ok(Some(settings))
}

fn setting_without_tls(options: &TlsOptions) -> Option<&'static str> {
    let given = [
        ("tls-ocsp", !options.tls_ocsp.is_empty()),
        ("tls-client-ca", options.tls_client_ca.is_some()),
        ("tls-client", options.tls_client == ClientChoice::Optional),
        ("tls-client-crl", !options.tls_client_crl.is_empty()),
        ("tls-ticket-secret", options.tls_ticket_secret.is_some()),
        ("tls-unknown-name", options.tls_unknown_name == UnknownNameChoice::Refuse),
        ("tls-versions", options.tls_versions != VersionsChoice::Both),
        ("hsts", options.hsts.is_some()),
        ("redirect-http", options.redirect_http.is_some()),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(key, _)| key)
}

fn files(options: &TlsOptions) -> Result<Vec<CertificateFiles>, SettingError> {
    if options.tls_ocsp.len() > options.tls.len() {
        let text = "`tls-ocsp` is given more often than `tls`: give one for each certificate, in the same order";
        return refuse("tls-ocsp", text);
    }
    let mut responses = options.tls_ocsp.iter();
    let mut files = Vec::new();
    for argument in &options.tls {
        let CertificateChoice::Files(certificate, key) = argument else { continue };
        if certificate.as_os_str().is_empty() || key.as_os_str().is_empty() {
            return refuse("tls", "`tls`: a name is missing; write CERT,KEY, or one file that holds both");
        }
        files.push(CertificateFiles {
            certificate: certificate.clone(),
            key: key.clone(),
            ocsp_response: responses.next().cloned(),
        });
    }
    Ok(files)
}

fn versions(options: VersionsChoice) -> TlsVersions {
    let (lowest, highest) = match options {
        VersionsChoice::Tls12 => (TlsVersion::Tls12, TlsVersion::Tls12),
        VersionsChoice::Both => (TlsVersion::Tls12, TlsVersion::Tls13),
        VersionsChoice::Tls13 => (TlsVersion::Tls13, TlsVersion::Tls13),
    };
    TlsVersions { lowest, highest }
}

fn client_certificates(options: &TlsOptions) -> Result<ClientCertificates, SettingError> {
    if options.tls_client_ca.is_none() && !options.tls_client_crl.is_empty() {
        return refuse("tls-client-crl", "`tls-client-crl` needs `tls-client-ca`: name the authorities' file");
    }
    match (&options.tls_client_ca, options.tls_client) {
        (Some(path), ClientChoice::Required) => Ok(ClientCertificates::Required(path.clone())),
        (Some(path), ClientChoice::Optional) => Ok(ClientCertificates::Optional(path.clone())),
        (None, ClientChoice::Optional) => {
            refuse("tls-client", "`tls-client` needs `tls-client-ca`: name the authorities' file")
        }
        (None, ClientChoice::Required) => Ok(ClientCertificates::Off),
    }
}

fn refuse<T>(key: &'static str, text: impl Into<String>) -> Result<T, SettingError> {
    Err(SettingError::new(key, text))
}
