//! The provider that proves by DNS that the names of certificates belong to the server.

use std::{fs, path::Path};

use serow_acme::{DnsCommand, DnsPersist, DnsProvider, DnsUpdate, KeyFileError, TsigKey};
use serow_config::{SettingError, options::AcmeOptions, values::DnsProviderRule};

/// The provider that the options name.
pub(super) fn dns_provider(options: &AcmeOptions) -> Result<Option<DnsProvider>, SettingError> {
    match (&options.dns, &options.dns_key) {
        (Some(DnsProviderRule::Persist(server)), _) => Ok(Some(DnsProvider::Persist(DnsPersist { server: *server }))),
        (Some(DnsProviderRule::Program(program)), _) => {
            let propagation = options.dns_wait.0;
            Ok(Some(DnsProvider::Command(DnsCommand { propagation, ..DnsCommand::new(program) })))
        }
        (Some(DnsProviderRule::Update { host, port }), Some(file)) => {
            let update = DnsUpdate::new(host, *port, dns_key(file)?);
            Ok(Some(DnsProvider::Update(DnsUpdate { wait: options.dns_wait.0, ..update })))
        }
        (None, _) | (Some(DnsProviderRule::Update { .. }), None) => Ok(None),
    }
}

fn dns_key(file: &Path) -> Result<TsigKey, SettingError> {
    let refuse =
        |problem: String| SettingError::new("acme-dns-key", format!("`acme-dns-key`: {}: {problem}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| refuse(error.to_string()))?;
    text.parse().map_err(|error: KeyFileError| refuse(error.to_string()))
}
