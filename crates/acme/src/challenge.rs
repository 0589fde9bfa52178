//! Answers to those who validate names: what shows that this server controls a name (RFC 8555 §8).

mod dns_command;
mod dns_persist;
mod dns_update;
mod http;
mod tls_alpn;

use std::{fmt, sync::Arc, time::Duration};

use instant_acme::{ChallengeType, KeyAuthorization};
use serow_tls::{CertificateTable, ServerCertificate};
use tokio::time::Instant;

pub(crate) use self::dns_persist::PersistentRecord;
pub use self::{dns_command::DnsCommand, dns_persist::DnsPersist, dns_update::DnsUpdate, http::HttpChallenges};
use crate::{
    CertificateName,
    failure::{Failure, FailureKind},
    storage::{Lease, Storage},
};

/// How names can be validated with this server.
#[derive(Clone, Debug, Default)]
pub struct ChallengeSettings {
    /// It listens with TLS where the authority connects (tls-alpn-01, RFC 8737).
    pub tls_alpn: bool,
    /// It listens without TLS where the authority connects (http-01, RFC 8555 §8.3).
    pub http: bool,
    /// It can change DNS records (dns-01, RFC 8555 §8.4), or someone has added records that stay (dns-persist-01).
    pub dns: Option<DnsProvider>,
}

/// The program or server that changes DNS records, if they have to be changed.
#[derive(Clone, Debug)]
pub enum DnsProvider {
    /// A program.
    Command(DnsCommand),
    /// A name server.
    Update(DnsUpdate),
    /// Nothing: the records stay.
    Persist(DnsPersist),
}

/// A way to validate a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChallengeMethod {
    Dns,
    DnsPersist,
    TlsAlpn,
    Http,
}

/// Answers to validations, for this process and for those that share its storage.
pub(crate) struct Answers {
    pub(crate) settings: ChallengeSettings,
    pub(crate) table: CertificateTable,
    pub(crate) http: HttpChallenges,
    pub(crate) storage: Arc<Storage>,
}

/// An answer that is given until [`Answers::withdraw`].
#[must_use]
pub(crate) enum GivenAnswer {
    /// A record with this name and value.
    Dns { record: String, value: String },
    /// This record, which stays.
    Persistent(PersistentRecord),
    /// A certificate for this server name.
    TlsAlpn { name: String },
    /// A file of this token.
    Http { token: String },
}

impl ChallengeSettings {
    /// The ways to validate this name, the preferred first.
    pub(crate) fn methods(&self, name: &CertificateName) -> Vec<ChallengeMethod> {
        let is_address = matches!(name, CertificateName::Ip(_));
        let mut methods = Vec::new();
        match &self.dns {
            Some(_) if is_address => {}
            Some(DnsProvider::Persist(_)) => methods.push(ChallengeMethod::DnsPersist),
            Some(DnsProvider::Command(_) | DnsProvider::Update(_)) => methods.push(ChallengeMethod::Dns),
            None => {}
        }
        if self.tls_alpn && !name.is_wildcard() {
            methods.push(ChallengeMethod::TlsAlpn);
        }
        if self.http && !name.is_wildcard() {
            methods.push(ChallengeMethod::Http);
        }
        methods
    }

    /// Why this name cannot be validated with these settings, if it cannot.
    #[must_use]
    pub fn problem(&self, name: &CertificateName) -> Option<&'static str> {
        match self.methods(name).is_empty() {
            false => None,
            true if name.is_wildcard() => Some("a wildcard can only be validated by DNS: set `acme-dns`"),
            true => Some("no authority can validate it: listen on :443 with TLS, or on :80, or set `acme-dns`"),
        }
    }
}

impl ChallengeMethod {
    pub(crate) fn kind(self) -> ChallengeType {
        match self {
            Self::Dns => ChallengeType::Dns01,
            Self::DnsPersist => ChallengeType::Unknown(DNS_PERSIST.to_owned()),
            Self::TlsAlpn => ChallengeType::TlsAlpn01,
            Self::Http => ChallengeType::Http01,
        }
    }
}

impl Answers {
    /// Gives the answer for a name until it is withdrawn. When this is done, every process gives it.
    pub(crate) async fn give(
        &self,
        lease: &Lease,
        method: ChallengeMethod,
        name: &CertificateName,
        token: &str,
        authorization: &KeyAuthorization,
    ) -> Result<GivenAnswer, Failure> {
        match method {
            ChallengeMethod::Http => {
                let text = authorization.as_str();
                let key =
                    http::storage_key(token).ok_or_else(|| Failure::refused("the authority's token is invalid"))?;
                self.storage.write(lease, &key, text.as_bytes()).await?;
                self.http.add(token, text);
                Ok(GivenAnswer::Http { token: token.to_owned() })
            }
            ChallengeMethod::TlsAlpn => {
                let pem = tls_alpn::certificate(name, authorization.digest().as_ref()).map_err(Failure::local)?;
                let certificate = ServerCertificate::for_validation(pem.as_bytes()).map_err(Failure::local)?;
                let name = name.validation_name();
                self.storage.write(lease, &tls_alpn::storage_key(&name), pem.as_bytes()).await?;
                self.table.add_challenge(&name, &certificate);
                Ok(GivenAnswer::TlsAlpn { name })
            }
            ChallengeMethod::DnsPersist => Err(Failure::local("a record that stays is not given")),
            ChallengeMethod::Dns => {
                let domain = name.domain().ok_or_else(|| Failure::refused("an address has no DNS records"))?;
                let (record, value) = (format!("_acme-challenge.{domain}."), authorization.dns_value());
                match &self.settings.dns {
                    Some(DnsProvider::Command(command)) => command.present(&record, &value).await?,
                    Some(DnsProvider::Update(update)) => update.present(&record, &value).await?,
                    Some(DnsProvider::Persist(_)) | None => return Err(Failure::local("`acme-dns` is not set")),
                }
                Ok(GivenAnswer::Dns { record, value })
            }
        }
    }

