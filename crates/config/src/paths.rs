//! Paths of a settings file are relative to its folder, wherever the server is started.

use std::path::{Path, PathBuf};

use serow_message::{Address, ServerLocation};

use crate::{
    options::{AccessLogChoice, AcmeOptions, CertificateChoice, GeneralOptions, TlsOptions, UpstreamTlsOptions},
    values::{AdminSocket, DnsProviderRule, ServerRule},
};

/// Makes the paths of the settings those that the system knows.
pub fn resolve(settings: &mut GeneralOptions, folder: &Path) {
    let GeneralOptions { listening, tls, acme, logging, admin, http: _, limits: _, timeouts: _ } = settings;
    listening.listen.iter_mut().for_each(|listener| resolve_address(&mut listener.address, folder));
    tls.redirect_http.iter_mut().for_each(|address| resolve_address(&mut address.0, folder));
    admin.admin.iter_mut().filter_map(AdminSocket::address_mut).for_each(|address| resolve_address(address, folder));
    admin.admin_token_file.iter_mut().for_each(|path| resolve_path(path, folder));
    tls.tls.iter_mut().for_each(|certificate| resolve_certificate(certificate, folder));
    let TlsOptions { tls_ocsp, tls_client_ca, tls_client_crl, tls_ticket_secret, .. } = tls;
    let lists = tls_ocsp.iter_mut().chain(tls_client_crl);
    lists.chain(tls_client_ca).chain(tls_ticket_secret).for_each(|path| resolve_path(path, folder));
    let AcmeOptions {
        ca,
        fallback_ca,
        dir,
        dns,
        dns_key,
        eab_key_file,
        fallback_eab_key_file,
        store_secret,
        store_ca,
        ..
    } = acme;
    let files = [ca, fallback_ca, dir, dns_key, eab_key_file, fallback_eab_key_file, store_secret, store_ca];
    files.into_iter().flatten().for_each(|path| resolve_path(path, folder));
    if let Some(DnsProviderRule::Program(path)) = dns {
        resolve_path(path, folder);
    }
    resolve_logs(&mut logging.access_log, folder);
}

/// The same for access logs.
pub fn resolve_logs(logs: &mut AccessLogChoice, folder: &Path) {
    let paths = logs.0.iter_mut().filter_map(|table| table.file.as_mut()?.0.path_mut());
    paths.for_each(|path| resolve_path(path, folder));
}

/// The same for what is about servers with TLS.
pub fn resolve_upstream_tls(settings: &mut UpstreamTlsOptions, folder: &Path) {
    settings.server_ca.iter_mut().for_each(|path| resolve_path(path, folder));
    settings.server_certificate.iter_mut().for_each(|certificate| resolve_certificate(certificate, folder));
}

/// The same for a server's address.
pub fn resolve_server(server: &mut ServerRule, folder: &Path) {
    match &mut server.address.location {
        ServerLocation::Unix(path) if !path.to_string_lossy().starts_with('@') => resolve_path(path, folder),
        _ => {}
    }
}

fn resolve_certificate(certificate: &mut CertificateChoice, folder: &Path) {
    if let CertificateChoice::Files(certificate, key) = certificate {
        resolve_path(certificate, folder);
        resolve_path(key, folder);
    }
}

/// A path as the system knows it. An empty one stays, so that it can be complained of.
pub fn resolved(path: &Path, folder: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { PathBuf::new() } else { folder.join(path) }
}

/// As [`resolved`], in its place.
pub fn resolve_path(path: &mut PathBuf, folder: &Path) {
    *path = resolved(path, folder);
}

