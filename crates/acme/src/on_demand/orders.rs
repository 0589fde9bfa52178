//! The tasks of names that clients request: each loads or orders a certificate, and renews it while it is used.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use serow_net::time;

use super::{Demands, PermissionClient, permission::Permission, state::Exceeded};
use crate::{
    AcmeSettings, CertificateCommand, CertificateName, CertificateRequest, KeyKind, certificate::MaintainedCertificate,
    manager::ManagerState, state::CertificateStep, storage::Changes,
};

/// The certificates that were ordered on demand.
pub(crate) struct OnDemandOrders {
    settings: AcmeSettings,
    key: KeyKind,
    demands: Arc<Demands>,
    permission: PermissionClient,
    /// By name.
    certificates: RefCell<BTreeMap<String, Rc<MaintainedCertificate>>>,
    /// The last warning about a limit.
    warned: RefCell<Option<Instant>>,
}

/// How looking for a certificate ended.
enum Found {
    /// It was stored.
    Stored,
    /// It was ordered.
    Ordered,
    /// There is none, and another look is useless for this time.
    Nothing(Duration),
}

impl OnDemandOrders {
    pub(crate) fn new(
        settings: AcmeSettings,
        key: KeyKind,
        demands: Arc<Demands>,
        permission: PermissionClient,
    ) -> Self {
        let (certificates, warned) = (RefCell::default(), RefCell::default());
        Self { settings, key, demands, permission, certificates, warned }
    }

    /// Looks for the certificate of a name, and renews it while it is used.
    pub(crate) async fn serve(&self, shared: &ManagerState, name: CertificateName) {
        let request = CertificateRequest { names: vec![name.clone()], key: self.key };
        let certificate = Rc::new(MaintainedCertificate::new(&request, &self.settings));
        let name = name.to_string();
        let served = match self.find(shared, &certificate, &name).await {
            Found::Stored => self.demands.state().serve(&name, true),
            Found::Ordered => self.demands.state().serve(&name, false),
            Found::Nothing(time) => {
                certificate.uninstall();
                return self.demands.state().refuse(&name, time::now(), time);
            }
        };
        if let Err(exceeded) = served {
            certificate.uninstall();
            self.warn(exceeded);
            return self.demands.state().refuse(&name, time::now(), UNANSWERED);
        }
        self.certificates.borrow_mut().insert(name.clone(), Rc::clone(&certificate));
        self.maintain(shared, &certificate, &name).await;
        self.certificates.borrow_mut().remove(&name);
        shared.reports.remove_on_demand(&name);
        certificate.uninstall();
        self.demands.state().end(&name);
    }

    async fn find(&self, shared: &ManagerState, certificate: &MaintainedCertificate, name: &str) -> Found {
        certificate.load(&shared.answers.storage, (shared.now)()).await;
        if certificate.is_valid((shared.now)()) {
            return Found::Stored;
        }
        if let CertificateStep::WaitUntil(time) = certificate.next((shared.now)()) {
            // An order has failed; it is not tried again before that time.
            return Found::Nothing(time.duration_since((shared.now)()).unwrap_or_default().min(REFUSED));
        }
        let may_order = self.demands.state().may_order(time::now());
        if let Err(exceeded) = may_order {
            return self.exceeded(exceeded);
        }
        match self.permission.ask(name).await {
            Permission::Granted => {}
            Permission::Refused => {
                tracing::debug!("{name}: no certificate is ordered: the program of `acme-on-demand` refuses it");
                return Found::Nothing(REFUSED);
            }
            Permission::Unanswered => return Found::Nothing(UNANSWERED),
        }
        let begun = self.demands.state().begin_order(name, time::now());
        if let Err(exceeded) = begun {
            return self.exceeded(exceeded);
        }
        tracing::info!("{name}: a client requests it, and a certificate is being ordered");
        let deadline = time::now() + MAX_ORDER;
        while let CertificateStep::Order(role) = certificate.next((shared.now)())
            && time::now() < deadline
        {
            certificate.order(shared, role).await;
        }
        if certificate.is_valid((shared.now)()) { Found::Ordered } else { Found::Nothing(REFUSED) }
    }

