//! Values of single hosts, which others replace while requests look for them in a copy.

use std::{collections::HashMap, sync::Arc};

use serow_message::{Request, StableHash, TargetForm};

use crate::{
    host_name,
    host_pattern::{HostPattern, Hosts, MAX_NAME_LENGTH},
};

/// Values of hosts that are named exactly, not by a pattern. A copy shares the names and copies the values.
#[derive(Clone, Debug)]
pub struct HostTable<T> {
    named: HashMap<Arc<[u8]>, T, StableHash>,
}

impl<T> Default for HostTable<T> {
    fn default() -> Self {
        Self { named: HashMap::default() }
    }
}

impl<T> HostTable<T> {
    /// Sets the value of a host; the one that it had before. A pattern has no value.
    pub fn insert(&mut self, host: &HostPattern, value: T) -> Option<T> {
        match &host.0 {
            Hosts::One(name) => self.named.insert(name.as_bytes().into(), value),
            Hosts::Below(_) | Hosts::Others => None,
        }
    }

    /// Removes the value of a host, and returns it.
    pub fn remove(&mut self, host: &HostPattern) -> Option<T> {
        self.named.remove(host.name()?)
    }

    /// The value of a host.
    #[must_use]
    pub fn get(&self, host: &HostPattern) -> Option<&T> {
        self.named.get(host.name()?)
    }

    /// The value of the host that a request asks for. A request for a tunnel asks for no host of this server.
    #[inline]
    pub fn find(&self, request: &Request) -> Option<&T> {
        if request.target.form() == TargetForm::Authority {
            return None;
        }
        self.find_host(request.host()?)
    }

    /// The value of a host as a request names it: perhaps with a port.
    #[inline]
    #[must_use]
    pub fn find_host(&self, host: &str) -> Option<&T> {
        let mut room = [0; MAX_NAME_LENGTH];
        self.named.get(host_name::of(host, &mut room)?)
    }

    /// How many hosts have a value.
    #[must_use]
    pub fn len(&self) -> usize {
        self.named.len()
    }

    /// Whether none has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }
}

impl HostPattern {
    /// The name, unless it is a pattern for several.
    fn name(&self) -> Option<&[u8]> {
        match &self.0 {
            Hosts::One(name) => Some(name.as_bytes()),
            Hosts::Below(_) | Hosts::Others => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_as_requests_name_them() {
        let pattern = |text: &str| text.parse::<HostPattern>().unwrap();
        let mut table = HostTable::default();
        assert_eq!(table.insert(&pattern("a.example"), 1), None);
        assert_eq!((table.insert(&pattern("[0::1]"), 2), table.insert(&pattern("*.b.example"), 3)), (None, None));
        for (host, expected) in [
            ("a.example", Some(1)),
            ("A.Example.:80", Some(1)),
            ("[::1]:80", Some(2)),
            ("b.example", None),
            ("c.b.example", None),
            ("", None),
        ] {
            assert_eq!(table.find_host(host).copied(), expected, "{host}");
        }
        let mut request = Request::get("/");
        request.headers.append("host", "a.example").unwrap();
        assert_eq!((table.find(&request), table.find(&Request::get("/"))), (Some(&1), None));
        assert_eq!((table.remove(&pattern("A.EXAMPLE")), table.get(&pattern("[::1]"))), (Some(1), Some(&2)));
        assert_eq!(table.find(&request), None);
    }
}
