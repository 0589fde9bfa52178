//! The meaning of the settings about automatic certificates, taken together.

mod authorities;
mod dns;
mod warnings;

use std::path::PathBuf;

use serow::CertificateTable;
use serow_acme::{
    AcmeSettings, Authority, CertificateName, CertificateRequest, ChallengeSettings, DnsProvider, KeyKind, OnDemand,
    OnDemandPermission, OrderRate, RedisStoreSettings, StoreSecret, StoreSettings,
};
use serow_config::{
    SettingError,
    options::{AcmeOptions, KeyChoice, without_options},
};

use self::{
    authorities::{EAB, FALLBACK_CA, FALLBACK_EAB, check_readable, external_account, fallback},
    dns::dns_provider,
};

/// Automatic certificates, before it is known where they are kept and on which addresses the server listens.
#[derive(Clone, Debug)]
pub struct AcmePlan {
    certificates: Vec<CertificateRequest>,
    authority: Authority,
    fallback: Option<Authority>,
    store: Option<StoreSettings>,
    dns: Option<DnsProvider>,
    on_demand: Option<OnDemand>,
    /// The certificates in use.
    pub table: CertificateTable,
}

/// Where an authority can connect to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reachable {
    /// With TLS.
    pub tls: bool,
    /// Without TLS.
    pub plain: bool,
}

impl AcmePlan {
    /// The plan that the options describe; nothing where neither names nor `on-demand` are given.
    pub(super) fn new(options: &AcmeOptions) -> Result<Option<Self>, SettingError> {
        if options.names.is_empty() && options.on_demand.is_none() {
            return match option_without_names(options) {
                Some(key) => Err(SettingError::new(
                    key,
                    format!("`{key}` needs `acme`: name the hosts that need a certificate, as in example.com"),
                )),
                None => Ok(None),
            };
        }
        let key = match options.key {
            KeyChoice::EcdsaP256 => KeyKind::EcdsaP256,
            KeyChoice::EcdsaP384 => KeyKind::EcdsaP384,
            KeyChoice::Rsa2048 => KeyKind::Rsa2048,
        };
        let mut certificates = Vec::<CertificateRequest>::new();
        for (number, names) in options.names.iter().enumerate() {
            let names = names.0.clone();
            let taken =
                certificates.iter().flat_map(|certificate| &certificate.names).find(|name| names.contains(name));
            if let Some(name) = taken {
                let text = format!("`acme`: {name} is in two certificates: leave it out of one");
                return Err(SettingError::new("acme", text).of_element(number));
            }
            certificates.push(CertificateRequest { names, key });
        }
        let authority = Authority {
            directory: options.directory.url().to_owned(),
            ca_file: options.ca.clone(),
            email: options.email.clone(),
            profile: options.profile.clone(),
            chain: options.chain.clone(),
            external_account: external_account(&EAB, options.eab_kid.as_ref(), options.eab_key_file.as_deref())?,
        };
        if let Some(email) = &options.email
            && (!email.contains('@') || email.contains(|char: char| char.is_whitespace() || char.is_control()))
        {
            return Err(SettingError::new(
                "acme-email",
                format!("`acme-email` {email:?} is not a mail address: write one, as in admin@example.com"),
            ));
        }
        check_readable("acme-ca", options.ca.as_deref())?;
        let fallback = fallback(options)?;
        let dns = dns_provider(options)?;
        let store = store(options)?.or_else(|| options.dir.clone().map(StoreSettings::Directory));
        let table = CertificateTable::default();
        let on_demand = on_demand(options, key)?;
        Ok(Some(Self { certificates, authority, fallback, store, dns, on_demand, table }))
    }

    /// The names that no authority can validate, and why.
    pub(super) fn check(&self, reachable: Reachable) -> Result<(), SettingError> {
        let challenges = self.challenges(reachable);
        if self.on_demand.is_some() && !reachable.tls {
            let text = "`acme-on-demand` needs a listener with TLS: leave out `listen`, or listen on :443";
            return Err(SettingError::new("acme-on-demand", text));
        }
        for (number, certificate) in self.certificates.iter().enumerate() {
            for name in &certificate.names {
                if let Some(problem) = challenges.problem(name) {
                    return Err(SettingError::new("acme", format!("`acme`: {name}: {problem}")).of_element(number));
                }
            }
        }
        Ok(())
    }

