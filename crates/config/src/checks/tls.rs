//! Options of TLS that mean nothing, alone or together.

use crate::{
    SettingError,
    options::{CertificateChoice, ClientChoice, TlsOptions, UnknownNameChoice, VersionsChoice},
};

/// Refuses options of TLS that mean nothing, alone or together, where the server has certificates by ACME or not.
///
/// # Errors
///
/// The first of them, and the remedy.
pub fn tls(options: &TlsOptions, has_acme: bool) -> Result<(), SettingError> {
    if options.tls.is_empty() && !has_acme {
        return match setting_without_tls(options) {
            Some(key) => refuse(key, format!("`{key}` needs `tls`: name a certificate there, or write self-signed")),
            None => Ok(()),
        };
    }
    if options.tls.contains(&CertificateChoice::SelfSigned) {
        self_signed(options, has_acme)?;
    } else {
        certificate_names(options)?;
    }
    clients(options)
}

fn self_signed(options: &TlsOptions, has_acme: bool) -> Result<(), SettingError> {
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
    if has_acme {
        let text = "`tls`: self-signed cannot be combined with `acme`; leave out one or the other";
        return refuse("tls", text);
    }
    Ok(())
}

/// Refuses certificates whose files have no names.
///
/// # Errors
///
/// The first of them, and the remedy.
pub fn certificate_names(options: &TlsOptions) -> Result<(), SettingError> {
    if options.tls_ocsp.len() > options.tls.len() {
        let text = "`tls-ocsp` is given more often than `tls`: give one for each certificate, in the same order";
        return refuse("tls-ocsp", text);
    }
    if options.tls.iter().flat_map(CertificateChoice::files).any(|path| path.as_os_str().is_empty()) {
        return refuse("tls", "`tls`: a name is missing; write CERT,KEY, or one file that holds both");
    }
    Ok(())
}

fn clients(options: &TlsOptions) -> Result<(), SettingError> {
    if options.tls_client_ca.is_some() {
        return Ok(());
    }
    if !options.tls_client_crl.is_empty() {
        return refuse("tls-client-crl", "`tls-client-crl` needs `tls-client-ca`: name the authorities' file");
    }
    if options.tls_client == ClientChoice::Optional {
        return refuse("tls-client", "`tls-client` needs `tls-client-ca`: name the authorities' file");
    }
    Ok(())
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

fn refuse<T>(key: &'static str, text: impl Into<String>) -> Result<T, SettingError> {
    Err(SettingError::new(key, text))
}
