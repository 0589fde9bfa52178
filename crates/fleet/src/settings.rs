//! How to reach Redis.

use std::{
    error::Error,
    fmt, fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, pem::PemObject};

use crate::RedisUrl;

/// How to reach Redis, and what belongs to this fleet in it.
#[derive(Clone)]
pub struct FleetSettings {
    /// One server or its sentinels; several nodes of a cluster.
    pub urls: Vec<RedisUrl>,
    /// In place of those in the URLs.
    pub username: Option<String>,
    /// In place of those in the URLs.
    pub password: Option<String>,
    /// The prefix of all keys' names.
    pub prefix: String,
    /// How long an answer may take.
    pub timeout: Duration,
    /// The name of this server among the others; nothing for that of the machine.
    pub name: Option<String>,
    /// How many servers share the limits, until Redis has said it.
    pub instances: u32,
    /// How connections are encrypted, if they are.
    pub tls: Option<Arc<ClientConfig>>,
}

/// Why a file cannot be used: its name and the remedy.
#[derive(Debug)]
pub struct FleetFileError {
    path: PathBuf,
    problem: &'static str,
    source: Option<io::Error>,
}

impl FleetSettings {
    /// A fleet at these URLs.
    #[must_use]
    pub fn new(urls: Vec<RedisUrl>) -> Self {
        Self {
            urls,
            username: None,
            password: None,
            prefix: "serow:".to_owned(),
            timeout: DEFAULT_TIMEOUT,
            name: None,
            instances: 1,
            tls: None,
        }
    }

    /// Reads a password from a file. The line break at its end does not count.
    ///
    /// # Errors
    ///
    /// The file cannot be read, every user can read it, or it has no password.
    pub fn read_password(path: &Path) -> Result<String, FleetFileError> {
        let content = fs::read_to_string(path).map_err(|error| FleetFileError::unreadable(path, error))?;
        let metadata = fs::metadata(path).map_err(|error| FleetFileError::unreadable(path, error))?;
        if metadata.mode() & 0o007 != 0 {
            return Err(FleetFileError::new(path, "every user can read this password: run chmod 600 on it"));
        }
        match content.trim_end_matches(['\r', '\n']) {
            "" => Err(FleetFileError::new(path, "it is empty: write the password of Redis into it")),
            password => Ok(password.to_owned()),
        }
    }

    /// Encryption where the certificate of Redis is by an authority in this file, or by one that the system trusts.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no certificate.
    pub fn encryption(authorities: Option<&Path>) -> Result<Arc<ClientConfig>, FleetFileError> {
        let mut roots = RootCertStore::empty();
        match authorities {
            None => {
                // Where there are none, connecting says that the certificate's authority is unknown.
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
            Some(path) => {
                let content = fs::read(path).map_err(|error| FleetFileError::unreadable(path, error))?;
                let certificates = CertificateDer::pem_slice_iter(&content).filter_map(Result::ok);
                if roots.add_parsable_certificates(certificates).0 == 0 {
                    return Err(FleetFileError::new(path, "there is no certificate in it: write one in PEM"));
                }
            }
        }
        Ok(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
    }

    /// Where Redis is, without a password.
    #[must_use]
    pub fn place(&self) -> String {
        let urls: Vec<String> = self.urls.iter().map(ToString::to_string).collect();
        urls.join(", ")
    }

    /// The name of a key of this fleet. In a cluster, what is in braces decides about the node: all keys are in one slot,
    /// since one call of a script changes many of them.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}{{fleet}}:{name}", self.prefix)
    }
}

impl fmt::Debug for FleetSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetSettings").field("place", &self.place()).finish_non_exhaustive()
    }
}

impl FleetFileError {
    fn new(path: &Path, problem: &'static str) -> Self {
        Self { path: path.to_owned(), problem, source: None }
    }

    fn unreadable(path: &Path, source: io::Error) -> Self {
        Self { path: path.to_owned(), problem: "it cannot be read", source: Some(source) }
    }
}

impl fmt::Display for FleetFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)?;
        self.source.iter().try_for_each(|source| write!(f, " ({source})"))
    }
}

impl Error for FleetFileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

/// Redis answers within a millisecond; one that takes so long is treated as if it were away.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_millis(500);
