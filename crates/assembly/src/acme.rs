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
    SettingError, checks,
    listeners::{ListenerSettings, Purpose},
    options::{AcmeOptions, KeyChoice},
    values::CertificateNames,
};

use self::{
    authorities::{check_readable, external_account, fallback},
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

impl Reachable {
    /// Where authorities can connect to these listeners.
    pub fn of(listeners: &[ListenerSettings]) -> Self {
        let has = |is_encrypted: bool| {
            listeners.iter().any(|listener| (listener.purpose == Purpose::Encrypted) == is_encrypted)
        };
        Self { tls: has(true), plain: has(false) }
    }
}

impl AcmePlan {
    /// The plan that the options describe; nothing where neither names nor `on-demand` are given.
    pub(super) fn new(options: &AcmeOptions) -> Result<Option<Self>, SettingError> {
        checks::acme(options)?;
        if options.names.is_empty() && options.on_demand.is_none() {
            return Ok(None);
        }
        let key = match options.key {
            KeyChoice::EcdsaP256 => KeyKind::EcdsaP256,
            KeyChoice::EcdsaP384 => KeyKind::EcdsaP384,
            KeyChoice::Rsa2048 => KeyKind::Rsa2048,
        };
        let request = |names: &CertificateNames| CertificateRequest { names: names.0.clone(), key };
        let certificates = options.names.iter().map(request).collect();
        let authority = Authority {
            directory: options.directory.url().to_owned(),
            ca_file: options.ca.clone(),
            email: options.email.clone(),
            profile: options.profile.clone(),
            chain: options.chain.clone(),
            external_account: external_account(
                "acme-eab-key-file",
                options.eab_kid.as_ref(),
                options.eab_key_file.as_deref(),
            )?,
        };
        check_readable("acme-ca", options.ca.as_deref())?;
        let fallback = fallback(options)?;
        let dns = dns_provider(options)?;
        let store = store(options)?.or_else(|| options.dir.clone().map(StoreSettings::Directory));
        let table = CertificateTable::default();
        let on_demand = on_demand(options, key);
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
fn on_demand(options: &AcmeOptions, key: KeyKind) -> Option<OnDemand> {
    let url = options.on_demand.as_ref()?;
    Some(OnDemand {
        permission: OnDemandPermission::Url(url.0.clone()),
        rate: OrderRate { count: options.on_demand_rate.count, period: options.on_demand_rate.period },
        limit: options.on_demand_limit.in_memory(),
        key,
    })
}

/// The store of a fleet.
fn store(options: &AcmeOptions) -> Result<Option<StoreSettings>, SettingError> {
    let (Some(address), Some(file)) = (&options.store, &options.store_secret) else { return Ok(None) };
    let refuse = |error| SettingError::new("acme-store-secret", format!("`acme-store-secret`: {error}"));
    let secret = StoreSecret::of_file(file).map_err(refuse)?;
    check_readable("acme-store-ca", options.store_ca.as_deref())?;
    let mut redis = RedisStoreSettings::new(address.0.clone(), secret);
    (redis.ca, redis.folder) = (options.store_ca.clone(), options.dir.clone());
    if let Some(prefix) = &options.store_prefix {
        redis.prefix.clone_from(prefix);
    }
    Ok(Some(StoreSettings::Redis(Box::new(redis))))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serow_config::options::without_options;

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
