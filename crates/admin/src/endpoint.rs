//! The admin endpoint: a small server on a thread of its own.

use std::{
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::process::geteuid;
use serow::{Address, Limits, ListenOptions, Server, Stopper, Timeouts};
use serow_config::values::AdminAddress;

use super::{
    AdminError,
    pages::{Access, Pages},
    subject::Subject,
    token::Token,
};

/// An open admin endpoint: a second server beside the server. Dropping it closes it.
pub struct AdminEndpoint {
    address: Address,
    token: Token,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl AdminEndpoint {
    /// Listens on this address and answers on a thread of its own. Over TCP, requests that change something need this
    /// token.
    ///
    /// # Errors
    ///
    /// The address cannot be bound, or the system refuses a thread.
    pub fn open(address: &AdminAddress, token: Option<&str>, subject: Subject) -> Result<Self, AdminError> {
        let AdminAddress(address) = address;
        let server = Server::new()
            .listen(address.to_string())
            .listen_options(ListenOptions { unix_mode: Some(OWNER_ONLY), ..ListenOptions::default() })
            .workers(1)
            .timeouts(Timeouts { head: SHORT, idle: SHORT, grace: GRACE, ..Timeouts::default() })
            .limits(Limits { connections: MAX_CONNECTIONS, ..Limits::default() })
            .ignore_signals()
            .bind()
            .map_err(AdminError::Listen)?;
        let stopper = server.stopper();
        let current = Token::default();
        current.replace(token);
        let access = match address {
            Address::Tcp(_) => Access::Machine { token: current.clone() },
            Address::Unix(_) | Address::Descriptor(_) => Access::Owner { user: geteuid().as_raw() },
        };
        let pages = Pages::new(subject, access);
        let serve = move || {
            if let Err(error) = server.run(pages) {
                tracing::error!(%error, "the admin endpoint has failed");
            }
        };
        let thread = thread::Builder::new().name("serow-admin".to_owned()).spawn(serve);
        let address = address.clone();
        let endpoint = |thread| Self { address, token: current, stopper, thread: Some(thread) };
        thread.map(endpoint).map_err(AdminError::Thread)
    }

    /// From now on, requests over TCP that change something need this token.
    pub fn change_token(&self, token: Option<&str>) {
        self.token.replace(token);
    }

    /// Whether clients reach it at this address: the file of a socket can be removed.
    pub fn is_at(&self, address: &AdminAddress) -> bool {
        self.address == address.0
            && match &self.address {
                Address::Unix(path) if !path.as_os_str().as_encoded_bytes().starts_with(b"@") => path.exists(),
                _ => true,
            }
    }
}

impl Drop for AdminEndpoint {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            // The thread has logged what went wrong.
            let _ = thread.join();
        }
    }
}

/// The file of the socket is for the user that runs the server, who may end it as well.
const OWNER_ONLY: u32 = 0o600;

/// Responses are ready at once, so only a client that does not read is waited for.
const GRACE: Duration = Duration::from_secs(1);

/// Where monitors that are stuck, or keep their connections for the next time, use up all connections, whoever asks for
/// a reload waits no longer than that; 'serow status' waits 5 s.
const SHORT: Duration = Duration::from_secs(2);

/// More wait. Monitors that are stuck do not use up the server's descriptors.
const MAX_CONNECTIONS: usize = 32;