    /// The settings of the certificate manager; `folder` is where certificates are kept unless the options say so.
    pub fn settings(&self, folder: Option<PathBuf>, reachable: Reachable) -> Option<AcmeSettings> {
        Some(AcmeSettings {
            certificates: self.certificates.clone(),
            authority: self.authority.clone(),
            fallback: self.fallback.clone(),
            store: match self.store.clone() {
                Some(StoreSettings::Redis(mut redis)) => {
                    redis.folder = redis.folder.or(folder);
                    StoreSettings::Redis(redis)
                }
                store => store.or(folder.map(StoreSettings::Directory))?,
            },
            challenges: self.challenges(reachable),
            table: self.table.clone(),
            on_demand: self.on_demand.clone(),
        })
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &CertificateName> {
        self.certificates.iter().flat_map(|certificate| &certificate.names)
    }

    /// Whether a program is run.
    pub fn runs_program(&self) -> bool {
        matches!(self.dns, Some(DnsProvider::Command(_)))
    }

    fn challenges(&self, reachable: Reachable) -> ChallengeSettings {
        ChallengeSettings { tls_alpn: reachable.tls, http: reachable.plain, dns: self.dns.clone() }
    }
}

/// Certificates for names that clients request.
fn on_demand(options: &AcmeOptions, key: KeyKind) -> Result<Option<OnDemand>, SettingError> {
    let default = without_options::<AcmeOptions>();
    let Some(url) = &options.on_demand else {
        let given = [
            ("acme-on-demand-rate", options.on_demand_rate != default.on_demand_rate),
            ("acme-on-demand-limit", options.on_demand_limit != default.on_demand_limit),
        ];
        return match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) => {
                Err(SettingError::new(key, format!("`{key}` needs `acme-on-demand`: write the URL that allows names")))
            }
            None => Ok(None),
        };
    };
    Ok(Some(OnDemand {
        permission: OnDemandPermission::Url(url.0.clone()),
        rate: OrderRate { count: options.on_demand_rate.count, period: options.on_demand_rate.period },
        limit: options.on_demand_limit.in_memory(),
        key,
    }))
}

/// The store of a fleet.
fn store(options: &AcmeOptions) -> Result<Option<StoreSettings>, SettingError> {
    match (&options.store, &options.store_secret) {
        (None, _) if options.store_prefix.is_some() => {
            let text = "`acme-store-prefix` needs `acme-store`: without it, there are no keys in Redis";
            Err(SettingError::new("acme-store-prefix", text))
        }
        (None, _) if options.store_ca.is_some() => {
            let text = "`acme-store-ca` needs `acme-store`: without it, Serow connects to no Redis";
            Err(SettingError::new("acme-store-ca", text))
        }
        (None, None) => Ok(None),
        (Some(address), Some(file)) => {
            let secret = StoreSecret::of_file(file);
            let refuse = |error| SettingError::new("acme-store-secret", format!("`acme-store-secret`: {error}"));
            let (address, secret) = (address.0.clone(), secret.map_err(refuse)?);
            let (prefix, folder) = (store_prefix(options)?, options.dir.clone());
            if options.store_ca.is_some() && !address.is_tls() {
                let text = "`acme-store-ca` needs TLS: write a URL with rediss:// in `acme-store`";
                return Err(SettingError::new("acme-store-ca", text));
            }
            check_readable("acme-store-ca", options.store_ca.as_deref())?;
            let mut redis = RedisStoreSettings::new(address, secret);
            (redis.ca, redis.prefix, redis.folder) = (options.store_ca.clone(), prefix, folder);
            Ok(Some(StoreSettings::Redis(Box::new(redis))))
        }
        (Some(_), None) => {
            let text = "`acme-store` needs `acme-store-secret`: private keys must not be in Redis as plain text";
            Err(SettingError::new("acme-store", text))
        }
        (None, Some(_)) => {
            let text = "`acme-store-secret` needs `acme-store`: without it, nothing is encrypted";
            Err(SettingError::new("acme-store-secret", text))
        }
    }
}

/// The prefix of the keys in Redis.
fn store_prefix(options: &AcmeOptions) -> Result<String, SettingError> {
    let Some(prefix) = &options.store_prefix else { return Ok(RedisStoreSettings::DEFAULT_PREFIX.to_owned()) };
    // In a cluster, braces would decide about the node; white space and quotes are hard to type in redis-cli.
    let is_of_prefix = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'/');
    if prefix.len() > MAX_PREFIX || !prefix.bytes().all(is_of_prefix) {
        let text = format!("{prefix:?} cannot begin a key: use letters, digits and - _ . : /, at most {MAX_PREFIX}");
        return Err(SettingError::new("acme-store-prefix", format!("`acme-store-prefix`: {text}")));
    }
    Ok(prefix.clone())
}

/// Each key in Redis has it.
const MAX_PREFIX: usize = 64;

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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_a_program_is_run_and_a_name_server_needs_a_key() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("dns.key");
        fs::write(&key, "key serow { algorithm hmac-sha256; secret \"c2VjcmV0\"; };").unwrap();
        for (dns, dns_key, expected) in [
            (None, None, Ok(false)),
            (Some("dns-record"), None, Ok(true)),
            (Some("rfc2136:ns1.example.com"), Some(&key), Ok(false)),
            (Some("rfc2136:ns1.example.com"), None, Err("acme-dns")),
            (Some("dns-record"), Some(&key), Err("acme-dns-key")),
            (Some("persist"), None, Ok(false)),
            (Some("persist"), Some(&key), Err("acme-dns-key")),
            (None, Some(&key), Err("acme-dns-key")),
        ] {
            let names = vec!["example.com".parse().unwrap()];
            let (dns, dns_key) = (dns.map(|dns| dns.parse().unwrap()), dns_key.cloned());
            let plan = AcmePlan::new(&AcmeOptions { names, dns, dns_key, ..without_options() });
            let found = plan.map(|plan| plan.unwrap().runs_program()).map_err(|error| error.key);
            assert_eq!(found, expected);
        }
    }
}
