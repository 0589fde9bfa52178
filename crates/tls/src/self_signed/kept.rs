//! A self-signed certificate that is kept in a folder, so that clients that trust it still do after a
//! restart.
//!
//! The folder belongs to the user of this process, and others may not write to it; the key is readable to that user
//! only. Processes that start at the same time take turns (flock), so all use the certificate of the first. Files are
//! replaced by renaming, and are never followed if they are symbolic links. A certificate or key that cannot be used is
//! replaced.

use std::{
    error::Error,
    fmt,
    fs::{self, DirBuilder, File},
    io::{self, Read, Write},
    net::IpAddr,
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt, MetadataExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, SystemTime},
};

use data_encoding::BASE64;
use rustix::{
    fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, renameat, unlinkat},
    io::Errno,
    process::geteuid,
};
use rustls::{
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime},
    sign::CertifiedKey,
};

use super::{NAMES, SelfSigned};
use crate::{TlsSettingsError, pem, provider::provider, time, validity};

/// Why a certificate cannot be kept.
#[non_exhaustive]
pub enum KeepError {
    /// The folder cannot be created or opened.
    Folder(PathBuf, io::Error),
    /// The folder, or the one in which it would be created, belongs to another user.
    Owner(PathBuf, u32),
    /// Other users may write to the folder.
    WritableToOthers(PathBuf),
    /// Another process keeps the folder locked.
    Locked(PathBuf),
    /// A file cannot be written.
    Write(PathBuf, io::Error),
    /// There is no certificate to keep.
    Generate(TlsSettingsError),
}

impl SelfSigned {
    /// The certificate that is kept in this folder. It is generated if there is none, if it expires within 30 days, if it
    /// has other names, or if it cannot be used; the folder is created.
    ///
    /// # Errors
    ///
    /// The folder does not belong to the effective user of this process, others may write to it, or a new certificate
    /// cannot be written.
    pub fn kept_in(folder: &Path) -> Result<Self, KeepError> {
        Self::kept(folder, time::wall())
    }

    fn kept(folder: &Path, now: SystemTime) -> Result<Self, KeepError> {
        let folder = KeptFolder::open(folder)?;
        if let Some(one) = folder.read().filter(|one| one.is_usable(now)) {
            return Ok(one);
        }
        let one = Self::generate(now).map_err(KeepError::Generate)?;
        folder.write(&one)?;
        Ok(Self { file: Some(folder.path.join(CERTIFICATE)), ..one })
    }

    /// Whether it can be used for a while: its key is its own, its names are the current ones, and it is valid.
    fn is_usable(&self, now: SystemTime) -> bool {
        let key = PrivateKeyDer::Pkcs8(self.key.clone_key());
        if CertifiedKey::from_der(vec![self.certificate.clone()], key, &provider()).is_err() {
            return false;
        }
        let names = subject_alternative_names();
        let has_names = self.certificate.windows(names.len()).any(|window| window == names);
        let chain = std::slice::from_ref(&self.certificate);
        let is_valid = |time: SystemTime| {
            let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            validity::problem(chain, UnixTime::since_unix_epoch(since)).is_none()
        };
        has_names && is_valid(now) && is_valid(now + RENEWED_BEFORE)
    }
}

/// A text that is kept in a file of a folder, readable to this user only. It is made if there is none of use; the folder
/// is created.
///
/// # Errors
///
/// As those of [`SelfSigned::kept_in`].
pub fn kept_text(
    folder: &Path,
    name: &str,
    is_usable: impl FnOnce(&[u8]) -> bool,
    make: impl FnOnce() -> String,
) -> Result<Vec<u8>, KeepError> {
    let folder = KeptFolder::open(folder)?;
    if let Some(text) = folder.content(name, Mode::RWXG | Mode::RWXO).filter(|text| is_usable(text)) {
        return Ok(text);
    }
    let text = make();
    folder.replace(name, &text)?;
    Ok(text.into_bytes())
}

/// The folder, open and locked.
struct KeptFolder {
    path: PathBuf,
    /// The lock ends with it.
    folder: OwnedFd,
}

