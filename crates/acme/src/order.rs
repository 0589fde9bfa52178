//! One order, from the first request to the certificate (RFC 8555 §7.4). Its URL and its key are stored before the names
//! are validated: whoever continues, after a crash or on another machine, continues the same order.

use std::time::{Duration, SystemTime};

use instant_acme::{
    Account, AuthorizationStatus, CertificateIdentifier, ChallengeStatus, Error, Identifier, NewOrder, Order,
    OrderStatus, RetryPolicy,
};
use rcgen::{
    CertificateParams, DistinguishedName, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_RSA_SHA256,
};
use serde::{Deserialize, Serialize};
use serow_net::time;

use crate::{
    CertificateName, CertificateRequest, KeyKind, chain,
    challenge::{Answers, ChallengeMethod, DnsProvider, GivenAnswer, PersistentRecord},
    failure::{Failure, FailureKind},
    issued::IssuedCertificate,
    response_notes,
    storage::{Lease, Storage, StorageError},
};

/// The context in which one certificate is ordered.
pub(crate) struct OrderContext<'a> {
    pub(crate) account: &'a Account,
    pub(crate) request: &'a CertificateRequest,
    pub(crate) profile: Option<&'a str>,
    /// The issuer of the preferred chain.
    pub(crate) chain: Option<&'a str>,
    /// The directory of the authority, if it is the fallback.
    pub(crate) fallback: Option<&'a str>,
    pub(crate) storage: &'a Storage,
    /// The right to order it.
    pub(crate) lease: &'a Lease,
    /// Where an order that was begun is stored.
    pub(crate) key: &'a str,
    pub(crate) answers: &'a Answers,
    /// The certificate that the new one replaces (RFC 9773 §5).
    pub(crate) replaces: Option<CertificateIdentifier<'static>>,
    /// Which of the ways to validate a name is tried, from 0.
    pub(crate) way: usize,
}

/// An order that was begun.
#[derive(Serialize, Deserialize)]
struct StoredOrder {
    url: String,
    /// The key of the certificate, in PEM.
    key: String,
}

