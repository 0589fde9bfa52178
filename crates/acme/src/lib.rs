//! Certificates by ACME (RFC 8555): a manager that orders them, has their names validated, stores, installs and renews
//! them.
//!
//! [`instant_acme`] speaks the protocol; this crate decides what to ask when, and survives whatever happens meanwhile.
//!
//! ```no_run
//! use serow_acme::{AcmeSettings, Authority, CertificateManager, CertificateRequest, ChallengeSettings,
//!     StoreSettings};
//! use serow_tls::{CertificateTable, TlsSettings};
//!
//! let table = CertificateTable::default();
//! let manager = CertificateManager::open(AcmeSettings {
//!     certificates: vec![CertificateRequest::new(vec!["example.com".parse()?])],
//!     authority: Authority::new(Authority::LETS_ENCRYPT),
//!     fallback: None,
//!     store: StoreSettings::Directory("/var/lib/serow/acme".into()),
//!     challenges: ChallengeSettings { tls_alpn: true, http: true, dns: None },
//!     table: table.clone(),
//!     on_demand: None,
//! })?;
//! let tls = TlsSettings::managed(Vec::new(), table); // for the server
//! let running = manager.start()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | what | file |
//! | --- | --- |
//! | settings: certificates, the authority, challenges | `settings.rs`, `name.rs` |
//! | the manager: a thread with a task for each certificate | `manager.rs`, `certificate.rs` |
//! | what is to be done for a certificate, and when: pure | `state.rs`, `schedule.rs` |
//! | certificates that clients' requests cause | `on_demand.rs`, `on_demand/` |
//! | one order, which survives a crash | `order.rs`, `issued.rs`, `chain.rs` |
//! | the authority and the account there; requests to it | `authority.rs`, `account.rs`; `transport.rs`, `response_notes.rs` |
//! | answers to those who validate names | `challenge.rs`, `challenge/` |
//! | where all that is stored; locks; encryption | `storage.rs`, `storage/` |
//! | why an order failed | `failure.rs` |
//! | the certificate until the first one is issued | `placeholder.rs` |
//! | the state of all certificates, for the status; commands | `report.rs`; `control.rs` |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure real time"))]

mod account;
mod authority;
mod certificate;
mod chain;
mod challenge;
mod control;
mod failure;
mod issued;
mod manager;
mod on_demand;
mod order;
mod placeholder;
mod report;
mod response_notes;
mod schedule;
mod settings;
#[cfg(test)]
mod simulation;
mod state;
mod storage;
mod transport;

/// The target of events that a log shows although it leaves out others of their level: a certificate is new.
pub const NOTICE: &str = "serow::notice";

pub use serow_dns::tsig::{KeyFileError, TsigKey};
pub use serow_message::{CertificateName, CertificateNameError};

pub use self::{
    challenge::{ChallengeSettings, DnsCommand, DnsPersist, DnsProvider, DnsUpdate, HttpChallenges},
    control::{CertificateAction, CertificateCommand, CertificateControl},
    manager::{AcmeError, CertificateManager, PreparedManager, RunningManager},
    on_demand::{OnDemand, OnDemandPermission, OrderRate, PermissionFunction},
    report::CertificateReport,
    schedule::Validity,
    settings::{AcmeSettings, Authority, CertificateRequest, ExternalAccount, KeyKind},
    storage::{RedisStoreSettings, StorageError, StoreSecret, StoreSecretError, StoreSettings},
};