impl KeptFolder {
    fn open(path: &Path) -> Result<Self, KeepError> {
        let failed = |error: io::Error| KeepError::Folder(path.to_owned(), error);
        let own = geteuid().as_raw();
        // In the home of somebody else, root would create what its owner cannot write to.
        if let Some(above) = path.ancestors().skip(1).find(|above| above.exists()).filter(|_| !path.exists()) {
            match fs::metadata(above).map_err(failed)?.uid() {
                owner if owner == own || owner == ROOT => {}
                owner => return Err(KeepError::Owner(above.to_owned(), owner)),
            }
        }
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let folder = openat(CWD, path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
        // Of what was opened: the path may lead elsewhere by now.
        let found = fstat(&folder).map_err(|error| failed(error.into()))?;
        if found.st_uid != own {
            return Err(KeepError::Owner(path.to_owned(), found.st_uid));
        }
        if Mode::from_raw_mode(found.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
            return Err(KeepError::WritableToOthers(path.to_owned()));
        }
        let folder = Self { path: path.to_owned(), folder };
        folder.lock()?;
        Ok(folder)
    }

    /// Waits for others that are at it. One that was stopped meanwhile must not keep this server from its start.
    fn lock(&self) -> Result<(), KeepError> {
        for _ in 0..LOCK_ATTEMPTS {
            match flock(&self.folder, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => thread::sleep(LOCK_PAUSE),
                outcome => return outcome.map_err(|error| KeepError::Folder(self.path.clone(), error.into())),
            }
        }
        Err(KeepError::Locked(self.path.clone()))
    }

    /// Reads the certificate and the key; `None` if they cannot be used.
    fn read(&self) -> Option<SelfSigned> {
        let certificate = self.content(CERTIFICATE, Mode::empty())?;
        let key = self.content(KEY, Mode::RWXG | Mode::RWXO)?;
        let chain = pem::chain(Path::new(CERTIFICATE), &certificate).ok()?;
        let certificate: CertificateDer<'static> = chain.into_iter().next()?;
        let PrivateKeyDer::Pkcs8(key) = pem::key(Path::new(KEY), &key).ok()? else { return None };
        Some(SelfSigned { certificate, key: Arc::new(key), file: Some(self.path.join(CERTIFICATE)) })
    }

    /// The content of a file of this user that grants none of these rights.
    fn content(&self, name: &str, refused: Mode) -> Option<Vec<u8>> {
        // A pipe would keep whoever opens it waiting.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.folder, name, flags, Mode::empty()).ok()?;
        let found = fstat(&file).ok()?;
        let is_own =
            found.st_uid == geteuid().as_raw() && FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        if !is_own || Mode::from_raw_mode(found.st_mode).intersects(refused) {
            return None;
        }
        let mut content = Vec::new();
        File::from(file).take(MAX_LENGTH).read_to_end(&mut content).ok()?;
        Some(content)
    }

    /// The key first: after a crash between the two, they do not fit, and are replaced.
    fn write(&self, one: &SelfSigned) -> Result<(), KeepError> {
        self.replace(KEY, &pem_text("PRIVATE KEY", one.key.secret_pkcs8_der()))?;
        self.replace(CERTIFICATE, &pem_text("CERTIFICATE", &one.certificate))
    }

    fn replace(&self, name: &str, content: &str) -> Result<(), KeepError> {
        let new = format!("{name}.new");
        let outcome = self.create(&new, content).and_then(|()| Ok(renameat(&self.folder, &new, &self.folder, name)?));
        outcome.map_err(|error| {
            // Where it was not created, there is nothing to remove.
            let _ = unlinkat(&self.folder, &new, AtFlags::empty());
            KeepError::Write(self.path.join(name), error)
        })
    }

    fn create(&self, name: &str, content: &str) -> io::Result<()> {
        // Of a process that crashed: this one has the lock.
        match unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.folder, name, flags, Mode::RUSR | Mode::WUSR)?;
        File::from(file).write_all(content.as_bytes())
    }
}

/// The extension with the current names, in DER (RFC 5280 §4.2.1.6): a certificate with others does not contain it.
fn subject_alternative_names() -> Vec<u8> {
    let names = NAMES.iter().flat_map(|name| {
        let (tag, content) = match name.parse() {
            Ok(IpAddr::V4(address)) => (0x87, address.octets().to_vec()),
            Ok(IpAddr::V6(address)) => (0x87, address.octets().to_vec()),
            Err(_) => (0x82, name.as_bytes().to_vec()),
        };
        der(tag, content)
    });
    der(0x30, names.collect())
}

