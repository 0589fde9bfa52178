//! How many codes of a client are exchanged at a time.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serow_message::ClientNetwork;

/// Counts the codes of each client that wait or are exchanged. Anybody can begin logins and bring false codes: one client
/// must not fill the queue that all users have in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExchangeLimit {
    counts: Arc<Mutex<HashMap<ClientNetwork, usize>>>,
}

/// One exchange of a client, until this is dropped.
#[derive(Debug)]
pub(crate) struct CountedExchange {
    limit: ExchangeLimit,
    client: Option<ClientNetwork>,
}

impl ExchangeLimit {
    /// Counts an exchange; `None` if the client has too many already. Clients without an address have no limit of their
    /// own: they are programs of this machine.
    pub(crate) fn enter(&self, client: Option<IpAddr>) -> Option<CountedExchange> {
        let client = client.map(ClientNetwork::of);
        if let Some(client) = client {
            let mut counts = self.counts();
            let count = counts.entry(client).or_default();
            if *count >= MAX_EXCHANGES {
                return None;
            }
            *count += 1;
        }
        Some(CountedExchange { limit: self.clone(), client })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<ClientNetwork, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CountedExchange {
    fn drop(&mut self) {
        let Some(client) = self.client else { return };
        let mut counts = self.limit.counts();
        match counts.get_mut(&client) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.remove(&client)),
        }
    }
}

/// An exchange takes a fraction of a second, so a whole office behind one address can log in; and the queue has room for
/// several such clients.
const MAX_EXCHANGES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_a_number_of_exchanges_and_its_network_counts() {
        let limit = ExchangeLimit::default();
        let [one, same, other] =
            ["2001:db8::1", "2001:db8::ffff:1", "192.0.2.1"].map(|text| Some(text.parse::<IpAddr>().unwrap()));
        let mut entered: Vec<_> = (0..MAX_EXCHANGES).map(|_| limit.enter(one).unwrap()).collect();
        assert!(limit.enter(one).is_none() && limit.enter(same).is_none());
        assert!(limit.enter(other).is_some());
        entered.pop();
        assert!(limit.enter(same).is_some());
        assert!((0..2 * MAX_EXCHANGES).all(|_| limit.enter(None).is_some()));
        drop(entered);
        assert!(limit.counts().is_empty());
    }
}