/// As [`resolved`], where an address is a path.
pub fn resolve_address(address: &mut Address, folder: &Path) {
    match address {
        // A name in the abstract namespace is no path.
        Address::Unix(path) if !path.to_string_lossy().starts_with('@') => resolve_path(path, folder),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::without_options;

    #[test]
    fn paths_are_relative_to_the_folder_of_the_file() {
        let mut settings: GeneralOptions = without_options();
        let listen = ["8080", "unix:a.sock", "unix:/run/a.sock", "unix:@a"].map(|text| text.parse().unwrap());
        settings.listening.listen = listen.into();
        settings.tls.tls = ["a.pem,b.key", "/c.pem", "self-signed", "d.pem,"].map(|text| text.parse().unwrap()).into();
        settings.tls.tls_ocsp = vec!["e.ocsp".into()];
        settings.tls.tls_client_ca = Some("f.pem".into());
        settings.tls.tls_client_crl = vec!["j.crl".into(), "/k.crl".into()];
        settings.tls.tls_ticket_secret = Some("l".into());
        settings.tls.redirect_http = Some("unix:g".parse().unwrap());
        settings.admin.admin = Some("unix:h".parse().unwrap());
        settings.logging.access_log = "logs/i".parse().unwrap();
        settings.acme.dns = Some("bin/j".parse().unwrap());
        settings.acme.dns_key = Some("k.key".into());
        settings.acme.fallback_ca = Some("l.pem".into());
        settings.acme.fallback_eab_key_file = Some("m.key".into());
        resolve(&mut settings, Path::new("/etc/serow"));
        let mut servers =
            ["unix:a.sock,weight=2", "h2c+unix:/a.sock", "unix:@a", "a:1"].map(|text| text.parse().unwrap());
        servers.iter_mut().for_each(|server| resolve_server(server, Path::new("/etc")));
        let expected = ["unix:/etc/a.sock,weight=2", "h2c+unix:/a.sock", "unix:@a", "a:1"];
        assert_eq!(servers.map(|server| server.to_string()), expected);
        let listen: Vec<_> = settings.listening.listen.iter().map(|rule| rule.address.to_string()).collect();
        assert_eq!(listen, ["127.0.0.1:8080", "unix:/etc/serow/a.sock", "unix:/run/a.sock", "unix:@a"]);
        let tls: Vec<_> = settings.tls.tls.iter().map(ToString::to_string).collect();
        let expected = ["/etc/serow/a.pem,/etc/serow/b.key", "/c.pem", "self-signed", "/etc/serow/d.pem,"];
        assert_eq!(tls, expected);
        assert_eq!(settings.tls.tls_ocsp, [Path::new("/etc/serow/e.ocsp")]);
        assert_eq!(settings.tls.tls_client_ca.as_deref(), Some(Path::new("/etc/serow/f.pem")));
        assert_eq!(settings.tls.tls_client_crl, [Path::new("/etc/serow/j.crl"), Path::new("/k.crl")]);
        assert_eq!(settings.tls.tls_ticket_secret.as_deref(), Some(Path::new("/etc/serow/l")));
        assert_eq!(
            settings.tls.redirect_http.as_ref().map(|address| address.to_string()).as_deref(),
            Some("unix:/etc/serow/g")
        );
        assert_eq!(
            settings.admin.admin.as_ref().map(|address| address.to_string()).as_deref(),
            Some("unix:/etc/serow/h")
        );
        assert_eq!(settings.logging.access_log.to_string(), "/etc/serow/logs/i");
        assert_eq!(settings.acme.dns.as_ref().map(ToString::to_string).as_deref(), Some("/etc/serow/bin/j"));
        assert_eq!(settings.acme.dns_key.as_deref(), Some(Path::new("/etc/serow/k.key")));
        assert_eq!(settings.acme.fallback_ca.as_deref(), Some(Path::new("/etc/serow/l.pem")));
        assert_eq!(settings.acme.fallback_eab_key_file.as_deref(), Some(Path::new("/etc/serow/m.key")));
        settings.acme.dns = Some("rfc2136:ns1.example.com".parse().unwrap());
        resolve(&mut settings, Path::new("/etc/serow"));
        assert_eq!(settings.acme.dns.map(|dns| dns.to_string()).as_deref(), Some("rfc2136:ns1.example.com"));
    }
}
