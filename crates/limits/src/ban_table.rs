//! The bans by client and by their ends.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use serow_message::ClientNetwork;

use crate::Ban;

/// At most so many bans: the one that would end first makes room.
#[derive(Debug)]
pub(crate) struct Table {
    capacity: usize,
    /// Clients choose their addresses: the map's hash is keyed.
    bans: HashMap<ClientNetwork, Ban>,
    ends: BTreeSet<(Duration, ClientNetwork)>,
}

impl Table {
    /// An empty table for at least one ban.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), bans: HashMap::new(), ends: BTreeSet::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.bans.len()
    }

    pub(crate) fn ban(&self, client: ClientNetwork) -> Option<&Ban> {
        self.bans.get(&client)
    }

    /// Adds a ban in place of another one of its client. Returns whether another client's ban made room.
    pub(crate) fn insert(&mut self, ban: Ban) -> bool {
        self.remove(ban.client);
        let is_full = self.bans.len() >= self.capacity;
        if is_full && let Some((_, first)) = self.ends.pop_first() {
            self.bans.remove(&first);
        }
        self.ends.insert((ban.until, ban.client));
        self.bans.insert(ban.client, ban);
        is_full
    }

    pub(crate) fn remove(&mut self, client: ClientNetwork) -> Option<Ban> {
        let ban = self.bans.remove(&client)?;
        self.ends.remove(&(ban.until, client));
        Some(ban)
    }

    /// Removes the bans that have ended.
    pub(crate) fn remove_ended(&mut self, now: Duration) {
        while let Some((until, client)) = self.ends.first().copied()
            && until <= now
        {
            self.ends.pop_first();
            self.bans.remove(&client);
        }
    }

    /// The bans, those that end last first.
    pub(crate) fn list(&self) -> impl Iterator<Item = &Ban> {
        self.ends.iter().rev().filter_map(|(_, client)| self.bans.get(client))
    }
}