/// A value with its tag and its length, which a single byte can say.
fn der(tag: u8, content: Vec<u8>) -> Vec<u8> {
    debug_assert!(content.len() < 128);
    [vec![tag, content.len() as u8], content].concat()
}

/// RFC 7468: lines of 64 characters.
fn pem_text(label: &str, der: &[u8]) -> String {
    // 48 bytes are 64 characters.
    let lines: String = der.chunks(48).map(|chunk| format!("{}\n", BASE64.encode(chunk))).collect();
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}

// As its message: `fn main() -> Result<…>` prints an error so.
impl fmt::Debug for KeepError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for KeepError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path, error) => write!(formatter, "{}: this folder cannot be used: {error}", path.display()),
            Self::Owner(path, owner) => {
                write!(formatter, "{}: this folder belongs to another user, with the uid {owner}", path.display())
            }
            Self::WritableToOthers(path) => {
                let path = path.display();
                write!(formatter, "{path}: other users may write to this folder: forbid it, with chmod go-w {path}")
            }
            Self::Locked(path) => write!(formatter, "{}: another process keeps this folder locked", path.display()),
            Self::Write(path, error) => write!(formatter, "{}: this file cannot be written: {error}", path.display()),
            Self::Generate(error) => error.fmt(formatter),
        }
    }
}

impl Error for KeepError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Folder(_, error) | Self::Write(_, error) => Some(error),
            Self::Generate(error) => Some(error),
            Self::Owner(..) | Self::WritableToOthers(_) | Self::Locked(_) => None,
        }
    }
}

/// The names of the files.
const CERTIFICATE: &str = "self-signed.pem";
const KEY: &str = "self-signed.key";

/// Nothing else is as long as this; the certificate takes 600 bytes.
const MAX_LENGTH: u64 = 1 << 16;