    /// Waits until other processes and name servers give the answers as well.
    pub(crate) async fn propagate(&self, given: &[GivenAnswer]) -> Result<(), Failure> {
        if let Some(DnsProvider::Update(update)) = &self.settings.dns {
            let deadline = Instant::now() + update.propagation;
            let mut records = given.iter().filter_map(GivenAnswer::record).peekable();
            let has_records = records.peek().is_some();
            for (record, value) in records {
                update.await_publication(record, value, deadline).await?;
            }
            if has_records {
                update.settle().await;
            }
        }
        let delay = self.storage.propagation();
        if delay > Duration::ZERO {
            tokio::time::sleep(delay).await;
        }
        Ok(())
    }

    /// Withdraws an answer. An answer that cannot be withdrawn does no harm; the error log says why.
    pub(crate) async fn withdraw(&self, lease: &Lease, given: GivenAnswer) {
        let withdrawn = match &given {
            GivenAnswer::Http { token } => {
                self.http.remove(token);
                match http::storage_key(token) {
                    Some(key) => self.storage.remove(lease, &key).await.map_err(Failure::from),
                    None => Ok(()),
                }
            }
            GivenAnswer::TlsAlpn { name } => {
                self.table.remove_challenge(name);
                self.storage.remove(lease, &tls_alpn::storage_key(name)).await.map_err(Failure::from)
            }
            GivenAnswer::Dns { record, value } => match &self.settings.dns {
                Some(DnsProvider::Command(command)) => command.clean_up(record, value).await,
                Some(DnsProvider::Update(update)) => update.clean_up(record, value).await,
                Some(DnsProvider::Persist(_)) | None => Ok(()),
            },
            GivenAnswer::Persistent(_) => Ok(()),
        };
        // Another process withdraws it at the end of the order.
        if let Err(failure) = withdrawn
            && failure.kind != FailureKind::Interrupted
        {
            tracing::warn!("after the validation of a name, {given}: {failure}");
        }
    }
}

/// Also gives the answers of other processes that share the storage.
pub(crate) fn share(table: &CertificateTable, http: &HttpChallenges, storage: &Arc<Storage>) {
    let shared = Arc::clone(storage);
    table.look_up_challenges(Arc::new(move |name| {
        // A name that is parsed is a file name as well.
        let name = name.parse::<CertificateName>().ok()?;
        let pem = shared.read_challenge(&tls_alpn::storage_key(&name.validation_name()))?;
        ServerCertificate::for_validation(&pem).ok()
    }));
    let shared = Arc::clone(storage);
    http.look_up(Arc::new(move |token| {
        let text = shared.read_challenge(&http::storage_key(token)?)?;
        String::from_utf8(text).ok()
    }));
}

impl GivenAnswer {
    /// The record that stays, if it is one.
    pub(crate) fn persistent(&self) -> Option<&PersistentRecord> {
        match self {
            Self::Persistent(record) => Some(record),
            Self::Dns { .. } | Self::TlsAlpn { .. } | Self::Http { .. } => None,
        }
    }

    /// The name and value of the DNS record, if it is one.
    fn record(&self) -> Option<(&str, &str)> {
        match self {
            Self::Dns { record, value } => Some((record, value)),
            Self::Persistent(_) | Self::TlsAlpn { .. } | Self::Http { .. } => None,
        }
    }
}

impl fmt::Display for GivenAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns { record, .. } => write!(formatter, "the DNS record {record} is left"),
            Self::Persistent(record) => write!(formatter, "{record} stays"),
            Self::TlsAlpn { name } => write!(formatter, "the answer for {name} is left in the storage"),
            Self::Http { token } => write!(formatter, "the answer for the token {token} is left in the storage"),
        }
    }
}

/// The name of the challenge in draft-ietf-acme-dns-persist.
pub(crate) const DNS_PERSIST: &str = "dns-persist-01";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_validated_in_the_ways_that_suit_it() {
        use ChallengeMethod::{Dns, DnsPersist as Persist, Http, TlsAlpn};
        let persist = Some(DnsProvider::Persist(DnsPersist::default()));
        let dns = Some(DnsProvider::Command(DnsCommand::new("/bin/true")));
        for (tls_alpn, http, dns, name, expected) in [
            (true, true, None, "example.com", &[TlsAlpn, Http][..]),
            (true, true, dns.clone(), "example.com", &[Dns, TlsAlpn, Http]),
            (true, true, dns.clone(), "*.example.com", &[Dns]),
            (true, true, None, "*.example.com", &[]),
            (true, false, persist.clone(), "example.com", &[Persist, TlsAlpn]),
            (true, false, persist.clone(), "*.example.com", &[Persist]),
            (true, false, persist, "192.0.2.1", &[TlsAlpn]),
            (true, true, dns.clone(), "192.0.2.1", &[TlsAlpn, Http]),
            (false, false, None, "example.com", &[]),
        ] {
            let settings = ChallengeSettings { tls_alpn, http, dns };
            let name = name.parse().unwrap();
            assert_eq!(settings.methods(&name), expected);
            assert_eq!(settings.problem(&name).is_some(), expected.is_empty());
        }
    }
}
