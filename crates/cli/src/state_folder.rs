//! The folder in which Serow keeps what later starts need: the certificate for development, and automatic certificates.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::DirBuilder,
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, chown},
    path::{Path, PathBuf},
    sync::Arc,
};

use serow::kept_text;
use serow_access::{
    jwt::RemoteKeys,
    openid::{CookieKey, Login},
};
use serow_assembly::ServerSettings;
use serow_net::private_folder::foreign_owner;

use crate::runtime_folder::path_number;

/// Uses the certificate for development that the user keeps, if these settings need one. Otherwise the server has one of
/// its own, which a warning says.
pub(crate) fn keep_certificate(settings: &mut ServerSettings) {
    let is_used = settings.encryption.as_ref().is_some_and(|encryption| encryption.development.is_some());
    if !is_used {
        return;
    }
    let reason = match of_user() {
        Some(folder) => settings.keep_certificate(&folder).err().map(|error| error.to_string()),
        None => Some("neither XDG_STATE_HOME nor HOME names a folder".to_owned()),
    };
    if let Some(reason) = reason {
        tracing::warn!(
            "the certificate for development is not kept, so browsers will warn of another one after the next start: \
             {reason}; set XDG_STATE_HOME to a folder that only this user may write to"
        );
    }
}

/// Gives logins the secret for their cookies that is kept in the user's folder, so that sessions outlive reloads and
/// restarts; those with a secret of their own have one already.
pub(crate) fn keep_login_key(logins: &[Login]) {
    let without: Vec<_> = logins.iter().filter(|login| !login.has_key()).collect();
    if without.is_empty() {
        return;
    }
    let generated = CookieKey::generate().ok();
    let text = generated.as_ref().map(CookieKey::to_text);
    let is_usable = |text: &[u8]| CookieKey::of_bytes(text.trim_ascii_end()).is_some();
    let kept = match (of_user(), text) {
        (Some(folder), Some(text)) => {
            kept_text(&folder, LOGIN_KEY, is_usable, || text).map_err(|error| error.to_string())
        }
        (None, _) => Err("neither XDG_STATE_HOME nor HOME names a folder".to_owned()),
        (_, None) => Err("the system has no random numbers".to_owned()),
    };
    let kept = kept.map(|text| CookieKey::of_bytes(text.trim_ascii_end()));
    if let Err(reason) = &kept {
        tracing::warn!(
            "the secret for the cookies of logins is not kept, so everybody has to log in again after the next start: \
             {reason}; set XDG_STATE_HOME to a folder that only this user may write to, or write `cookie-key-file`"
        );
    }
    let key = kept.ok().flatten().or(generated);
    key.iter().for_each(|key| without.iter().for_each(|login| login.set_key(key)));
}

/// Creates the folder in which the key sets of issuers are kept, for this user and group, so that tokens are verified after
/// a start while an issuer does not answer; nothing where there are no such sets, or no folder for them.
pub(crate) fn folder_of_keys(sets: &[Arc<RemoteKeys>], owner: Option<(u32, Option<u32>)>) -> Option<PathBuf> {
    if sets.is_empty() {
        return None;
    }
    let created = match of_user() {
        Some(folder) => private_folder(&folder.join(KEYS), owner).map_err(|error| error.to_string()),
        None => Err("neither XDG_STATE_HOME nor HOME names a folder".to_owned()),
    };
    created.inspect_err(|reason| {
        tracing::warn!(
            "the key sets of issuers are not kept, so requests with tokens fail after the next start while an issuer does \
             not answer: {reason}; set XDG_STATE_HOME to a folder that only this user may write to"
        );
    })
    .ok()
}

/// Creates the folder in which the commands to a fleet are kept, for the server of this settings file, and for this user and
/// group; nothing where there is no folder for it.
pub(crate) fn folder_of_journal(file: &Path, owner: Option<(u32, Option<u32>)>) -> Option<PathBuf> {
    let created = match of_user() {
        Some(folder) => {
            let folder = folder.join(format!("{JOURNAL}-{}", path_number(file)));
            private_folder(&folder, owner).map_err(|error| error.to_string())
        }
        None => Err("neither XDG_STATE_HOME nor HOME names a folder".to_owned()),
    };
    created.inspect_err(|reason| {
        tracing::warn!(
            "commands to the fleet are not executed on this server, since they cannot be kept: {reason}; set XDG_STATE_HOME \
             to a folder that only this user may write to"
        );
    })
    .ok()
}

/// The folder of the settings files that are added to the server of this settings file, an absolute path.
pub(crate) fn of_added_settings(file: &Path) -> Option<PathBuf> {
    Some(of_user()?.join(ADDED).join(path_number(file)))
}

/// A folder that only this user may write to.
fn private_folder(path: &Path, owner: Option<(u32, Option<u32>)>) -> io::Result<PathBuf> {
    if !path.exists() {
        DirBuilder::new().mode(0o700).recursive(true).create(path)?;
        if let Some((user, group)) = owner {
            chown(path, Some(user), group)?;
        }
    }
    if let Some(user) = foreign_owner(path, owner.map(|(user, _)| user))? {
        return Err(io::Error::other(format!("{} belongs to the user {user}: run chown on it", path.display())));
    }
    match path.metadata()?.mode() & 0o022 {
        0 => Ok(path.to_owned()),
        _ => Err(io::Error::other(format!("others may write to {}", path.display()))),
    }
}

/// The folder of the user who runs this process.
pub(crate) fn of_user() -> Option<PathBuf> {
    state_folder(|name| env::var_os(name))
}

/// `StateDirectory=` of systemd, or the user's folder by the XDG Base Directory Specification.
fn state_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(folders) = variable("STATE_DIRECTORY").filter(|folders| !folders.is_empty()) {
        return env::split_paths(&folders).next();
    }
    // The specification: "All paths … must be absolute. If … relative path …, the path should be considered invalid".
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let above = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(above.join(OsStr::new("serow")))
}

/// The file with the secret for the cookies of logins.
const LOGIN_KEY: &str = "login.key";

/// The folder with the settings files that are added to servers.
const ADDED: &str = "added";

/// The folders with commands to fleets, each with the number of a settings file.
const JOURNAL: &str = "fleet";

/// The folder with the key sets of issuers.
const KEYS: &str = "keys";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_that_of_systemd_or_of_the_user() {
        for (variables, expected) in [
            (&[("STATE_DIRECTORY", "/var/lib/serow:/var/lib/other"), ("HOME", "/root")][..], Some("/var/lib/serow")),
            (&[("XDG_STATE_HOME", "/home/a/state"), ("HOME", "/home/a")], Some("/home/a/state/serow")),
            (&[("XDG_STATE_HOME", "state"), ("HOME", "/home/a")], Some("/home/a/.local/state/serow")),
            (&[("XDG_STATE_HOME", ""), ("STATE_DIRECTORY", ""), ("HOME", "/a")], Some("/a/.local/state/serow")),
            (&[("HOME", "")], None),
            (&[], None),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(other, _)| *other == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(state_folder(variable), expected.map(PathBuf::from), "{variables:?}");
        }
    }
}
