//! Options of automatic certificates that mean nothing, alone or together.

use std::collections::HashSet;

use super::redis_prefix;
use crate::{
    SettingError,
    options::{AcmeOptions, without_options},
    values::DnsProviderRule,
};

/// Refuses options of automatic certificates that mean nothing, alone or together.
///
/// # Errors
///
/// The first of them, and the remedy.
pub fn acme(options: &AcmeOptions) -> Result<(), SettingError> {
    if options.names.is_empty() && options.on_demand.is_none() {
        return match option_without_names(options) {
            Some(key) => Err(SettingError::new(
                key,
                format!("`{key}` needs `acme`: name the hosts that need a certificate, as in example.com"),
            )),
            None => Ok(()),
        };
    }
    names(options)?;
    account(&EAB, options.eab_kid.is_some(), options.eab_key_file.is_some())?;
    if let Some(email) = &options.email
        && (!email.contains('@') || email.contains(|char: char| char.is_whitespace() || char.is_control()))
    {
        return Err(SettingError::new(
            "acme-email",
            format!("`acme-email` {email:?} is not a mail address: write one, as in admin@example.com"),
        ));
    }
    fallback(options)?;
    dns(options)?;
    store(options)?;
    on_demand(options)
}

fn names(options: &AcmeOptions) -> Result<(), SettingError> {
    let mut before = HashSet::new();
    for (number, names) in options.names.iter().enumerate() {
        if let Some(name) = names.0.iter().find(|name| before.contains(name)) {
            let text = format!("`acme`: {name} is in two certificates: leave it out of one");
            return Err(SettingError::new("acme", text).of_element(number));
        }
        before.extend(&names.0);
    }
    Ok(())
}

/// An account at an authority has an identifier and a key.
fn account([id_key, file_key]: &[&'static str; 2], has_id: bool, has_file: bool) -> Result<(), SettingError> {
    let (given, missing) = match (has_id, has_file) {
        (true, false) => (id_key, file_key),
        (false, true) => (file_key, id_key),
        _ => return Ok(()),
    };
    Err(SettingError::new(given, format!("`{given}` needs `{missing}`: the authority shows both")))
}

fn fallback(options: &AcmeOptions) -> Result<(), SettingError> {
    let Some(directory) = &options.fallback else {
        let given = [
            (FALLBACK_CA, options.fallback_ca.is_some()),
            (FALLBACK_EAB[0], options.fallback_eab_kid.is_some()),
            (FALLBACK_EAB[1], options.fallback_eab_key_file.is_some()),
        ];
        return match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) => {
                Err(SettingError::new(key, format!("`{key}` needs `acme-fallback`: name the second authority")))
            }
            None => Ok(()),
        };
    };
    if directory.url() == options.directory.url() {
        let text = "`acme-fallback` is the first authority: name another one, which can issue when the first one fails";
        return Err(SettingError::new("acme-fallback", text));
    }
    account(&FALLBACK_EAB, options.fallback_eab_kid.is_some(), options.fallback_eab_key_file.is_some())
}

fn dns(options: &AcmeOptions) -> Result<(), SettingError> {
    match (&options.dns, &options.dns_key) {
        (Some(DnsProviderRule::Update { .. }), None) => {
            let text = "`acme-dns` with a name server needs `acme-dns-key`: write a key with `tsig-keygen serow`, and \
                        allow it to change the records of the zone";
            Err(SettingError::new("acme-dns", text))
        }
        (Some(DnsProviderRule::Update { .. }), Some(_)) | (_, None) => Ok(()),
        (_, Some(_)) => {
            let text = "`acme-dns-key` needs `acme-dns` with a name server, as in rfc2136:ns1.example.com";
            Err(SettingError::new("acme-dns-key", text))
        }
    }
}

fn store(options: &AcmeOptions) -> Result<(), SettingError> {
    let refused = match (&options.store, &options.store_secret) {
        (None, _) if options.store_prefix.is_some() => {
            ("acme-store-prefix", "`acme-store-prefix` needs `acme-store`: without it, there are no keys in Redis")
        }
        (None, _) if options.store_ca.is_some() => {
            ("acme-store-ca", "`acme-store-ca` needs `acme-store`: without it, Serow connects to no Redis")
        }
        (None, None) => return Ok(()),
        (Some(address), Some(_)) if options.store_ca.is_some() && !address.0.is_tls() => {
            ("acme-store-ca", "`acme-store-ca` needs TLS: write a URL with rediss:// in `acme-store`")
        }
        (Some(_), Some(_)) => return store_prefix(options),
        (Some(_), None) => {
            ("acme-store", "`acme-store` needs `acme-store-secret`: private keys must not be in Redis as plain text")
        }
        (None, Some(_)) => {
            ("acme-store-secret", "`acme-store-secret` needs `acme-store`: without it, nothing is encrypted")
        }
    };
    Err(SettingError::new(refused.0, refused.1))
}

/// The prefix of the keys in Redis.
fn store_prefix(options: &AcmeOptions) -> Result<(), SettingError> {
    let Some(prefix) = &options.store_prefix else { return Ok(()) };
    let refuse = |text| SettingError::new("acme-store-prefix", format!("`acme-store-prefix`: {text}"));
    redis_prefix(prefix).map_err(refuse)
}

fn on_demand(options: &AcmeOptions) -> Result<(), SettingError> {
    if options.on_demand.is_some() {
        return Ok(());
    }
    let default = without_options::<AcmeOptions>();
    let given = [
        ("acme-on-demand-rate", options.on_demand_rate != default.on_demand_rate),
        ("acme-on-demand-limit", options.on_demand_limit != default.on_demand_limit),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((key, _)) => {
            Err(SettingError::new(key, format!("`{key}` needs `acme-on-demand`: write the URL that allows names")))
        }
        None => Ok(()),
    }
}

fn option_without_names(options: &AcmeOptions) -> Option<&'static str> {
    let given = [
        ("acme-email", options.email.is_some()),
        ("acme-ca", options.ca.is_some()),
        ("acme-profile", options.profile.is_some()),
        ("acme-chain", options.chain.is_some()),
        ("acme-fallback", options.fallback.is_some()),
        (FALLBACK_CA, options.fallback_ca.is_some()),
        (FALLBACK_EAB[0], options.fallback_eab_kid.is_some()),
        (FALLBACK_EAB[1], options.fallback_eab_key_file.is_some()),
        ("acme-dir", options.dir.is_some()),
        ("acme-store", options.store.is_some()),
        ("acme-store-secret", options.store_secret.is_some()),
        ("acme-store-ca", options.store_ca.is_some()),
        ("acme-store-prefix", options.store_prefix.is_some()),
        ("acme-dns", options.dns.is_some()),
        ("acme-dns-key", options.dns_key.is_some()),
        (EAB[0], options.eab_kid.is_some()),
        (EAB[1], options.eab_key_file.is_some()),
        ("acme-on-demand-rate", options.on_demand_rate != without_options::<AcmeOptions>().on_demand_rate),
        ("acme-on-demand-limit", options.on_demand_limit != without_options::<AcmeOptions>().on_demand_limit),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(key, _)| key)
}

/// Keys of the accounts that exist at the authorities: identifier and file.
const EAB: [&str; 2] = ["acme-eab-kid", "acme-eab-key-file"];
const FALLBACK_EAB: [&str; 2] = ["acme-fallback-eab-kid", "acme-fallback-eab-key-file"];
const FALLBACK_CA: &str = "acme-fallback-ca";
