//! Session tickets with the keys of a file's secret, for all processes and machines that have the same file.

use std::{
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

/// Makes and opens session tickets with keys from the secret in a file, which is read again when it changes.
#[derive(Debug)]
pub(crate) struct SharedTickets {
    path: PathBuf,
    file: Checks<(FileWatch, Vec<u8>)>,
    keys: RwLock<TicketKeys>,
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
        Ok(Self { path: path.to_owned(), file: Checks::new((watch, secret)), keys })
    }

    /// Checks the file, unless that was done within the last second.
    pub(crate) fn reload_if_due(&self, now: Instant) {
        self.file.run_if_due(now, |(watch, secret)| self.renew(watch, secret));
    }

    /// Checks the file now.
    pub(crate) fn reload_now(&self) {
        self.file.run_now(|(watch, secret)| self.renew(watch, secret));
    }

    fn renew(&self, watch: &mut FileWatch, secret: &mut Vec<u8>) {
        let Some(new) = watch.renew("the previous secret stays in use", || read(&self.path)) else { return };
        if new != *secret {
            tracing::info!("{}: the new secret of session tickets is in use", self.path.display());
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
