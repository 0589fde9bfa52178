//! Session tickets with keys of a shared secret: of a file, for all processes and machines that have it, or of the process
//! that has started several.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
    time::Instant,
};

use rustls::{pki_types::UnixTime, server::ProducesTickets};

use crate::{
    ClientCertificates, TlsSettingsError, file,
    ticket_keys::{LIFETIME, TicketKeys},
    watch::{Checks, FileWatch, Read},
};

/// A secret that the processes of a server share in memory.
#[derive(Clone, Copy)]
pub struct SharedSecret(pub [u8; MIN_SECRET]);

/// Makes and opens session tickets with keys from a secret.
#[derive(Debug)]
pub(crate) struct SharedTickets {
    /// Where the secret is read again when it changes.
    file: Option<TicketFile>,
    keys: RwLock<TicketKeys>,
}

#[derive(Debug)]
struct TicketFile {
    path: PathBuf,
    checks: Checks<(FileWatch, Vec<u8>)>,
}

impl SharedTickets {
    /// Reads the secret.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, is too short, or may be read by others.
    pub(crate) fn new(path: &Path, clients: &ClientCertificates) -> Result<Self, TlsSettingsError> {
        let (watch, secret) = FileWatch::new(vec![path.to_owned()], || read(path))?;
        let keys = RwLock::new(TicketKeys::new(&secret, purpose(clients), UnixTime::now().as_secs()));
        let file = TicketFile { path: path.to_owned(), checks: Checks::new((watch, secret)) };
        Ok(Self { file: Some(file), keys })
    }

    /// With a secret in memory, for a server that does not request the certificates of clients: sessions that were
    /// verified with other settings must not be resumed.
    pub(crate) fn of_memory(secret: &SharedSecret) -> Self {
        let keys = TicketKeys::new(&secret.0, purpose(&ClientCertificates::Off), UnixTime::now().as_secs());
        Self { file: None, keys: RwLock::new(keys) }
    }

    /// Checks the file, unless that was done within the last second.
    pub(crate) fn reload_if_due(&self, now: Instant) {
        if let Some(file) = &self.file {
            file.checks.run_if_due(now, |(watch, secret)| self.renew(&file.path, watch, secret));
        }
    }

    /// Checks the file now.
    pub(crate) fn reload_now(&self) {
        if let Some(file) = &self.file {
            file.checks.run_now(|(watch, secret)| self.renew(&file.path, watch, secret));
        }
    }

    fn renew(&self, path: &Path, watch: &mut FileWatch, secret: &mut Vec<u8>) {
        let Some(new) = watch.renew("the previous secret stays in use", || read(path)) else { return };
        if new != *secret {
            tracing::info!("{}: the new secret of session tickets is in use", path.display());
            let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
            keys.replace(&new, UnixTime::now().as_secs());
            *secret = new;
        }
    }

    /// Calls this function with the keys of this time.
    fn with_keys<T>(&self, function: impl FnOnce(&TicketKeys) -> T) -> T {
        let now = UnixTime::now().as_secs();
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        if keys.are_of(now) {
            return function(&keys);
        }
        drop(keys);
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.advance(now);
        function(&keys)
    }
}

impl ProducesTickets for SharedTickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        LIFETIME
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.with_keys(|keys| keys.seal(plain))
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.with_keys(|keys| keys.open(cipher))
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedSecret(…)")
    }
}

/// A server that requires client certificates must not resume the sessions of one that does not: they have none.
fn purpose(clients: &ClientCertificates) -> &'static str {
    match clients {
        ClientCertificates::Off => "without client certificates",
        ClientCertificates::Optional(_) => "with optional client certificates",
        ClientCertificates::Required(_) => "with client certificates",
    }
}

fn read(path: &Path) -> Read<Vec<u8>> {
    let (version, secret) = file::read(path).map_err(|error| match error {
        TlsSettingsError::Empty(path) => TlsSettingsError::ShortTicketSecret(path),
        error => error,
    })?;
    if version.is_open_to_others() {
        return Err(TlsSettingsError::PublicTicketSecret(path.to_owned()));
    }
    if secret.len() < MIN_SECRET {
        return Err(TlsSettingsError::ShortTicketSecret(path.to_owned()));
    }
    Ok((vec![version], secret))
}

/// As many bytes as the keys have (AES-256): a shorter secret could be guessed before a key.
pub(crate) const MIN_SECRET: usize = 32;