impl OrderContext<'_> {
    /// Obtains the certificate. The stored order is left for the caller to remove, when the certificate is stored or the
    /// failure says that the order is of no use.
    pub(crate) async fn obtain(&self) -> Result<IssuedCertificate, Failure> {
        let (mut order, key) = match self.continued().await? {
            Some(continued) => continued,
            None => self.begun().await?,
        };
        if order.state().status == OrderStatus::Pending {
            self.validate(&mut order).await?;
        }
        if order.state().status == OrderStatus::Ready {
            let request = self.signing_request(&key)?;
            order.finalize_csr(&request).await.map_err(|error| self.lost(&error))?;
        }
        if order.state().status == OrderStatus::Invalid {
            return Err(refusal(&mut order).await.of_order());
        }
        let chain = tokio::select! {
            chain = order.poll_certificate(&POLLING) => chain.map_err(|error| self.unfinished(&error))?,
            () = self.lease.lost() => return Err(StorageError::LeaseLost.into()),
        };
        if !chain.contains("-----BEGIN CERTIFICATE-----") {
            // The order is finished: the certificate can be fetched again.
            return Err(Failure::unusable("the authority's answer is not a certificate").of_suspect_order());
        }
        let chain = match self.chain {
            Some(name) => chain::preferred(self.account, chain, name).await,
            None => chain,
        };
        let unusable =
            |problem| Failure::unusable(format!("the authority's certificate is unusable: {problem}")).of_order();
        let issued = match self.fallback {
            Some(directory) => IssuedCertificate::of_fallback(&chain, &key, directory),
            None => IssuedCertificate::new(&chain, &key),
        };
        let issued = issued.map_err(unusable)?;
        if !issued.covers(&self.request.names) {
            return Err(Failure::unusable("the authority's certificate lacks names that were ordered").of_order());
        }
        Ok(issued)
    }

    /// The order that an earlier process or attempt began, if the authority still has it.
    async fn continued(&self) -> Result<Option<(Order, KeyPair)>, Failure> {
        let Some(text) = self.storage.read(self.key).await? else { return Ok(None) };
        let stored: Option<StoredOrder> = serde_json::from_slice(&text).ok();
        let stored = stored.and_then(|stored| Some((stored.url, KeyPair::from_pem(&stored.key).ok()?)));
        let Some((url, key)) = stored else {
            tracing::warn!("the stored order {} is damaged: another one is begun", self.key);
            return Ok(None);
        };
        match self.account.order(url).await {
            Ok(mut order) => Ok((order.state().status != OrderStatus::Invalid).then_some((order, key))),
            Err(error) => {
                let failure = Failure::of_authority(&error);
                // It forgets orders after some days.
                if failure.kind == FailureKind::Refused { Ok(None) } else { Err(failure) }
            }
        }
    }

    async fn begun(&self) -> Result<(Order, KeyPair), Failure> {
        let key = new_key(self.request.key)?;
        let identifiers: Vec<Identifier> = self.request.names.iter().map(identifier).collect();
        let order = self.account.new_order(&self.new_order(&identifiers, self.replaces.clone())).await;
        let order = match order {
            // The certificate was replaced already, is another authority's, or the authority does not support ARI.
            Err(error) if self.replaces.is_some() && may_be_of_replacement(&error) => {
                self.account.new_order(&self.new_order(&identifiers, None)).await
            }
            outcome => outcome,
        };
        let order = order.map_err(|error| Failure::of_authority(&error))?;
        let stored = StoredOrder { url: order.url().to_owned(), key: key.serialize_pem() };
        let text = serde_json::to_vec(&stored).map_err(Failure::local)?;
        self.storage.write(self.lease, self.key, &text).await?;
        Ok((order, key))
    }

    /// An order of these names, which replaces a certificate or not.
    fn new_order<'n>(
        &'n self,
        identifiers: &'n [Identifier],
        replaces: Option<CertificateIdentifier<'static>>,
    ) -> NewOrder<'n> {
        let new = NewOrder::new(identifiers);
        let new = self.profile.into_iter().fold(new, NewOrder::profile);
        replaces.into_iter().fold(new, NewOrder::replaces)
    }

    /// Shows that this server controls the names.
    async fn validate(&self, order: &mut Order) -> Result<(), Failure> {
        let mut given = Vec::new();
        let validation = async {
            self.answer(order, &mut given).await?;
            order.poll_ready(&POLLING).await.map(drop).map_err(|error| self.lost(&error))
        };
        let outcome = tokio::select! {
            outcome = validation => outcome,
            // The process that has the lock now continues the order; the answers of both would differ.
            () = self.lease.lost() => Err(StorageError::LeaseLost.into()),
        };
        let records: Vec<_> = given.iter().filter_map(GivenAnswer::persistent).map(ToString::to_string).collect();
        for answer in given {
            self.answers.withdraw(self.lease, answer).await;
        }
        let outcome = match outcome {
            Ok(()) if order.state().status == OrderStatus::Invalid => Err(refusal(order).await.of_order()),
            outcome => outcome,
        };
        outcome.map_err(|failure| failure.with_records(&records))
    }

    /// Answers a challenge of each name, then asks the authority to validate all.
    async fn answer(&self, order: &mut Order, given: &mut Vec<GivenAnswer>) -> Result<(), Failure> {
        let (mut answered, mut missing) = (Vec::new(), Vec::new());
        let mut authorizations = order.authorizations();
        while let Some(authorization) = authorizations.next().await {
            let mut authorization = authorization.map_err(|error| self.lost(&error))?;
            if authorization.status != AuthorizationStatus::Pending {
                answered.push(None);
                continue;
            }
            let text = authorization.identifier().to_string();
            let name: CertificateName = text.parse().map_err(|error| Failure::refused(error).of_order())?;
            let method = self.method(&name, |method| {
                authorization.challenges.iter().any(|challenge| challenge.r#type == method.kind())
            })?;
            let challenge = authorization.challenge(method.kind());
            let challenge = challenge.ok_or_else(|| Failure::refused("the authority offers no challenge"))?;
            answered.push(Some(method));
            if let (ChallengeMethod::DnsPersist, Some(DnsProvider::Persist(persist))) =
                (method, &self.answers.settings.dns)
            {
                let issuers = response_notes::issuers(&challenge.url);
                // One record for a domain and its wildcard.
                let is_wildcard_of = |other: &CertificateName| other.is_wildcard() && other.domain() == name.domain();
                let ordered = self.request.names.iter().find(|other| is_wildcard_of(other)).unwrap_or(&name);
                let record = PersistentRecord::new(ordered, issuers, self.account.id()).map_err(Failure::of_order)?;
                missing.extend(persist.problem(&record, time::wall()).await.filter(|line| !missing.contains(line)));
                given.push(GivenAnswer::Persistent(record));
                continue;
            }
            let authorization = challenge.key_authorization();
            given.push(self.answers.give(self.lease, method, &name, &challenge.token, &authorization).await?);
        }
        if !missing.is_empty() {
            // The authority chooses the order of the authorizations; the same failure has the same text.
            missing.sort_unstable();
            return Err(Failure::missing_records(&missing));
        }
        self.answers.propagate(given).await?;
        let mut authorizations = order.authorizations();
        for method in answered {
            let Some(authorization) = authorizations.next().await else { break };
            let mut authorization = authorization.map_err(|error| self.lost(&error))?;
            let Some(method) = method else { continue };
            let Some(mut challenge) = authorization.challenge(method.kind()) else { continue };
            if challenge.status == ChallengeStatus::Pending {
                challenge.set_ready().await.map_err(|error| self.lost(&error))?;
            }
        }
        Ok(())
    }

    /// One of the ways to validate a name that this server and the authority have.
    fn method(
        &self,
        name: &CertificateName,
        is_offered: impl Fn(ChallengeMethod) -> bool,
    ) -> Result<ChallengeMethod, Failure> {
        let mut methods = self.answers.settings.methods(name);
        if let Some(problem) = self.answers.settings.problem(name) {
            return Err(Failure::local(format!("{name}: {problem}")).of_order());
        }
        methods.retain(|method| is_offered(*method));
        let position = self.way % methods.len().max(1);
        let none =
            || Failure::refused(format!("{name}: the authority offers no challenge that this server can answer"));
        methods.get(position).copied().ok_or_else(|| none().of_order())
    }

    /// The failure of a request for an order that exists.
    fn lost(&self, error: &Error) -> Failure {
        let failure = Failure::of_authority(error);
        // Refused for good; otherwise the order goes on later.
        if failure.kind == FailureKind::Refused { failure.of_order() } else { failure }
    }

    /// The failure of an order that the authority does not finish.
    fn unfinished(&self, error: &Error) -> Failure {
        match error {
            // The answers are valid: the order itself may be the problem.
            Error::Timeout(_) => {
                Failure::unusable("the authority has not finished the order in time").of_suspect_order()
            }
            Error::Str(_) => Failure::unusable("the authority has finished the order without a certificate").of_order(),
            error => self.lost(error),
        }
    }

    /// The request for a certificate of these names with this key, in DER (RFC 2986).
    fn signing_request(&self, key: &KeyPair) -> Result<Vec<u8>, Failure> {
        let names: Vec<_> = self.request.names.iter().map(CertificateName::to_string).collect();
        let mut parameters = CertificateParams::new(names).map_err(Failure::local)?;
        parameters.distinguished_name = DistinguishedName::new();
        Ok(parameters.serialize_request(key).map_err(Failure::local)?.der().to_vec())
    }
}

