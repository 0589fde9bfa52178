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
//! | one connection | `session.rs` |
//! | what was agreed upon | `description.rs`, `protocol.rs` |
//! | what went wrong | `error.rs` |

mod acceptor;
mod description;
mod error;
mod protocol;
mod session;
mod settings;

pub use acceptor::TlsAcceptor;
pub use description::TlsDescription;
pub use error::{Fault, TlsError, TlsSettingsError};
pub use protocol::Protocol;
pub use session::{LARGEST_RECORD, RECORD_OVERHEAD, Received, TlsSession};
pub use settings::{
    CertificateFiles, Certificates, ClientCertificates, SelfSigned, TlsSettings, TlsVersion, TlsVersions,
};
