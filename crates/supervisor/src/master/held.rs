//! The sockets that the master holds. They stay open across generations, so that no connection is lost.

use std::{
    fs::{self, Permissions},
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::fs::PermissionsExt,
    },
    thread,
    time::Duration,
};

use rustix::net::listen;
use serow_net::{Address, BindError, ListenOptions, Listener, time};

use super::messages::WantedListener;

/// The sockets of all addresses.
#[derive(Debug, Default)]
pub(super) struct HeldSockets {
    held: Vec<Held>,
}

/// The sockets of one address.
#[derive(Debug)]
struct Held {
    /// How they were opened.
    opened: WantedListener,
    listeners: Vec<Listener>,
    /// The options that the starting generation requested, if any.
    next: Option<WantedListener>,
    /// Whether the serving generation uses them.
    serving: bool,
}

impl HeldSockets {
    /// Opens the missing sockets of a starting generation; returns the sockets of each listener, in order. An address
    /// in use may be about to become free: binding is retried for a while.
    ///
    /// The number of sockets of an address does not change, whatever the generation requests: closing one would lose
    /// the connections in its queue.
    pub(super) fn provide(
        &mut self,
        wanted: &[WantedListener],
        timeout: Duration,
    ) -> Result<Vec<Vec<BorrowedFd<'_>>>, String> {
        let places = wanted.iter().map(|wanted| self.open(wanted, timeout)).collect::<Result<Vec<_>, _>>()?;
        Ok(places.into_iter().map(|place| self.held[place].listeners.iter().map(AsFd::as_fd).collect()).collect())
    }

    fn open(&mut self, wanted: &WantedListener, timeout: Duration) -> Result<usize, String> {
        // Where the file of a unix socket was removed, nobody finds the socket any more, and another one is needed.
        self.held.retain(|held| held.opened.address != wanted.address || !is_removed(&wanted.address));
        if let Some(place) = self.held.iter().position(|held| held.opened.address == wanted.address) {
            self.held[place].next = Some(wanted.clone());
            return Ok(place);
        }
        let address: Address = wanted.address.parse().map_err(|error| format!("{error}"))?;
        let options = ListenOptions { backlog: wanted.backlog, share: wanted.share, unix_mode: wanted.unix_mode };
        let bind = || Listener::for_workers(&address, &options, wanted.sockets);
        let listeners = bind_within(timeout, bind).map_err(|error| self.explain(&address, &error))?;
        let opened = wanted.clone();
        self.held.push(Held { next: Some(opened.clone()), opened, listeners, serving: false });
        Ok(self.held.len() - 1)
    }

    /// The error of an address that cannot be listened on.
    fn explain(&self, address: &Address, error: &BindError) -> String {
        let port = |address: &Address| match address {
            Address::Tcp(address) => Some(address.port()),
            _ => None,
        };
        let is_same_port = |other: &Address| port(other).is_some() && port(other) == port(address);
        let mut own = self.held.iter().flat_map(|held| held.listeners.first()).map(Listener::local_address);
        match own.find(|other| error.is_in_use() && is_same_port(other)) {
            Some(own) => format!(
                "{address} cannot be opened beside {own}, on which this server listens: take that one out, reload, and \
                 reload with this one, or restart"
            ),
            // It is not from the command line that this one comes.
            None => error.to_string().replace(" with --listen", ""),
        }
    }

    /// The address of a unix socket whose file was removed, if there is one: it needs to be opened again.
    pub(super) fn removed(&self) -> Option<&str> {
        let mut addresses = self.held.iter().filter(|held| held.serving).map(|held| &*held.opened.address);
        addresses.find(|address| is_removed(address))
    }

    /// The starting generation serves now: closes the sockets that it does not use. Returns warnings about options that
    /// could not be changed.
    pub(super) fn keep(&mut self) -> Vec<String> {
        self.held.retain(|held| held.next.is_some());
        self.held.iter_mut().filter_map(|held| held.adapt().err()).collect()
    }

    /// The starting generation failed: closes the sockets that only it requested.
    pub(super) fn give_up(&mut self) {
        self.held.retain(|held| held.serving);
        self.held.iter_mut().for_each(|held| held.next = None);
    }

    /// Closes all sockets.
    pub(super) fn close(&mut self) {
        self.held.clear();
    }
}