/// Whether an order may have failed only because it replaces a certificate.
fn may_be_of_replacement(error: &Error) -> bool {
    match error {
        Error::Api(problem) => Failure::of_problem(problem).kind != FailureKind::RateLimited,
        Error::Unsupported(_) | Error::Other(_) => true,
        _ => false,
    }
}

fn new_key(kind: KeyKind) -> Result<KeyPair, Failure> {
    let key = match kind {
        KeyKind::EcdsaP256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
        KeyKind::EcdsaP384 => KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384),
        KeyKind::Rsa2048 => KeyPair::generate_for(&PKCS_RSA_SHA256),
    };
    key.map_err(|error| Failure::local(format!("a key cannot be generated: {error}")))
}

/// Why an order became invalid: the problem documents of the challenges (RFC 8555 §7.1.6).
async fn refusal(order: &mut Order) -> Failure {
    let mut reason = None;
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        if authorization.refresh().await.is_err() {
            continue;
        }
        let name = authorization.identifier().to_string();
        let problem = authorization.challenges.iter().find_map(|challenge| challenge.error.as_ref());
        if let Some(problem) = problem {
            let failure = Failure::of_problem(problem);
            reason = Some(Failure { text: format!("{name}: {}", failure.text), ..failure });
        }
    }
    let stated = order.state().error.as_ref().map(Failure::of_problem);
    reason.or(stated).unwrap_or_else(|| Failure::refused("the authority has made the order invalid"))
}

/// Validation takes some seconds; the authority states how long to wait (RFC 8555 §7.5.1).
const POLLING: RetryPolicy =
    RetryPolicy::new().initial_delay(Duration::from_millis(250)).backoff(1.5).timeout(Duration::from_secs(120));

/// Whether a new certificate is valid by this machine's clock.
pub(crate) fn check_clock(issued: &IssuedCertificate, now: SystemTime) -> Result<(), Failure> {
    if issued.validity.contains(now) {
        return Ok(());
    }
    let text = "the new certificate is not valid at the time of this machine's clock: set the clock";
    // The authority's clock may be the wrong one: then another order helps, but not at once.
    Err(Failure::new(FailureKind::RateLimited, text).of_suspect_order())
}

fn identifier(name: &CertificateName) -> Identifier {
    match name {
        CertificateName::Dns(name) => Identifier::Dns(name.clone()),
        CertificateName::Ip(address) => Identifier::Ip(*address),
    }
}