    fn exceeded(&self, exceeded: Exceeded) -> Found {
        self.warn(exceeded);
        Found::Nothing(Duration::ZERO)
    }

    /// Logs that a limit is reached; not for each of many names.
    fn warn(&self, exceeded: Exceeded) {
        let now = time::now();
        if self.warned.borrow().is_some_and(|warned| now < warned + WARNING_INTERVAL) {
            return;
        }
        *self.warned.borrow_mut() = Some(now);
        match exceeded {
            Exceeded::Rate => tracing::warn!(
                "clients request more new names than `acme-on-demand-rate` allows: orders for some are not begun"
            ),
            Exceeded::Names => tracing::warn!(
                "`acme-on-demand-limit` is reached: other names get no certificate; raise it if they are your customers'"
            ),
        }
    }

    /// Renews a certificate until it has expired, which it does if nobody uses it or the program refuses it.
    async fn maintain(&self, shared: &ManagerState, certificate: &MaintainedCertificate, name: &str) {
        while let Some(rest) = certificate.rest((shared.now)()) {
            shared.reports.set_on_demand(name, certificate.report());
            let now = (shared.now)();
            match certificate.next(now) {
                CertificateStep::Order(role) => match self.may_renew(certificate, name).await {
                    Ok(()) => {
                        certificate.order(shared, role).await;
                        if !matches!(certificate.next((shared.now)()), CertificateStep::Order(_)) {
                            self.demands.state().renewed(name);
                        }
                    }
                    Err(wait) => certificate.wait(wait.min(rest)).await,
                },
                CertificateStep::AskRenewalWindow => certificate.ask(shared, now).await,
                CertificateStep::WaitUntil(time) => {
                    certificate.wait(time.duration_since(now).unwrap_or_default().min(rest)).await
                }
            }
        }
    }

    /// Whether a renewal that is due may begin; if not, after what time to look again.
    async fn may_renew(&self, certificate: &MaintainedCertificate, name: &str) -> Result<(), Duration> {
        if certificate.is_renewal_requested() {
            return Ok(());
        }
        let is_used = self.demands.state().is_used(name);
        if !is_used {
            return Err(UNUSED);
        }
        match self.permission.ask(name).await {
            Permission::Granted => Ok(()),
            Permission::Refused => Err(REFUSED_RENEWAL),
            Permission::Unanswered => Err(UNUSED),
        }
    }

    /// The certificates that changes in the store concern.
    pub(crate) fn changed(&self, changes: &Changes) -> Vec<Rc<MaintainedCertificate>> {
        let certificates = self.certificates.borrow();
        certificates.values().filter(|certificate| changes.include(certificate.key())).cloned().collect()
    }

    /// Someone has given a command.
    pub(crate) fn apply(&self, command: &CertificateCommand) {
        if let Some(certificate) = self.certificates.borrow().get(&command.certificate.to_ascii_lowercase()) {
            certificate.request(command.action);
        }
    }
}

/// The question about a refused name is repeated after this time: a new customer does not wait long.
const REFUSED: Duration = Duration::from_secs(60);

/// After a question without an answer: short, since the names may well be customers'.
const UNANSWERED: Duration = Duration::from_secs(2);

/// A renewal that is due waits for this time if nobody has used the certificate since the last one.
const UNUSED: Duration = Duration::from_secs(600);

/// A certificate whose renewal was refused stays in use until it expires; the question is repeated after this time.
const REFUSED_RENEWAL: Duration = Duration::from_secs(3600);

/// How long an order that an interruption stops is tried; handshakes have gone on without it long before.
const MAX_ORDER: Duration = Duration::from_secs(600);

/// Strangers can reach the limits at any time, and must not fill the log.
const WARNING_INTERVAL: Duration = Duration::from_secs(600);
