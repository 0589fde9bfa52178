//! The rights of a generation, in the only order in which it gives them up: a process that may be root opens ports, keys and
//! folders ([`Privileged`]), becomes the user of the settings ([`Unprivileged`]), and can then open only the files that it
//! needs ([`Sandboxed`]). Threads start after that: the system gives rights up for one thread at a time.

use std::{
    io,
    os::unix::process::parent_id,
    path::{Path, PathBuf},
};

use serow::BoundServer;
use serow_acme::PreparedManager;
use serow_assembly::{Account, Configuration};
use serow_net::process::{Credentials, become_user};
use serow_supervisor::master::{AdminPlace, Parent};

use super::sockets::{admin_place, with_http3, with_sessions, with_sockets};
use crate::{
    cache_folder, certificates,
    command_error::CommandError,
    sandbox::{self, PreparedSandbox, Reason, SandboxState},
    state_folder,
};

/// The parts of a server that are open, before any thread runs.
pub(super) struct Opened {
    pub(super) configuration: Configuration,
    /// Where the master is to answer those who run the server.
    pub(super) admin: AdminPlace,
    pub(super) server: BoundServer,
    pub(super) certificates: Option<PreparedManager>,
    /// The folder of key sets that were fetched.
    pub(super) keys: Option<PathBuf>,
    /// The folder of commands to the fleet.
    pub(super) journal: Option<PathBuf>,
    pub(super) server_number: u64,
}

/// A process with the rights that it was started with, which has opened all that needs them.
pub(super) struct Privileged(Opened);

/// A process with the rights of the user that the settings name, if they name one.
pub(super) struct Unprivileged {
    opened: Opened,
    sandbox: Result<PreparedSandbox, Reason>,
}

/// A process that can open only the files that it needs, unless the settings or the kernel prevent that.
pub(super) struct Sandboxed {
    pub(super) opened: Opened,
    /// Whether it is restricted.
    pub(super) sandbox: SandboxState,
}

impl Privileged {
    /// Opens ports, keys and folders, which only root may be able to.
    pub(super) fn open(
        mut configuration: Configuration,
        file: &Path,
        generation_secret: Option<[u8; 32]>,
        parent: &Parent,
    ) -> Result<Self, String> {
        let settings = &mut configuration.server;
        let admin = admin_place(settings.admin.as_ref())?;
        state_folder::keep_certificate(settings);
        state_folder::keep_login_key(&configuration.access.logins);
        let server = with_sockets(settings, parent)?;
        let server = with_http3(with_sessions(server, generation_secret), settings, generation_secret, parent)?;
        // It reads keys and certificates.
        let server = server.ignore_signals().bind().map_err(|error| CommandError::from(error).message())?;
        // The user reaches folders that are open, and owns them.
        let owner = configuration.account.as_ref().map(|account| (account.user, account.groups.first().copied()));
        let certificates = certificates::prepare(&configuration.server, owner).map_err(|error| error.message())?;
        cache_folder::prepare(configuration.cache.as_ref(), owner).map_err(|error| error.message())?;
        let server_number = cache_folder::server_number(parent_id());
        let keys = state_folder::folder_of_keys(&configuration.access.remote_keys, owner);
        let journal = configuration.access.fleet.as_ref().and_then(|_| state_folder::folder_of_journal(file, owner));
        Ok(Self(Opened { configuration, admin, server, certificates, keys, journal, server_number }))
    }

    /// Gives up root's rights, if the settings name a user.
    pub(super) fn become_user(self) -> Result<Unprivileged, String> {
        let Self(opened) = self;
        // The paths of the sandbox are opened by root, who reaches all of them.
        let folders: Vec<&Path> = [&opened.keys, &opened.journal].into_iter().flatten().map(PathBuf::as_path).collect();
        let sandbox = sandbox::prepare(&opened.configuration, &folders);
        opened.configuration.account.as_ref().map_or(Ok(()), assume)?;
        Ok(Unprivileged { opened, sandbox })
    }
}

impl Unprivileged {
    /// Restricts the process to the files that it needs.
    pub(super) fn enter_sandbox(self) -> Result<Sandboxed, String> {
        let Self { opened, sandbox } = self;
        Ok(Sandboxed { opened, sandbox: SandboxState::enter(sandbox)? })
    }
}

/// Gives up root's rights.
fn assume(account: &Account) -> Result<(), String> {
    match become_user(account.user, &account.groups) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            check_account(account, Credentials::of_this_thread())
        }
        outcome => outcome.map_err(|error| format!("user: cannot become the user {}: {error}", account.user)),
    }
}

/// Whether a process that is not root has nothing to give up: it is the user, with the group, and cannot become
/// another.
fn check_account(account: &Account, credentials: Credentials) -> Result<(), String> {
    let Account { user, groups } = account;
    let [_, effective, _] = credentials.users;
    if effective != *user {
        return Err("user: only root can become another user: start as root, or take `user` out of the file".to_owned());
    }
    if credentials.users != [*user; 3] {
        return Err(format!(
            "user: this process is the user {user}, and could become another one again: start it as root, or with {user} \
             as its real user as well"
        ));
    }
    match groups.first() {
        Some(group) if credentials.groups != [*group; 3] => Err(format!(
            "group: only root can change the group, from {} to {group}: start as root, or as this group, or name the \
             present one with `group`",
            credentials.groups[1]
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_not_root_must_be_the_user_with_the_group_for_good() {
        let account = Account { user: 7, groups: vec![8, 9] };
        for (users, groups, expected) in [
            ([7, 7, 7], [8, 8, 8], None),
            ([1, 1, 1], [8, 8, 8], Some("user: only root can become another user")),
            ([0, 7, 7], [8, 8, 8], Some("user: this process is the user 7, and could become another one again")),
            ([7, 7, 0], [8, 8, 8], Some("user: this process is the user 7, and could become another one again")),
            ([7, 7, 7], [9, 9, 9], Some("group: only root can change the group, from 9 to 8")),
            ([7, 7, 7], [0, 8, 8], Some("group: only root can change the group, from 8 to 8")),
        ] {
            let outcome = check_account(&account, Credentials { users, groups });
            let line = outcome.err();
            assert_eq!(line.as_deref().and_then(|line| line.split_once(": start").map(|(line, _)| line)), expected);
        }
    }
}
