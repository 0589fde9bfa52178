//! TLS 1.2 and 1.3 for servers and clients, without I/O: bytes in, bytes out. The caller owns the socket and moves
//! them.
//!
//! rustls makes the handshake; the record layer after it is this crate's own, and decrypts records where they were
//! received.
//!
//! ```no_run
//! use bytes::BytesMut;
//! use serow_tls::{TlsAcceptor, TlsSession, TlsSettings};
//!
//! // Once, for all workers:
//! let acceptor = TlsAcceptor::new(TlsSettings::self_signed()?)?;
//! // For each connection:
//! let mut session = TlsSession::accept(&acceptor)?;
//! let (mut received, mut plaintext, mut sealed) = (BytesMut::new(), BytesMut::new(), Vec::new());
//! // Whenever more bytes were appended to `received`; then `sealed` must be sent, even if this failed:
//! let events = session.receive(&mut received, &mut plaintext, &mut sealed)?;
//! if session.is_established() {
//!     session.seal(b"HTTP/1.1 200 OK\r\n\r\n", 16 * 1024, &mut sealed)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A client speaks first, and from then on does the same:
//!
//! ```no_run
//! use serow_tls::{Protocol, TlsClientSettings, TlsConnector, TlsSession};
//!
//! // Once:
//! let settings = TlsClientSettings { protocols: vec![Protocol::Http2, Protocol::Http1], ..Default::default() };
//! let connector = TlsConnector::new(settings)?;
//! // For each connection; then `sealed` must be sent:
//! let mut session = TlsSession::connect(&connector, "example.com")?;
//! let mut sealed = Vec::new();
//! session.begin(&mut sealed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | what | file |
//! | --- | --- |
//! | settings | `settings.rs`, `client_settings.rs` |
//! | what the connections of a server share, and those of a client share | `acceptor.rs`, `connector.rs` |
//! | cipher suites, key exchanges and versions | `provider.rs` |
//! | certificates: read, chosen by name, reloaded | `identity.rs`, `pem.rs`, `names.rs`, `certificates.rs` |
//! | files that are read again when they change | `file.rs`, `watch.rs` |
//! | certificates that change while the server runs | `certificate_table.rs` |
//! | certificates that are obtained when a client requests their name | `on_demand.rs`, `client_hello.rs` |
//! | a self-signed certificate for development; kept in a folder | `self_signed.rs`; `self_signed/kept.rs` |
//! | keys of session tickets from a shared secret | `tickets.rs`, `ticket_keys.rs` |
//! | verifying certificates, and the reason for a rejection | `authorities.rs`, `verifier.rs`, `client_verification.rs`, `rejection.rs` |
//! | one connection | `session.rs`, `side.rs` |
//! | its handshake, by rustls | `handshake.rs`, `connection.rs` |
//! | its record layer: data and alerts | `traffic.rs`, `record.rs`, `flood_limits.rs` |
//! | key updates and session tickets | `messages.rs`, `schedule.rs` |
//! | the time | `time.rs` |
//! | what was negotiated | `description.rs`, `protocol.rs` |
//! | errors | `error.rs`, `settings_error.rs` |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure real time"))]

mod acceptor;
mod authorities;
mod certificate_table;
mod certificates;
mod client_hello;
mod client_settings;
mod client_verification;
mod connection;
mod connector;
mod date;
mod description;
mod error;
mod file;
mod flood_limits;
mod handshake;
mod identity;
mod messages;
mod names;
mod on_demand;
mod pem;
mod provider;
mod record;
mod rejection;
mod schedule;
mod self_signed;
mod session;
mod settings;
mod settings_error;
mod side;
mod ticket_keys;
mod tickets;
mod time;
mod traffic;
mod validity;
mod verifier;
mod watch;

pub use acceptor::TlsAcceptor;
pub use certificate_table::{CertificateTable, ChallengeLookup, ServerCertificate};
pub use client_settings::{Resumption, TlsClientSettings, Trust};
pub use connector::TlsConnector;
pub use description::TlsDescription;
pub use error::{Fault, TlsError, UnexpectedProtocol};
pub use on_demand::{CertificateDemand, CertificatePending, OnDemandCertificates};
pub use record::{MAX_RECORD_PLAINTEXT, RECORD_OVERHEAD};
pub use self_signed::{KeepError, SelfSigned, kept_text};
pub use serow_message::Protocol;
pub use session::{Received, TlsSession};
pub use settings::{
    CertificateFiles, Certificates, ClientCertificates, TlsSettings, TlsVersion, TlsVersions, UnknownNames,
};
pub use settings_error::TlsSettingsError;
pub use tickets::SharedSecret;
