//! TLS 1.2 and 1.3 on either side: bytes in, bytes out. Whoever has the socket moves them.
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
//! // Whenever bytes were received behind `received`; then `sealed` must be sent, even if this failed:
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
//! | what a user sets | `settings.rs`, `client_settings.rs` |
//! | what the connections of a server share, and those of a client | `acceptor.rs`, `connector.rs` |
//! | what both can speak | `provider.rs` |
//! | certificates: read, chosen by name, read anew | `identity.rs`, `names.rs`, `certificates.rs`, `file.rs` |
//! | one for development | `self_signed.rs` |
//! | whose certificates are believed, and why one is not | `authorities.rs`, `verifier.rs`, `rejection.rs` |
//! | one connection | `session.rs`, `side.rs` |
//! | its handshake, which is rustls's work | `handshake.rs`, `connection.rs` |
//! | what comes after: data and alerts | `traffic.rs`, `record.rs`, `flood_limits.rs` |
//! | new keys, and tickets to go on later | `messages.rs`, `schedule.rs` |
//! | what was agreed upon | `description.rs`, `protocol.rs` |
//! | what went wrong | `error.rs`, `settings_error.rs` |
#![forbid(unsafe_code)]

mod acceptor;
mod authorities;
mod certificates;
mod client_settings;
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
mod pem;
mod protocol;
mod provider;
mod record;
mod rejection;
mod schedule;
mod self_signed;
mod session;
mod settings;
mod settings_error;
mod side;
mod traffic;
mod validity;
mod verifier;

pub use acceptor::TlsAcceptor;
pub use client_settings::{Resumption, TlsClientSettings, Trust};
pub use connector::TlsConnector;
pub use description::TlsDescription;
pub use error::{Fault, TlsError, UnexpectedProtocol};
pub use protocol::Protocol;
pub use record::{MAX_RECORD_PLAINTEXT, RECORD_OVERHEAD};
pub use self_signed::SelfSigned;
pub use session::{Received, TlsSession};
pub use settings::{CertificateFiles, Certificates, ClientCertificates, TlsSettings, TlsVersion, TlsVersions};
pub use settings_error::TlsSettingsError;
