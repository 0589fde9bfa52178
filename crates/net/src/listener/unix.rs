//! Listening on a unix socket, and maintaining its file.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, socket_with};

use super::bind_error::{Cause, MAX_UNIX_PATH};
use super::{ListenOptions, Listener, backlog};
use crate::Address;

/// Opens a socket that listens on `path`, or in the abstract namespace if that begins with `@`.
pub(super) fn listen(path: &Path, options: &ListenOptions) -> Result<Listener, Cause> {
    let address = socket_address(path)?;
    let is_file = address.abstract_name().is_none();
    if is_file {
        remove_stale_socket(path, &address)?;
    }
    let socket = open()?;
    bind(&socket, &address).map_err(|errno| cause(errno, path))?;
    let file = if is_file { Some(Arc::new(SocketFile::new(path)?)) } else { None };
    if let Some(mode) = options.unix_mode.filter(|_| is_file) {
        // Clients cannot connect before `listen`, so there is no moment with the wrong permissions.
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(Cause::Kernel)?;
    }
    rustix::net::listen(&socket, backlog(options)).map_err(Cause::kernel)?;
    Ok(Listener::new(Address::Unix(path.to_owned()), file, socket))
}

fn socket_address(path: &Path) -> Result<SocketAddrUnix, Cause> {
    let bytes = path.as_os_str().as_bytes();
    let abstract_name = bytes.strip_prefix(b"@");
    if bytes.is_empty() || abstract_name == Some(b"") {
        return Err(Cause::EmptyPath);
    }
    if bytes.len() > MAX_UNIX_PATH {
        return Err(Cause::PathTooLong(bytes.len()));
    }
    abstract_name.map_or_else(|| SocketAddrUnix::new(path), SocketAddrUnix::new_abstract_name).map_err(Cause::kernel)
}

fn open() -> Result<OwnedFd, Cause> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(Cause::kernel)
}

/// Removes a socket that a crashed server left at `path`, and nothing else.
fn remove_stale_socket(path: &Path, address: &SocketAddrUnix) -> Result<(), Cause> {
    let Some(found) = Identity::of(path)? else {
        return Ok(());
    };
    if !found.is_socket {
        return Err(Cause::NotASocketFile);
    }
    match connect(&open()?, address) {
        // EAGAIN: alive, with a full queue. EPROTOTYPE: alive, and not a stream.
        Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS | Errno::PROTOTYPE) => Err(Cause::InUse),
        Err(Errno::CONNREFUSED) => {
            // Another start of this program may have done the same in the meantime, and be listening by now.
            if Identity::of(path)?.as_ref() == Some(&found) {
                fs::remove_file(path).map_err(|error| cause_of(error, path))?;
            }
            Ok(())
        }
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(cause(errno, path)),
    }
}

/// The file of a listening unix socket; dropping it removes the file.
#[derive(Debug)]
pub(super) struct SocketFile {
    /// Absolute, so that a change of the working directory does not lead elsewhere.
    path: PathBuf,
    identity: Identity,
}

impl SocketFile {
    fn new(path: &Path) -> Result<Self, Cause> {
        let path = std::path::absolute(path).map_err(Cause::Kernel)?;
        // Another process removed it already: no client can ever connect.
        let identity = Identity::of(&path)?.ok_or(Cause::InUse)?;
        Ok(Self { path, identity })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // A successor may have put its own socket here. A file that cannot be removed is replaced at the next start.
        if let Ok(Some(found)) = Identity::of(&self.path)
            && found == self.identity
        {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Identifies a file. File systems reuse the inode numbers of removed files, so it includes the modification time,
/// which is the time of creation, since nothing is ever written to a socket's file.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    modified: (i64, i64),
    is_socket: bool,
}

impl Identity {
    /// Identifies the file at `path`, if there is one. A symbolic link is not followed.
    fn of(path: &Path) -> Result<Option<Self>, Cause> {
        match fs::symlink_metadata(path) {
            Ok(metadata) => Ok(Some(Self {
                device: metadata.dev(),
                inode: metadata.ino(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                is_socket: metadata.file_type().is_socket(),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(cause_of(error, path)),
        }
    }
}

fn cause_of(error: io::Error, path: &Path) -> Cause {
    match Errno::from_io_error(&error) {
        Some(errno) => cause(errno, path),
        None => Cause::Kernel(error),
    }
}

fn cause(errno: Errno, path: &Path) -> Cause {
    let folder = || match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    match errno {
        Errno::ADDRINUSE => Cause::InUse,
        Errno::NOENT | Errno::NOTDIR => Cause::FolderMissing(folder()),
        Errno::ACCESS | Errno::PERM | Errno::ROFS => Cause::FolderForbidden(folder()),
        errno => Cause::kernel(errno),
    }
}
