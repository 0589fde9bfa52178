//! A server beside the server: it answers those who run it.

use std::{
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::process::geteuid;
use serow::{Address, Limits, ListenOptions, Server, Stopper, Timeouts};
use serow_config::values::AdminAddress;

use super::{
    AdminError,
    pages::{Pages, Visitors},
    subject::Subject,
    token::Token,
};

/// The door while it is open. Dropping it closes it.
pub(crate) struct Door {
    address: Address,
    token: Token,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Door {
    /// Answers at this address, on a thread of its own; who changes something over TCP has to know this token.
    pub(crate) fn open(address: &AdminAddress, token: Option<&str>, subject: Subject) -> Result<Self, AdminError> {
        let AdminAddress(address) = address;
        let server = Server::new()
            .listen(address.to_string())
            .listen_options(ListenOptions { unix_mode: Some(OWNER_ONLY), ..ListenOptions::default() })
            .workers(1)
            .timeouts(Timeouts { head: SHORT, idle: SHORT, grace: GRACE, ..Timeouts::default() })
            .limits(Limits { connections: MOST_CONNECTIONS, ..Limits::default() })
            .ignore_signals()
            .bind()
            .map_err(AdminError::Listen)?;
        let stopper = server.stopper();
        let shown = Token::default();
        shown.replace(token);
        let visitors = match address {
            Address::Tcp(_) => Visitors::Machine { token: shown.clone() },
            Address::Unix(_) | Address::Descriptor(_) => Visitors::Owner { user: geteuid().as_raw() },
        };
        let pages = Pages::new(subject, visitors);
        let serve = move || {
            if let Err(error) = server.run(pages) {
                tracing::error!(%error, "there is no answer at --admin any more");
            }
        };
        let thread = thread::Builder::new().name("serow-admin".to_owned()).spawn(serve);
        let address = address.clone();
        let door = |thread| Self { address, token: shown, stopper, thread: Some(thread) };
        thread.map(door).map_err(AdminError::Thread)
    }

    /// Who changes something over TCP has to know this token from now on.
    pub(crate) fn change_token(&self, token: Option<&str>) {
        self.token.replace(token);
    }

    /// Whether somebody finds it at this address: the file of a socket can be removed.
    pub(crate) fn is_at(&self, address: &AdminAddress) -> bool {
        self.address == address.0
            && match &self.address {
                Address::Unix(path) if !path.as_os_str().as_encoded_bytes().starts_with(b"@") => path.exists(),
                _ => true,
            }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            // It has said on standard error what went wrong.
            let _ = thread.join();
        }
    }
}

/// The file of the socket is for the user that runs the server, who may end it as well.
const OWNER_ONLY: u32 = 0o600;

/// Answers are made at once, so that only one who does not read is waited for.
const GRACE: Duration = Duration::from_secs(1);

/// Where monitors that are stuck, or keep their connections for the next time, use up all connections, whoever asks for a
/// reload waits no longer than that; 'serow status' waits 5 s.
const SHORT: Duration = Duration::from_secs(2);

/// More wait. Monitors that are stuck do not use up the server's descriptors.
const MOST_CONNECTIONS: usize = 32;