impl Held {
    /// Changes the options of existing sockets to those that this generation requested.
    fn adapt(&mut self) -> Result<(), String> {
        self.serving = true;
        let Some(next) = self.next.take() else { return Ok(()) };
        let before = std::mem::replace(&mut self.opened, next);
        let now = &self.opened;
        let said = |error: io::Error| format!("{}: {error}", now.address);
        if now.backlog != before.backlog {
            let backlog = i32::try_from(now.backlog).unwrap_or(i32::MAX);
            self.listeners
                .iter()
                .try_for_each(|listener| listen(listener, backlog))
                .map_err(|error| said(error.into()))?;
        }
        if let (Some(mode), Some(path)) = (now.unix_mode, now.address.strip_prefix("unix:"))
            && before.unix_mode != now.unix_mode
            && !path.starts_with('@')
        {
            fs::set_permissions(path, Permissions::from_mode(mode)).map_err(said)?;
        }
        match (now.share, before.share) {
            (now, before) if now == before => Ok(()),
            _ => Err(format!("{}: whether the port is shared changes at the next start only", now.address)),
        }
    }
}

/// Whether the file of a unix socket was removed.
fn is_removed(address: &str) -> bool {
    let path = address.strip_prefix("unix:").filter(|path| !path.starts_with('@'));
    path.is_some_and(|path| fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound))
}

/// Binds, and retries while the address is in use.
fn bind_within<T>(timeout: Duration, bind: impl Fn() -> Result<T, BindError>) -> Result<T, BindError> {
    let began = time::now();
    loop {
        match bind() {
            Err(error) if error.is_in_use() && time::now().duration_since(began) < timeout => thread::sleep(PAUSE),
            outcome => return outcome,
        }
    }
}

/// The interval of retries: a process that is ending frees the address within milliseconds.
const PAUSE: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(address: &str, sockets: usize) -> WantedListener {
        WantedListener { address: address.to_owned(), backlog: 16, unix_mode: None, share: false, sockets }
    }

    fn open(held: &HeldSockets) -> Vec<&str> {
        held.held.iter().map(|held| &*held.opened.address).collect()
    }

    #[test]
    fn sockets_stay_open_as_long_as_somebody_wants_them() {
        let (a, b, c) = ("unix:@serow-held-a", "unix:@serow-held-b", "unix:@serow-held-c");
        let mut held = HeldSockets::default();
        let sockets = held.provide(&[wanted(a, 2), wanted(b, 1)], Duration::ZERO).unwrap();
        assert_eq!(sockets.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
        assert!(held.keep().is_empty());
        // One that fails leaves all as it was.
        assert_eq!(held.provide(&[wanted(b, 4), wanted(c, 1)], Duration::ZERO).unwrap()[0].len(), 1);
        held.give_up();
        assert_eq!(open(&held), [a, b]);
        held.provide(&[wanted(b, 1), wanted(c, 1)], Duration::ZERO).unwrap();
        assert!(held.keep().is_empty());
        assert_eq!(open(&held), [b, c]);
        let again = WantedListener { share: true, backlog: 5, ..wanted(b, 1) };
        held.provide(&[again], Duration::ZERO).unwrap();
        assert_eq!(held.keep().len(), 1);
        held.close();
        assert!(open(&held).is_empty());
    }

    #[test]
    fn a_socket_whose_file_was_removed_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let address = format!("unix:{}", path.display());
        let mut held = HeldSockets::default();
        for _ in 0..2 {
            held.provide(&[wanted(&address, 2)], Duration::ZERO).unwrap();
            assert!(held.keep().is_empty());
            std::os::unix::net::UnixStream::connect(&path).unwrap();
            assert_eq!((open(&held), held.removed()), (vec![&*address], None));
            fs::remove_file(&path).unwrap();
            assert_eq!(held.removed(), Some(&*address));
        }
    }

    #[test]
    fn addresses_that_cannot_be_opened_are_reported() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let mut held = HeldSockets::default();
        let error = held.provide(&[wanted(&address, 1)], Duration::ZERO).unwrap_err();
        let holder = format!("(process {}); choose another, or stop it", std::process::id());
        assert!(error.starts_with(&format!("{address} is in use by ")) && error.ends_with(&holder), "{error}");
        let own = "unix:@serow-held-own";
        held.provide(&[wanted(own, 1), wanted("127.0.0.1:0", 1)], Duration::ZERO).unwrap();
        let port = held.held[1].listeners[0].local_address().to_string().split_off("127.0.0.1:".len());
        let error = held.provide(&[wanted(&format!("[::]:{port}"), 1)], Duration::ZERO).unwrap_err();
        assert!(error.contains(&format!("beside 127.0.0.1:{port}, on which this server listens")), "{error}");
        assert!(held.provide(&[wanted("nowhere", 1)], Duration::ZERO).is_err());
    }
}
