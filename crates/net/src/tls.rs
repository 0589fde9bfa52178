//! TLS 1.2 and 1.3 on the server's side: bytes in, bytes out. Whoever has the socket moves them.
//!
//! ```no_run
//! use bytes::BytesMut;
//! use serow_net::tls::{TlsAcceptor, TlsSession, TlsSettings};
//!
//! // Once, for all workers:
//! let acceptor = TlsAcceptor::new(TlsSettings::self_signed()?)?;
//! // For each connection:
//! let mut session = TlsSession::accept(&acceptor)?;
//! let (mut received, mut plaintext, mut sealed) = (BytesMut::new(), BytesMut::new(), Vec::new());
//! // Whenever bytes were received behind `received`; then `sealed` must be sent, even if this failed:
//! let news = session.receive(&mut received, &mut plaintext, &mut sealed)?;
//! if session.is_established() {
//!     session.seal(b"HTTP/1.1 200 OK\r\n\r\n", 16 * 1024, &mut sealed)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | what | file |
//! | --- | --- |
//! | what a user sets | `settings.rs` |
//! | what the workers share | `acceptor.rs` |
//! | certificates: read, chosen by name, read anew | `pair.rs`, `names.rs`, `certificates.rs`, `file.rs` |
//! | one for development | `self_signed.rs` |
//! | one connection | `session.rs` |
//! | its handshake, which is rustls's work | `handshake.rs` |
//! | what comes after: data, alerts, new keys | `traffic.rs`, `key_update.rs`, `record.rs` |
//! | what was agreed upon | `description.rs`, `protocol.rs` |
//! | what went wrong | `error.rs`, `settings_error.rs` |

mod acceptor;
mod certificates;
mod description;
mod error;
mod file;
mod handshake;
mod key_update;
mod names;
mod pair;
mod protocol;
mod record;
mod self_signed;
mod session;
mod settings;
mod settings_error;
mod traffic;

pub use acceptor::TlsAcceptor;
pub use description::TlsDescription;
pub use error::{Fault, TlsError};
pub use protocol::Protocol;
pub use record::{LARGEST_RECORD, RECORD_OVERHEAD};
pub use self_signed::SelfSigned;
pub use session::{Received, TlsSession};
pub use settings::{CertificateFiles, Certificates, ClientCertificates, TlsSettings, TlsVersion, TlsVersions};
pub use settings_error::TlsSettingsError;