/// A server that starts now, and runs for a month, does not present an expired one.
const RENEWED_BEFORE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Two seconds together; the others need some milliseconds.
const LOCK_ATTEMPTS: u32 = 200;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// The user that may write everywhere anyway.
const ROOT: u32 = 0;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use tempfile::TempDir;

    use super::*;

    fn folder() -> (TempDir, PathBuf) {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("state/serow");
        (above, folder)
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_same_certificate_is_used_again() {
        let (_above, folder) = folder();
        let first = SelfSigned::kept_in(&folder).unwrap();
        assert_eq!(first.file(), Some(&*folder.join(CERTIFICATE)));
        assert_eq!(SelfSigned::kept_in(&folder).unwrap().fingerprint(), first.fingerprint());
        assert_eq!([mode(&folder), mode(&folder.join(KEY)), mode(&folder.join(CERTIFICATE))], [0o700, 0o600, 0o600]);
        let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        // Its owner may hide it from itself as well, as read-only media do: it is only read.
        set_mode(&folder, 0o500);
        assert_eq!(SelfSigned::kept_in(&folder).unwrap().fingerprint(), first.fingerprint());
        set_mode(&folder, 0o700);
    }

    #[test]
    fn it_is_renewed_before_it_expires() {
        let (_above, folder) = folder();
        let now = SystemTime::now();
        let day = Duration::from_secs(24 * 60 * 60);
        let first = SelfSigned::kept(&folder, now).unwrap().fingerprint();
        assert_eq!(SelfSigned::kept(&folder, now + 334 * day).unwrap().fingerprint(), first);
        let second = SelfSigned::kept(&folder, now + 336 * day).unwrap().fingerprint();
        assert_ne!(second, first);
        assert_eq!(SelfSigned::kept(&folder, now + 336 * day).unwrap().fingerprint(), second);
        // The clock was ahead: it is not valid yet.
        assert_ne!(SelfSigned::kept(&folder, now).unwrap().fingerprint(), second);
    }

    #[test]
    fn unusable_files_are_replaced() {
        let (_above, folder) = folder();
        let elsewhere = tempfile::tempdir().unwrap();
        let other = elsewhere.path().join("other");
        SelfSigned::kept_in(&other).unwrap();
        let [certificate, key] = [CERTIFICATE, KEY].map(|name| folder.join(name));
        let names = |names: &[&str]| {
            let mut parameters =
                rcgen::CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
            (parameters.not_before, parameters.not_after) =
                (SystemTime::now().into(), (SystemTime::now() + 60 * RENEWED_BEFORE).into());
            let pair = rcgen::KeyPair::generate().unwrap();
            fs::write(&key, pem_text("PRIVATE KEY", &pair.serialize_der())).unwrap();
            fs::write(&certificate, pem_text("CERTIFICATE", parameters.self_signed(&pair).unwrap().der())).unwrap();
        };
        let damages: [(&str, &dyn Fn()); 10] = [
            ("no key", &|| fs::remove_file(&key).unwrap()),
            ("an empty key", &|| fs::write(&key, "").unwrap()),
            ("an empty certificate", &|| fs::write(&certificate, "").unwrap()),
            ("the key of another", &|| {
                fs::copy(other.join(KEY), &key).unwrap();
            }),
            ("a key that others may read", &|| set_mode(&key, 0o640)),
            ("a key elsewhere", &|| {
                fs::rename(&key, elsewhere.path().join("moved")).unwrap();
                symlink(elsewhere.path().join("moved"), &key).unwrap();
            }),
            ("a device", &|| {
                fs::remove_file(&key).unwrap();
                symlink("/dev/zero", &key).unwrap();
            }),
            ("fewer names", &|| names(&["localhost", "127.0.0.1", "::1"])),
            ("other addresses", &|| names(&["localhost", "*.localhost", "127.0.0.1", "::2"])),
            ("more names", &|| names(&["localhost", "*.localhost", "127.0.0.1", "::1", "example.com"])),
        ];
        for (what, damage) in damages {
            let before = SelfSigned::kept_in(&folder).unwrap().fingerprint();
            damage();
            let after = SelfSigned::kept_in(&folder).unwrap().fingerprint();
            assert_ne!(after, before, "{what}");
            assert_eq!(SelfSigned::kept_in(&folder).unwrap().fingerprint(), after, "{what}");
            assert!(fs::symlink_metadata(&key).unwrap().is_file() && mode(&key) == 0o600, "{what}");
        }
        // The file that the link led to is unchanged.
        assert!(fs::read_to_string(elsewhere.path().join("moved")).unwrap().starts_with("-----BEGIN PRIVATE KEY"));
        // Only the names were wrong.
        SelfSigned::kept_in(&folder).unwrap();
        names(&NAMES);
        let written = fs::read(&certificate).unwrap();
        SelfSigned::kept_in(&folder).unwrap();
        assert_eq!(fs::read(&certificate).unwrap(), written);
    }

    #[test]
    fn processes_that_start_at_once_agree() {
        let (_above, folder) = folder();
        let start = || SelfSigned::kept_in(&folder).unwrap().fingerprint();
        let fingerprints: Vec<_> = thread::scope(|scope| {
            let starts: Vec<_> = (0..16).map(|_| scope.spawn(start)).collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        assert!(fingerprints.iter().all(|other| *other == fingerprints[0]), "{fingerprints:?}");
    }

    #[test]
    fn folders_that_others_control_are_not_used() {
        let (above, folder) = folder();
        SelfSigned::kept_in(&folder).unwrap();
        for mode in [0o770, 0o702, 0o1777] {
            set_mode(&folder, mode);
            let error = SelfSigned::kept_in(&folder).unwrap_err();
            assert!(matches!(error, KeepError::WritableToOthers(_)), "{mode:o}: {error}");
        }
        // Somebody else's: of the root user, or of another one where this is root.
        if geteuid().is_root() {
            let owned = above.path().join("owned");
            fs::create_dir(&owned).unwrap();
            std::os::unix::fs::chown(&owned, Some(7), None).unwrap();
            for folder in [owned.clone(), owned.join("state/serow")] {
                let error = SelfSigned::kept_in(&folder).unwrap_err();
                assert!(matches!(error, KeepError::Owner(_, 7)), "{error}");
            }
            assert!(!owned.join("state").exists());
        } else {
            assert!(matches!(SelfSigned::kept_in(Path::new("/")).unwrap_err(), KeepError::Owner(_, 0)));
        }
        let file = above.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(SelfSigned::kept_in(&file.join("serow")).unwrap_err(), KeepError::Folder(..)));
    }
}
