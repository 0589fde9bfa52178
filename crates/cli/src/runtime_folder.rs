//! The folder with the admin sockets of servers whose settings name none.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::DirBuilder,
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt},
    },
    path::{Path, PathBuf},
};

use rustix::process::geteuid;
use serow_message::StableHash;
use serow_net::private_folder::foreign_owner;

/// The name of the socket for the server of this settings file, an absolute path: each has a name of its own, so that
/// the servers of a user do not get in each other's way.
pub(crate) fn socket_name(file: &Path) -> String {
    match file == Path::new(SYSTEM_FILE) {
        true => SYSTEM_SOCKET.to_owned(),
        false => format!("admin-{}.sock", path_number(file)),
    }
}

/// The number of a path, for names of what belongs to the server of this settings file: the same in every version.
pub(crate) fn path_number(file: &Path) -> String {
    format!("{:016x}", StableHash::of(file.as_os_str().as_bytes()))
}

/// The paths at which a client looks for the socket with this name, in the order of preference.
pub(crate) fn places(name: &str) -> impl Iterator<Item = PathBuf> {
    let own = folder(geteuid().is_root(), |name| env::var_os(name));
    // That of a service, whose user may be another one.
    let all = own.into_iter().filter(|own| own != Path::new(SYSTEM_FOLDER)).chain([PathBuf::from(SYSTEM_FOLDER)]);
    all.map(move |folder| folder.join(name))
}

/// The socket of a server that the system starts.
pub(crate) fn system_socket() -> PathBuf {
    Path::new(SYSTEM_FOLDER).join(SYSTEM_SOCKET)
}

/// Creates the folder for the sockets of this user; nothing where the system gives the user none.
///
/// # Errors
///
/// It cannot be created, or others could replace the sockets in it.
pub(crate) fn create() -> io::Result<Option<PathBuf>> {
    let Some(folder) = folder(geteuid().is_root(), |name| env::var_os(name)) else { return Ok(None) };
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
    // Others may see the sockets of root, and cannot connect.
    let created = DirBuilder::new().mode(0o755).create(&folder);
    created.or_else(|error| if folder.is_dir() { Ok(()) } else { Err(error) }).map_err(named)?;
    if let Some(user) = foreign_owner(&folder, None).map_err(named)? {
        return Err(io::Error::other(format!("{} belongs to the user {user}", folder.display())));
    }
    match folder.metadata().map_err(named)?.mode() & 0o022 {
        0 => Ok(Some(folder)),
        _ => Err(io::Error::other(format!("others may write to {}", folder.display()))),
    }
}

/// `RuntimeDirectory=` of systemd, or the user's folder by the XDG Base Directory Specification.
fn folder(is_root: bool, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(folders) = variable("RUNTIME_DIRECTORY").filter(|folders| !folders.is_empty()) {
        return env::split_paths(&folders).next();
    }
    // Root's would depend on whether there is a session: not with sudo, nor in a service.
    if is_root {
        return Some(SYSTEM_FOLDER.into());
    }
    // The specification: "All paths … must be absolute. If … relative path …, the path should be considered invalid".
    let above = variable("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute())?;
    Some(above.join(OsStr::new("serow")))
}

/// The folder of servers that the system starts.
const SYSTEM_FOLDER: &str = "/run/serow";

/// The settings file of the system's server, and the name of its socket, which is that of a client without a settings
/// file.
const SYSTEM_FILE: &str = "/etc/serow/serow.toml";
pub(crate) const SYSTEM_SOCKET: &str = "admin.sock";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_that_of_systemd_of_root_or_of_the_user() {
        for (variables, is_root, expected) in [
            (&[("RUNTIME_DIRECTORY", "/run/a:/run/b"), ("XDG_RUNTIME_DIR", "/run/user/7")][..], false, Some("/run/a")),
            (&[("RUNTIME_DIRECTORY", "/run/a")], true, Some("/run/a")),
            (&[("XDG_RUNTIME_DIR", "/run/user/0")], true, Some("/run/serow")),
            (&[("XDG_RUNTIME_DIR", "/run/user/7")], false, Some("/run/user/7/serow")),
            (&[("XDG_RUNTIME_DIR", "run"), ("RUNTIME_DIRECTORY", "")], false, None),
            (&[], false, None),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(other, _)| *other == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(folder(is_root, variable), expected.map(PathBuf::from), "{variables:?}");
        }
    }

    #[test]
    fn each_settings_file_has_a_name_of_its_own() {
        for (file, expected) in [
            ("/etc/serow/serow.toml", "admin.sock"),
            ("/etc/serow.toml", "admin-0d99637cc6f8a437.sock"),
            ("/srv/app/serow.toml", "admin-15d6aad1f60d845e.sock"),
        ] {
            assert_eq!(socket_name(Path::new(file)), expected);
        }
    }
}
